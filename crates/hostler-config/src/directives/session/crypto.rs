//! Directives of mod_session_crypto: with what sessions are encrypted.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Overrides};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "SessionCryptoPassphrase",
        Arity::Iterate,
        "secret ...",
        "Set the passphrase that encrypts sessions; further ones only decrypt existing sessions",
        passphrase,
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    Directive::new(
        "SessionCryptoPassphraseFile",
        Arity::Take1,
        "file",
        "Read session passphrases, one per line, from a file; root reads it at startup",
        file,
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "SessionCryptoCipher",
        Arity::Take1,
        "aes128|aes192|aes256",
        "Set the session cipher (default aes256)",
        |command, args| {
            command.dir.session.cipher = Some(Cipher::named(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::AUTH_CONFIG),
    Directive::new(
        "SessionCryptoDriver",
        Arity::Take12,
        "name [parameters]",
        "No effect: Hostler has its own implementation",
        |_, _| Ok(()),
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE)
    .with_effect(Effect::Harmless),
];

/// SessionCryptoCipher, each with blocks chained (CBC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// AES with a key of 128 bits.
    Aes128,
    /// AES with a key of 192 bits.
    Aes192,
    /// AES with a key of 256 bits.
    #[default]
    Aes256,
}

impl Cipher {
    fn named(name: &str) -> Result<Self, String> {
        match &name.to_ascii_lowercase()[..] {
            "aes128" => Ok(Self::Aes128),
            "aes192" => Ok(Self::Aes192),
            "aes256" => Ok(Self::Aes256),
            "3des192" => Err("3DES has blocks so short that long sessions give away what they hold".into()),
            _ => Err(crate::unknown("cipher", name, &["aes128", "aes192", "aes256"])),
        }
    }

    /// Bytes of a key.
    #[must_use]
    pub fn key_size(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }
}

fn passphrase(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let word = args.first();
    if word.starts_with("exec:") {
        return Err("cannot run a program as root for a site: use SessionCryptoPassphraseFile instead".into());
    }
    if word.is_empty() {
        return Err("takes a secret that is not empty".into());
    }
    command.dir.session.passphrases.push(word.into());
    Ok(())
}

fn file(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let name = args.first();
    let text = command.attached(name).ok_or_else(|| format!("cannot read {name}"))?;
    let words = text
        .lines()
        .flat_map(|line| crate::lexer::words(line).into_iter().take_while(|word| !word.starts_with('#')));
    let before = command.dir.session.passphrases.len();
    for word in words {
        passphrase(command, &Args { words: vec![word], ..Args::default() })?;
    }
    if command.dir.session.passphrases.len() == before {
        return Err(format!("{name} has no passphrase"));
    }
    Ok(())
}
