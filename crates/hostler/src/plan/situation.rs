//! The circumstances of a start on which the rules about identities depend: our own user, and what the operator has
//! accepted.

/// The circumstances of a start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// Our user.
    pub(crate) uid: u32,
    /// Our group.
    pub(crate) gid: u32,
    /// `--single-user`: everything may run as one user.
    pub(crate) single_user: bool,
}

impl Situation {
    /// As this process is.
    pub(crate) fn here(single_user: bool) -> Self {
        let (uid, gid) = hostler_sys::process::effective_ids();
        Self { uid, gid, single_user }
    }

    /// We can give processes identities.
    pub(crate) fn root(&self) -> bool {
        self.uid == 0
    }
}
