//! The questions to scripts that guard (`WSGIAccessScript`, `WSGIAuthUserScript`, `WSGIAuthGroupScript`) or choose
//! where an application runs (`WSGIDispatchScript`), in a request's own part of its head, and their answers, as the
//! response's body.

use hostler_wire::codec::{Decoder, Encoder, Malformed};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// `allow_access`: whether a client of this name or address may come in.
    Access {
        /// The client's name, or else its address.
        host: &'a [u8],
    },
    /// `check_password`: whether this is the user's password.
    Password {
        /// The user's name.
        user: &'a [u8],
        /// The given password.
        password: &'a [u8],
    },
    /// `get_realm_hash`: the digest of the user's password.
    Digest {
        /// The user's name.
        user: &'a [u8],
        /// The realm that it is for.
        realm: &'a [u8],
    },
    /// `groups_for_user`: the groups that the user is in.
    Groups {
        /// The user's name.
        user: &'a [u8],
    },
    /// `process_group`, `application_group`, `callable_object`: where the application runs, and what it is called.
    Dispatch,
}

/// Whom, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardQuestion<'a> {
    /// The script's path.
    pub script: &'a [u8],
    /// The question.
    pub question: Question<'a>,
}

impl<'a> GuardQuestion<'a> {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        let (kind, first, second): (u8, &[u8], &[u8]) = match self.question {
            Question::Access { host } => (0, host, b""),
            Question::Password { user, password } => (1, user, password),
            Question::Digest { user, realm } => (2, user, realm),
            Question::Groups { user } => (3, user, b""),
            Question::Dispatch => (4, b"", b""),
        };
        e.u8(kind);
        [self.script, first, second].iter().for_each(|bytes| e.bytes(bytes));
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let kind = d.u8()?;
        let (script, first, second) = (d.bytes()?, d.bytes()?, d.bytes()?);
        let question = match kind {
            0 => Question::Access { host: first },
            1 => Question::Password { user: first, password: second },
            2 => Question::Digest { user: first, realm: second },
            3 => Question::Groups { user: first },
            4 => Question::Dispatch,
            _ => return Err(Malformed),
        };
        d.end().map(|()| Self { script, question })
    }
}

/// A script's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardReply {
    /// Yes.
    Yes,
    /// No.
    No,
    /// It knows no such user, or has nothing to say.
    Nothing,
    /// Yes, and the user has this name from now on.
    User(Vec<u8>),
    /// The digest.
    Digest(Vec<u8>),
    /// The groups.
    Groups(Vec<Vec<u8>>),
    /// Process group, application group and callable object, each where it says so.
    Places([Option<Vec<u8>>; 3]),
    /// It has raised something, said something else, or is not there; the log says what.
    Failed,
}

impl GuardReply {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Yes => e.u8(0),
            Self::No => e.u8(1),
            Self::Nothing => e.u8(2),
            Self::User(name) => {
                e.u8(3);
                e.bytes(name);
            }
            Self::Digest(digest) => {
                e.u8(4);
                e.bytes(digest);
            }
            Self::Groups(groups) => {
                e.u8(5);
                e.list(groups, |e, group| e.bytes(group));
            }
            Self::Failed => e.u8(6),
            Self::Places(places) => {
                e.u8(7);
                places.iter().for_each(|place| e.optional(place.as_deref()));
            }
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let said = match d.u8()? {
            0 => Self::Yes,
            1 => Self::No,
            2 => Self::Nothing,
            3 => Self::User(d.bytes()?.to_vec()),
            4 => Self::Digest(d.bytes()?.to_vec()),
            5 => Self::Groups(d.list(4, |d| Ok(d.bytes()?.to_vec()))?),
            6 => Self::Failed,
            7 => {
                let mut place = || Ok(d.optional()?.map(<[u8]>::to_vec));
                Self::Places([place()?, place()?, place()?])
            }
            _ => return Err(Malformed),
        };
        d.end().map(|()| said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_come_back() {
        let questions = [
            Question::Access { host: b"192.0.2.1" },
            Question::Password { user: b"ann", password: b"secret" },
            Question::Digest { user: b"ann", realm: b"staff" },
            Question::Groups { user: b"ann" },
            Question::Dispatch,
        ];
        for question in questions {
            let asked = GuardQuestion { script: b"/srv/guard.wsgi", question };
            let mut bytes = Vec::new();
            asked.encode(&mut Encoder(&mut bytes));
            assert_eq!(GuardQuestion::decode(&bytes), Ok(asked));
            bytes.push(0);
            assert_eq!(GuardQuestion::decode(&bytes), Err(Malformed));
        }
        assert_eq!(GuardQuestion::decode(b""), Err(Malformed));
    }

    #[test]
    fn what_is_said_comes_back() {
        let all = [
            GuardReply::Yes,
            GuardReply::No,
            GuardReply::Nothing,
            GuardReply::User(b"anna".to_vec()),
            GuardReply::Digest(b"0123".to_vec()),
            GuardReply::Groups(vec![b"staff".to_vec(), Vec::new()]),
            GuardReply::Failed,
            GuardReply::Places([Some(b"app".to_vec()), None, Some(Vec::new())]),
        ];
        for said in all {
            let mut bytes = Vec::new();
            said.encode(&mut Encoder(&mut bytes));
            assert_eq!(GuardReply::decode(&bytes), Ok(said));
            bytes.push(0);
            assert_eq!(GuardReply::decode(&bytes), Err(Malformed));
        }
        assert_eq!(GuardReply::decode(b"\x08"), Err(Malformed));
    }
}
