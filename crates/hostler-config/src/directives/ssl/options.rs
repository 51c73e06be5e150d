//! SSLOptions and SSLProtocol: lists of words with `+` and `-`.

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocols {
    /// TLS 1.2
    pub tls12: bool,
    /// TLS 1.3
    pub tls13: bool,
}

impl Default for Protocols {
    fn default() -> Self {
        Self { tls12: true, tls13: true }
    }
}

impl Protocols {
    /// Returns the options set in both.
    pub(super) fn both(self, other: Self) -> Self {
        Self { tls12: self.tls12 & other.tls12, tls13: self.tls13 & other.tls13 }
    }

    /// Reads SSLProtocol. Older versions may be named, and change nothing; at least one of 1.2 and 1.3 must be
    /// left.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let mut set = Self { tls12: false, tls13: false };
        for word in words {
            let (sign, name) = split(word);
            let (tls12, tls13) = match &name.to_ascii_lowercase()[..] {
                "all" => (true, true),
                "tlsv1.2" => (true, false),
                "tlsv1.3" => (false, true),
                "sslv3" | "tlsv1" | "tlsv1.1" => (false, false),
                "sslv2" if sign == Some('-') => (false, false),
                _ => return Err(crate::unknown("protocol", name, &["all", "TLSv1.2", "TLSv1.3"])),
            };
            match sign {
                None => set = Self { tls12, tls13 },
                Some('+') => set = Self { tls12: set.tls12 | tls12, tls13: set.tls13 | tls13 },
                Some(_) => set = Self { tls12: set.tls12 & !tls12, tls13: set.tls13 & !tls13 },
            }
        }
        if !set.tls12 && !set.tls13 {
            return Err("nothing is left: Hostler speaks TLSv1.2 and TLSv1.3".into());
        }
        Ok(set)
    }
}

/// One option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    StdEnvVars,
    ExportCertData,
    StrictRequire,
    FakeBasicAuth,
    LegacyNames,
    Other,
}

/// SSLOptions of a place: a base, and what is added and taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A list without `+` and `-` replaces what comes from further out.
    replaces: bool,
    added: u8,
    removed: u8,
}

impl Options {
    /// `StdEnvVars`: programs get the variables `SSL_...`.
    #[must_use]
    pub fn std_env_vars(&self) -> bool {
        self.has(Word::StdEnvVars)
    }

    /// `ExportCertData`: and the certificates themselves.
    #[must_use]
    pub fn export_cert_data(&self) -> bool {
        self.has(Word::ExportCertData)
    }

    /// `FakeBasicAuth`: a client's certificate logs in as a user of its name does, with the password `password`.
    #[must_use]
    pub fn fake_basic_auth(&self) -> bool {
        self.has(Word::FakeBasicAuth)
    }

    /// `StrictRequire`: a refusal by SSLRequireSSL or SSLRequire stands, whatever `Satisfy any` says.
    #[must_use]
    pub fn strict_require(&self) -> bool {
        self.has(Word::StrictRequire)
    }

    /// `LegacyDNStringFormat`: names in certificates are written as OpenSSL once did (`/C=DE/CN=someone`).
    #[must_use]
    pub fn legacy_names(&self) -> bool {
        self.has(Word::LegacyNames)
    }

    fn has(&self, word: Word) -> bool {
        self.added & bit(word) != 0
    }

    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub(super) fn merge(&self, over: &Self) -> Self {
        if over.replaces {
            return over.clone();
        }
        Self {
            replaces: self.replaces,
            added: (self.added & !over.removed) | over.added,
            removed: (self.removed & !over.added) | over.removed,
        }
    }

    /// Reads a line.
    pub(super) fn set(&mut self, words: &[String]) -> Result<(), String> {
        for text in words {
            let (sign, name) = split(text);
            let word = match &name.to_ascii_lowercase()[..] {
                "stdenvvars" => Word::StdEnvVars,
                "exportcertdata" => Word::ExportCertData,
                "strictrequire" => Word::StrictRequire,
                "fakebasicauth" => Word::FakeBasicAuth,
                "compatenvvars" | "optrenegotiate" => Word::Other,
                "legacydnstringformat" => Word::LegacyNames,
                _ => return Err(crate::unknown("option", name, &[])),
            };
            match sign {
                None if !self.replaces => *self = Self { replaces: true, added: bit(word), removed: 0 },
                Some('-') => (self.added, self.removed) = (self.added & !bit(word), self.removed | bit(word)),
                _ => (self.added, self.removed) = (self.added | bit(word), self.removed & !bit(word)),
            }
        }
        Ok(())
    }
}

fn bit(word: Word) -> u8 {
    1 << word as u8
}

fn split(word: &str) -> (Option<char>, &str) {
    match word.strip_prefix(['+', '-']) {
        Some(name) => (word.chars().next(), name),
        None => (None, word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn protocols() {
        for (text, expected) in [
            ("all", Some((true, true))),
            ("all -SSLv3 -TLSv1 -TLSv1.1", Some((true, true))),
            ("-all +TLSv1.3", Some((false, true))),
            ("TLSv1.2", Some((true, false))),
            ("+TLSv1.2 +TLSv1.3", Some((true, true))),
            ("TLSv1 TLSv1.1", None),
            ("all -SSLv2", Some((true, true))),
            ("SSLv2", None),
            ("QUIC", None),
        ] {
            let found = Protocols::parse(&words(text)).ok().map(|set| (set.tls12, set.tls13));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn options_merge() {
        let options = |text: &str| {
            let mut options = Options::default();
            options.set(&words(text)).unwrap();
            options
        };
        let outer = options("+StdEnvVars");
        assert!(outer.merge(&options("+StrictRequire")).std_env_vars());
        assert!(!outer.merge(&options("StrictRequire")).std_env_vars());
        assert!(!outer.merge(&options("-StdEnvVars")).std_env_vars());
        assert!(options("+LegacyDNStringFormat").legacy_names() && !outer.legacy_names());
        assert!(Options::default().set(&words("+Nothing")).is_err());
    }
}
