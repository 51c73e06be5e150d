//! An imagined request for expressions and pages: it knows a few things, and some only when asked twice.

use crate::Dice;
use hostler_expr::{Answer, Captures, FileError, FileTest, SubrequestTest, Variable};
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};

/// Answers by dice.
pub(super) struct Host {
    dice: RefCell<Dice>,
}

impl Host {
    pub(super) fn new(dice: Dice) -> Self {
        Self { dice: RefCell::new(dice) }
    }

    fn maybe<T>(&self, value: T) -> Answer<T> {
        if self.dice.borrow_mut().one_in(16) { Answer::Pending } else { Answer::Ready(value) }
    }

    fn text(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self.dice.borrow_mut().below(4) {
            0 => None,
            1 => Some(Cow::Borrowed(b"")),
            2 => Some(Cow::Borrowed(b"aa.example, 192.0.2.7 \xc3\xa4 17")),
            _ => Some(Cow::Owned(name.to_vec())),
        }
    }
}

impl hostler_expr::Host for Host {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        self.maybe(self.text(variable.name().as_bytes()))
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.text(name)
    }

    fn response_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.text(name)
    }

    fn request_env<'a>(&'a self, name: &[u8], captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        captures.group(1).map(Cow::Borrowed).or_else(|| self.text(name))
    }

    fn file_test(&self, _: FileTest, path: &[u8]) -> Answer<bool> {
        self.maybe(path.len().is_multiple_of(2))
    }

    fn file_contents(&self, path: &[u8]) -> Answer<Result<Cow<'_, [u8]>, FileError>> {
        self.maybe(self.text(path).ok_or(FileError::Unreadable))
    }

    fn subrequest(&self, _: SubrequestTest, target: &[u8]) -> Answer<bool> {
        self.maybe(target.len().is_multiple_of(2))
    }

    fn remote_ip(&self) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

impl hostler_expr::legacy::Host for Host {
    fn variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.text(name)
    }

    fn accessible(&self, uri: &[u8]) -> Answer<bool> {
        self.maybe(uri.len().is_multiple_of(2))
    }
}
