//! The text files of basic authentication: AuthUserFile and AuthGroupFile (mod_authn_file,
//! mod_authz_groupfile), and the client's `Authorization` field (RFC 7617).

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The client's credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// May be empty.
    pub user: Vec<u8>,
    /// May be empty.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &String::from_utf8_lossy(&self.user))
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads an `Authorization` field. `None`: another scheme. As in Apache, what is no base 64 ends the
    /// text, and a text without a colon is a name without password.
    #[must_use]
    pub fn parse(field: &[u8]) -> Option<Self> {
        let space = field.iter().position(|byte| *byte == b' ').unwrap_or(field.len());
        if !field[..space].eq_ignore_ascii_case(b"basic") {
            return None;
        }
        let plain = decoded(field[space..].trim_ascii_start());
        let plain = plain.split(|byte| *byte == 0).next().unwrap_or_default();
        let colon = plain.iter().position(|byte| *byte == b':').unwrap_or(plain.len());
        let password = plain.get(colon + 1..).unwrap_or_default();
        Some(Self { user: plain[..colon].to_vec(), password: password.to_vec() })
    }
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut length = text.iter().take_while(|byte| is_digit(byte)).count();
    if length % 4 == 1 {
        length -= 1;
    }
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&STANDARD, lenient).decode(&text[..length]).unwrap_or_default()
}

/// The hash of `user` in the text of an AuthUserFile. The first line that names the user counts.
#[must_use]
pub fn password_hash<'f>(file: &'f str, user: &str) -> Option<&'f str> {
    file.lines().map(str::trim).filter(|line| !line.starts_with('#')).find_map(|line| {
        let (name, rest) = line.split_once(':')?;
        (name == user).then(|| rest.split(':').next().unwrap_or(rest))
    })
}

/// Returns whether the text of an AuthGroupFile has `user` in `group`. A group may have several lines, and a line that
/// ends with a backslash goes on in the next.
#[must_use]
pub fn is_member(file: &str, group: &str, user: &str) -> bool {
    logical_lines(file).any(|line| {
        let line = line.trim();
        let members = line.split_once(':').filter(|(name, _)| *name == group && !line.starts_with('#'));
        members.is_some_and(|(_, members)| {
            members.split_whitespace().any(|member| member.trim_matches('"') == user)
        })
    })
}

fn logical_lines(file: &str) -> impl Iterator<Item = String> + '_ {
    let mut lines = file.lines();
    std::iter::from_fn(move || {
        let mut whole = String::new();
        loop {
            let Some(line) = lines.next() else { return (!whole.is_empty()).then_some(whole) };
            match line.strip_suffix('\\') {
                Some(begun) => whole.push_str(begun),
                None => return Some(whole + line),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_field() {
        let cases: [(&str, Option<(&str, &str)>); 9] = [
            ("Basic dXNlcjpzZWNyZXQ=", Some(("user", "secret"))),
            ("bASIC   dXNlcjpzZWNyZXQ", Some(("user", "secret"))),
            ("Basic dXNlcjphOmI=", Some(("user", "a:b"))),
            ("Basic dXNlcg==", Some(("user", ""))),
            ("Basic OnNlY3JldA==", Some(("", "secret"))),
            ("Basic dXNlcjpzZWNyZXQ=, junk", Some(("user", "secret"))),
            ("Basic", Some(("", ""))),
            ("Basically dXNlcg==", None),
            ("Bearer dXNlcg==", None),
        ];
        for (field, expected) in cases {
            let found = Credentials::parse(field.as_bytes());
            let expected =
                expected.map(|(user, password)| Credentials { user: user.into(), password: password.into() });
            assert_eq!(found, expected, "{field}");
        }
    }

    #[test]
    fn a_password_is_never_printed() {
        let credentials = Credentials { user: b"user".to_vec(), password: b"secret".to_vec() };
        assert!(!format!("{credentials:?}").contains("secret"));
    }

    #[test]
    fn user_files() {
        let file = "# users\n#eve:x\n\n  ann:hash1:more\nbob:hash2\nann:other\nnocolon\n";
        assert_eq!(password_hash(file, "ann"), Some("hash1"));
        assert_eq!(password_hash(file, "bob"), Some("hash2"));
        assert_eq!(password_hash(file, "#eve"), None);
        assert_eq!(password_hash(file, "nocolon"), None);
        assert_eq!(password_hash(file, ""), None);
    }

    #[test]
    fn group_files() {
        let file = "# groups\nadmins: ann \\\n bob\nusers:  eve\nusers: dan\n#none: ann\n";
        for (group, user, expected) in [
            ("admins", "ann", true),
            ("admins", "bob", true),
            ("admins", "eve", false),
            ("users", "eve", true),
            ("users", "dan", true),
            ("#none", "ann", false),
            ("none", "ann", false),
        ] {
            assert_eq!(is_member(file, group, user), expected, "{group} {user}");
        }
    }
}
