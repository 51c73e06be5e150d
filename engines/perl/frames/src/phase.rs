//! The phases of a request, as mod_perl has them.

/// Phases of a request in which a worker may have a say, with mod_perl's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it: PerlXxxHandler")]
#[repr(u8)]
pub enum Phase {
    PostReadRequest = 0,
    Trans = 1,
    MapToStorage = 2,
    HeaderParser = 3,
    Access = 4,
    Authen = 5,
    Authz = 6,
    Type = 7,
    Fixup = 8,
    Response = 9,
    Log = 10,
    Cleanup = 11,
    InputFilter = 12,
    OutputFilter = 13,
}

impl Phase {
    /// All: those that are one after the other, then those of what is read and written.
    pub const ALL: [Self; 14] = [
        Self::PostReadRequest,
        Self::Trans,
        Self::MapToStorage,
        Self::HeaderParser,
        Self::Access,
        Self::Authen,
        Self::Authz,
        Self::Type,
        Self::Fixup,
        Self::Response,
        Self::Log,
        Self::Cleanup,
        Self::InputFilter,
        Self::OutputFilter,
    ];

    /// The phase with this number.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// A set of phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PhaseSet(pub u32);

impl PhaseSet {
    /// Returns whether it has this one.
    #[must_use]
    pub fn contains(self, phase: Phase) -> bool {
        self.0 & 1 << phase as u8 != 0
    }

    /// Adds one.
    pub fn insert(&mut self, phase: Phase) {
        self.0 |= 1 << phase as u8;
    }
}
