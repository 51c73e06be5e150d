//! Sessions that are encrypted (mod_session_crypto), as Apache writes them: in base 64 a hash (SipHash-2-4, by the
//! passphrase), a salt, what the first block was mixed with, and the text, by AES in chained blocks. The key is made of
//! passphrase and salt in 4096 rounds (PBKDF2 with SHA-1).
//!
//! Those rounds take a millisecond or more, so keys are remembered, and made aside. The hash is checked first: nobody who
//! does not know the passphrase has a key made.

use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use hostler_config::directives::auth::same;
use hostler_config::directives::session::{Cipher, Dir};
use md5::{Digest as _, Md5};
use ring::rand::{SecureRandom, SystemRandom};
use siphasher::sip::SipHasher24;
use std::cell::RefCell;
use std::hash::Hasher as _;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HASH: usize = 8;
const SALT: usize = 16;
const BLOCK: usize = 16;
const ROUNDS: NonZeroU32 = NonZeroU32::new(4096).expect("it is not zero");

/// Keys and salts that a thread remembers.
const KEYS: usize = 256;
/// The lifetime of a salt.
const LIFETIME: Duration = Duration::from_secs(3600);

type Salt = [u8; SALT];

/// The inputs of a key.
#[derive(Clone, PartialEq, Eq)]
struct Recipe {
    passphrase: Arc<str>,
    salt: Salt,
    cipher: Cipher,
}

/// A thread's memory of keys; small tables, the oldest first.
#[derive(Default)]
struct KeyCache {
    keys: Vec<(Recipe, Vec<u8>)>,
    salts: Vec<(Arc<str>, Salt, Instant)>,
}

thread_local! {
    static REMEMBERED: RefCell<KeyCache> = RefCell::default();
}

/// The text of a session, in the form of its cookie.
pub(super) async fn encrypt(request: &Request, dir: &Dir, plain: Vec<u8>) -> Result<Vec<u8>, Halt> {
    let passphrase = dir.passphrases.first().ok_or(Halt::Status(500))?.clone();
    let cipher = dir.cipher.unwrap_or_default();
    let recipe = Recipe { salt: salt(&passphrase)?, passphrase, cipher };
    let key = key(request, &recipe).await?;
    let start: [u8; BLOCK] = random()?;
    let sealed = sealed(cipher, &key, &start, &plain).ok_or(Halt::Status(500))?;
    let signed = [&recipe.salt[..], &start, &sealed].concat();
    let hash = hash(&recipe.passphrase, &signed);
    Ok(STANDARD.encode([&hash[..], &signed].concat()).into_bytes())
}

/// The text of a session that a client has sent; `None`: none of the passphrases has made it.
pub(super) async fn decrypt(request: &Request, dir: &Dir, sent: &[u8]) -> Result<Option<Vec<u8>>, Halt> {
    let Some((signature, signed)) = parts(sent) else { return Ok(None) };
    let cipher = dir.cipher.unwrap_or_default();
    for passphrase in &dir.passphrases {
        if !same(&hash(passphrase, &signed), &signature) {
            log::request(
                request,
                Severity::Debug,
                "session_crypto",
                "AH10006: auth does not match, skipping",
            );
            continue;
        }
        let Some((salt, rest)) = signed.split_first_chunk::<SALT>() else { continue };
        let Some((start, sealed)) = rest.split_first_chunk::<BLOCK>() else { continue };
        let recipe = Recipe { passphrase: passphrase.clone(), salt: *salt, cipher };
        let key = key(request, &recipe).await?;
        if let Some(plain) = opened(cipher, &key, start, sealed) {
            return Ok(Some(plain));
        }
    }
    Ok(None)
}

/// The hash, and what it is of.
fn parts(sent: &[u8]) -> Option<([u8; HASH], Vec<u8>)> {
    let end = sent.iter().position(|&b| !(b.is_ascii_alphanumeric() || b == b'+' || b == b'/'));
    let decoded = STANDARD_NO_PAD.decode(&sent[..end.unwrap_or(sent.len())]).ok()?;
    let (hash, signed) = decoded.split_first_chunk::<HASH>()?;
    Some((*hash, signed.to_vec()))
}

fn hash(passphrase: &str, signed: &[u8]) -> [u8; HASH] {
    let key: [u8; 16] = Md5::digest(passphrase.as_bytes()).into();
    let mut hasher = SipHasher24::new_with_key(&key);
    hasher.write(signed);
    hasher.finish().to_le_bytes()
}

fn random<const N: usize>() -> Result<[u8; N], Halt> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Halt::Status(500))?;
    Ok(bytes)
}

/// A salt for what is encrypted now: a new one for each text would take a new key for each.
fn salt(passphrase: &Arc<str>) -> Result<Salt, Halt> {
    REMEMBERED.with_borrow_mut(|remembered| {
        let salts = &mut remembered.salts;
        salts.retain(|(_, _, made)| made.elapsed() < LIFETIME);
        if let Some((_, salt, _)) = salts.iter().find(|(of, ..)| of == passphrase) {
            return Ok(*salt);
        }
        if salts.len() >= KEYS {
            salts.remove(0);
        }
        let salt = random()?;
        salts.push((passphrase.clone(), salt, Instant::now()));
        Ok(salt)
    })
}

async fn key(request: &Request, recipe: &Recipe) -> Result<Vec<u8>, Halt> {
    let known = REMEMBERED.with_borrow(|remembered| {
        remembered.keys.iter().find(|(of, _)| of == recipe).map(|(_, key)| key.clone())
    });
    if let Some(key) = known {
        return Ok(key);
    }
    let permit = aside::permit(request).await?;
    let work = recipe.clone();
    let key = aside::run_free(request, permit, move || derived(&work)).await?;
    REMEMBERED.with_borrow_mut(|remembered| {
        if remembered.keys.len() >= KEYS {
            remembered.keys.remove(0);
        }
        remembered.keys.push((recipe.clone(), key.clone()));
    });
    Ok(key)
}

fn derived(recipe: &Recipe) -> Vec<u8> {
    let mut key = vec![0; recipe.cipher.key_size()];
    let algorithm = ring::pbkdf2::PBKDF2_HMAC_SHA1;
    ring::pbkdf2::derive(algorithm, ROUNDS, &recipe.salt, recipe.passphrase.as_bytes(), &mut key);
    key
}

/// Does something with the cipher that is named.
macro_rules! with_cipher {
    ($cipher:expr, $mode:ident, $key:expr, $start:expr, $do:expr) => {
        match $cipher {
            Cipher::Aes128 => cbc::$mode::<aes::Aes128>::new_from_slices($key, $start).ok().and_then($do),
            Cipher::Aes192 => cbc::$mode::<aes::Aes192>::new_from_slices($key, $start).ok().and_then($do),
            Cipher::Aes256 => cbc::$mode::<aes::Aes256>::new_from_slices($key, $start).ok().and_then($do),
        }
    };
}

fn sealed(cipher: Cipher, key: &[u8], start: &[u8; BLOCK], plain: &[u8]) -> Option<Vec<u8>> {
    with_cipher!(cipher, Encryptor, key, start, |mode| Some(mode.encrypt_padded_vec::<Pkcs7>(plain)))
}

fn opened(cipher: Cipher, key: &[u8], start: &[u8; BLOCK], sealed: &[u8]) -> Option<Vec<u8>> {
    with_cipher!(cipher, Decryptor, key, start, |mode| mode.decrypt_padded_vec::<Pkcs7>(sealed).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Apache 2.4.68 with `SessionCryptoPassphrase secret` and its default cipher.
    const APACHES: &str = "IdKH/fkJXI/preEK/YxCEKINO4QkrZpRcGj4RDzsLr9oUN+/GX482+ul7E8xD68hXxlOUR2Gr9U=";

    #[test]
    fn what_apache_has_encrypted_is_read() {
        let (signature, signed) = parts(APACHES.as_bytes()).unwrap();
        assert!(same(&hash("secret", &signed), &signature));
        assert!(!same(&hash("other", &signed), &signature));
        let (salt, rest) = signed.split_first_chunk::<SALT>().unwrap();
        let (start, sealed) = rest.split_first_chunk::<BLOCK>().unwrap();
        let recipe = Recipe { passphrase: "secret".into(), salt: *salt, cipher: Cipher::Aes256 };
        let plain = opened(recipe.cipher, &derived(&recipe), start, sealed).unwrap();
        assert_eq!(String::from_utf8_lossy(&plain), "a=b");
    }

    #[test]
    fn what_was_sealed_is_opened_by_its_own_key_alone() {
        for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256] {
            let key = vec![7; cipher.key_size()];
            let start = random().unwrap_or_default();
            let sealed = sealed(cipher, &key, &start, b"some text of a session").unwrap();
            assert_eq!(opened(cipher, &key, &start, &sealed).unwrap(), b"some text of a session");
            assert_ne!(
                opened(cipher, &vec![8; key.len()], &start, &sealed).unwrap_or_default()[..],
                b"some text of a session"[..]
            );
            assert!(opened(cipher, &key, &start, &sealed[1..]).is_none());
        }
    }
}
