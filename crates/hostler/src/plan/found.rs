//! The findings of a look at the system, before a start or instead of one.

use crate::Failed;

/// A finding, with the place of the line that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Hostler would not start.
    Error(String),
    /// It would, but the operator should know.
    Warning(String),
    /// Hostler would not start for want of a line, which may be among those that could not be read.
    Absent(String),
    /// We may not look; whoever starts Hostler perhaps may.
    Unseen(String),
}

impl Finding {
    /// Returns its text, whatever it means for a start.
    pub(crate) fn why(self) -> String {
        let (Self::Error(why) | Self::Warning(why) | Self::Absent(why) | Self::Unseen(why)) = self;
        why
    }

    /// With the place before it.
    pub(crate) fn prefixed(self, place: &str) -> Self {
        let with = |why: String| format!("{place}: {why}");
        match self {
            Self::Error(why) => Self::Error(with(why)),
            Self::Warning(why) => Self::Warning(with(why)),
            Self::Absent(why) => Self::Absent(with(why)),
            Self::Unseen(why) => Self::Unseen(with(why)),
        }
    }
}

/// Prints what does not stop a start. What can't be seen stops one only if it is root who can't.
///
/// # Errors
/// All that does, one line each.
pub(crate) fn report(findings: Vec<Finding>, root: bool) -> Result<(), Failed> {
    let mut errors = Vec::new();
    for found in findings {
        match found {
            Finding::Error(why) | Finding::Absent(why) => errors.push(why),
            Finding::Unseen(why) if root => errors.push(why),
            Finding::Warning(why) | Finding::Unseen(why) => eprintln!("hostler: warning: {why}"),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Failed(errors.join("\n"))) }
}
