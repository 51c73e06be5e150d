//! The differences between clients that were looked at while a request was mapped. A response that depends on one is
//! for this client alone and must not be reused for others.

use crate::request::Request;

/// The set of things that modules have looked at besides host, path, files, and whatever is equal for all of a server's
/// requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks(u8);

impl Looks {
    pub(crate) const NOTHING: Self = Self(0);
    /// More of the request's line than its path: the query, above all.
    pub(crate) const LINE: Self = Self(1);
    pub(crate) const AUTHORIZATION: Self = Self(2);
    /// Anything else.
    pub(crate) const MORE: Self = Self(4);
    /// `User-Agent`.
    pub(crate) const AGENT: Self = Self(8);

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether they have all of that.
    pub(crate) const fn have(self, these: Self) -> bool {
        self.0 & these.0 == these.0
    }

    /// Returns whether there is nothing among it that `these` don't have.
    pub(crate) const fn are_among(self, these: Self) -> bool {
        self.0 & !these.0 == 0
    }
}

impl Request {
    /// Returns the differences looked at by it and by the requests it continues.
    pub(crate) fn all_looks(&self) -> Looks {
        self.chain().fold(Looks::NOTHING, |all, request| all.and(request.looks))
    }

    /// Notes that a module has looked at this. What is made of the request may be kept for others that differ only in
    /// what nobody has looked at.
    pub(crate) fn looked_at(&mut self, looks: Looks) {
        self.looks = self.looks.and(looks);
    }
}
