//! Lists of cipher suites in OpenSSL's language (`ciphers(1)`), over the suites that Hostler's TLS library has: all of them
//! with forward secrecy and authenticated encryption.

use crate::{Merge, over};

/// A suite, as far as OpenSSL's words tell suites apart.
#[derive(Debug)]
struct Suite {
    /// OpenSSL's name, and the registry's.
    names: [&'static str; 2],
    /// Words that it is meant by.
    words: &'static [&'static str],
}

/// Words that each suite is meant by.
const ALL: &[&str] = &["ALL", "DEFAULT", "HIGH"];
/// Words that each suite of TLS 1.2 is meant by.
const OLD: &[&str] = &["TLSV1.2", "ECDHE", "EECDH", "KECDHE", "KEECDH", "ECDH", "FIPS", "PROFILE=SYSTEM"];

const fn suite(names: [&'static str; 2], words: &'static [&'static str]) -> Suite {
    Suite { names, words }
}

/// The suites of TLS 1.2.
const TLS12: &[Suite] = &[
    suite(
        ["ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"],
        &["AECDSA", "ECDSA", "AES", "AES256", "AESGCM", "SHA384"],
    ),
    suite(
        ["ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
        &["AECDSA", "ECDSA", "AES", "AES128", "AESGCM", "SHA256"],
    ),
    suite(
        ["ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"],
        &["AECDSA", "ECDSA", "CHACHA20", "SHA256"],
    ),
    suite(
        ["ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"],
        &["ARSA", "RSA", "AES", "AES256", "AESGCM", "SHA384"],
    ),
    suite(
        ["ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
        &["ARSA", "RSA", "AES", "AES128", "AESGCM", "SHA256"],
    ),
    suite(
        ["ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"],
        &["ARSA", "RSA", "CHACHA20", "SHA256"],
    ),
];

/// The suites of TLS 1.3.
const TLS13: &[&str] = &["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"];

/// Cipher suites that are allowed, by OpenSSL's names, in order; unset means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ciphers {
    /// Of TLS 1.2.
    pub tls12: Option<Vec<&'static str>>,
    /// Of TLS 1.3.
    pub tls13: Option<Vec<&'static str>>,
}

impl Merge for Ciphers {
    fn merge(&self, other: &Self) -> Self {
        Self { tls12: over(&self.tls12, &other.tls12), tls13: over(&self.tls13, &other.tls13) }
    }

    crate::unset_part!(Ciphers);
}

impl Ciphers {
    /// Sets the list of a protocol: `SSL` (TLS 1.2) or `TLSv1.3`.
    ///
    /// # Errors
    /// There is no such protocol, or none of the suites is there.
    pub(super) fn set(&mut self, protocol: &str, list: &str) -> Result<(), String> {
        match &protocol.to_ascii_lowercase()[..] {
            "ssl" => self.tls12 = Some(tls12(list)?),
            "tlsv1.3" => self.tls13 = Some(tls13(list)?),
            _ => return Err(crate::unknown("protocol", protocol, &["SSL", "TLSv1.3"])),
        }
        Ok(())
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split([':', ',', ' ', ';']).filter(|word| !word.is_empty())
}

fn none_is_left(list: &str, all: &str) -> String {
    format!("none of the cipher suites of \"{list}\" is left: Hostler has {all}")
}

fn tls12(list: &str) -> Result<Vec<&'static str>, String> {
    let chosen = tls12_meant(list);
    if chosen.is_empty() {
        let all: Vec<_> = TLS12.iter().map(|suite| suite.names[0]).collect();
        return Err(none_is_left(list, &all.join(", ")));
    }
    Ok(chosen)
}

/// Returns the suites of TLS 1.2 that a list selects, possibly none.
pub(super) fn tls12_meant(list: &str) -> Vec<&'static str> {
    let (mut chosen, mut banned): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for word in words(list).filter(|word| !word.starts_with('@')) {
        let (sign, name) = match word.chars().next() {
            Some(sign @ ('!' | '-' | '+')) => (sign, &word[1..]),
            _ => (' ', word),
        };
        let named: Vec<usize> = (0..TLS12.len()).filter(|at| is_meant(&TLS12[*at], name)).collect();
        match sign {
            '!' => {
                chosen.retain(|at| !named.contains(at));
                banned.extend(named);
            }
            '-' => chosen.retain(|at| !named.contains(at)),
            // To the end of the list.
            '+' => {
                let (last, first): (Vec<_>, Vec<_>) = chosen.iter().partition(|at| named.contains(at));
                chosen = first.into_iter().chain(last).collect();
            }
            _ => {
                let new = named.into_iter().filter(|at| !banned.contains(at) && !chosen.contains(at));
                chosen.extend(new.collect::<Vec<_>>());
            }
        }
    }
    chosen.into_iter().map(|at| TLS12[at].names[0]).collect()
}

/// Returns whether a word, or several with `+` between them, means a suite.
fn is_meant(suite: &Suite, name: &str) -> bool {
    name.split('+').all(|word| {
        let upper = word.to_ascii_uppercase();
        let known = ALL.iter().chain(OLD).chain(suite.words);
        suite.names.contains(&word) || known.into_iter().any(|own| *own == upper)
    })
}

fn tls13(list: &str) -> Result<Vec<&'static str>, String> {
    let named = words(list).filter_map(|word| TLS13.iter().find(|own| **own == word).copied());
    let chosen: Vec<_> = named.collect();
    if chosen.is_empty() { Err(none_is_left(list, &TLS13.join(", "))) } else { Ok(chosen) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(list: &str) -> Option<String> {
        tls12(list).ok().map(|all| all.join(" "))
    }

    #[test]
    fn lists_are_openssl_s() {
        assert_eq!(tls12("HIGH:!aNULL:!MD5").unwrap().len(), 6);
        assert_eq!(tls12("ALL:!ADH:RC4+RSA:+HIGH:+MEDIUM:+LOW:+SSLv2:+EXP").unwrap().len(), 6);
        assert_eq!(chosen("ECDHE+AESGCM+aRSA:!AES128").as_deref(), Some("ECDHE-RSA-AES256-GCM-SHA384"));
        assert_eq!(
            chosen("ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA:DHE-RSA-AES128-GCM-SHA256").as_deref(),
            Some("ECDHE-RSA-AES128-GCM-SHA256")
        );
        assert_eq!(
            chosen("!ECDSA:CHACHA20:ECDHE-ECDSA-CHACHA20-POLY1305").as_deref(),
            Some("ECDHE-RSA-CHACHA20-POLY1305")
        );
        assert_eq!(chosen("3DES:RC4:NULL"), None);
        assert_eq!(chosen("!ALL"), None);
        assert_eq!(
            tls13("TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_CCM_SHA256").unwrap(),
            ["TLS_CHACHA20_POLY1305_SHA256"]
        );
        assert!(tls13("TLS_AES_128_CCM_SHA256").is_err());
    }
}
