//! Values of the directives that are words of a list.

/// `ProxyVia`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// Nothing is said.
    #[default]
    Off,
    /// This server is named in `Via`.
    On,
    /// With its product.
    Full,
    /// `Via` is taken out.
    Block,
}

/// `ProxyBadHeader`: what becomes of an answer with a line in its head that is no field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadHeader {
    /// 502.
    #[default]
    IsError,
    /// The line is passed over.
    Ignore,
    /// It is the first of the body.
    StartBody,
}

/// `ProxyStatus`: what the status page shows of other servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusLine {
    /// Nothing.
    #[default]
    Off,
    /// Everything.
    On,
    /// Without figures.
    Full,
}

/// `ProxyErrorOverride`: which answers of other servers become this server's own pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ErrorOverride {
    /// None.
    #[default]
    Off,
    /// All from 400 on.
    All,
    /// Responses with these statuses.
    Statuses(Vec<u16>),
}

impl ErrorOverride {
    /// Returns whether an answer of this status is replaced.
    #[must_use]
    pub fn has(&self, status: u16) -> bool {
        match self {
            Self::Off => false,
            Self::All => (400..600).contains(&status),
            Self::Statuses(statuses) => statuses.contains(&status),
        }
    }
}
