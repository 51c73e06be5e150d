//! `SSLSessionTicketKeyFile`: tickets that all servers with the same file can read.
//!
//! The key is derived from the file's 48 bytes (HKDF with SHA-256, RFC 5869), and the tickets are sealed with AES-256-GCM: the
//! library's sessions are nothing to OpenSSL anyway.

use hostler_config::directives::ssl::TICKET_KEY;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::server::ProducesTickets;
use std::fmt;

/// The lifetime of a ticket, in seconds: the library's own.
const LIFETIME: u32 = 12 * 60 * 60;

/// Makes tickets, and reads those of others with the same file.
pub(super) struct SharedTickets {
    key: LessSafeKey,
    random: SystemRandom,
}

impl fmt::Debug for SharedTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedTickets")
    }
}

impl SharedTickets {
    /// `purpose`: tickets for another one are not read.
    ///
    /// # Errors
    /// A sentence: the file is too short.
    pub(super) fn new(file: &[u8], purpose: &[u8]) -> Result<Self, String> {
        let secret = file
            .get(..TICKET_KEY)
            .ok_or_else(|| format!("the SSLSessionTicketKeyFile has fewer than {TICKET_KEY} bytes"))?;
        let derived = Salt::new(HKDF_SHA256, b"hostler tickets").extract(secret);
        let info = [purpose];
        let key = derived.expand(&info, &AES_256_GCM).map(UnboundKey::from).map_err(|e| e.to_string())?;
        Ok(Self { key: LessSafeKey::new(key), random: SystemRandom::new() })
    }
}

impl ProducesTickets for SharedTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }

    /// The nonce, and behind it what is sealed.
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = plain.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(unique, Aad::empty(), &mut sealed).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = cipher.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let length = self.key.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_same_file_reads_the_same_tickets() {
        let file: Vec<u8> = (0..48).collect();
        let [one, two, other] =
            [&b"a"[..], b"a", b"b"].map(|purpose| SharedTickets::new(&file, purpose).unwrap());
        let ticket = one.encrypt(b"a session").unwrap();
        assert_eq!(two.decrypt(&ticket).as_deref(), Some(&b"a session"[..]));
        assert_ne!(one.encrypt(b"a session").unwrap(), ticket, "each is another one");
        assert_eq!(other.decrypt(&ticket), None, "for something else");
        let another = SharedTickets::new(&[9; 48], b"a").unwrap();
        assert_eq!(another.decrypt(&ticket), None, "by another file");
        for at in [0, 15, ticket.len() - 1] {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(two.decrypt(&changed), None, "{at}");
        }
        assert_eq!((two.decrypt(b""), two.decrypt(&ticket[..20])), (None, None));
        assert!(SharedTickets::new(&file[..47], b"").is_err());
    }
}
