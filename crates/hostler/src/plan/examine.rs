//! Checks before anything is opened, the same for a start and for `hostler check`, so that both reach the same verdict.
//! Things that a start finds out by doing them (logs, certificates, ports) are inspected by `check` in addition.

use hostler_config::{Attempt, Config};

use super::{Finding, Roles, Situation, listen, paths, place, preload, rlimits, roles};
use crate::Failed;
use crate::run;
use hostler_config::technique;

/// The findings.
pub(crate) struct Findings {
    /// The identities; `None`: they could not be determined, and the findings say why.
    pub(crate) roles: Option<Roles>,
    /// All findings, errors of the configuration's lines first.
    pub(crate) found: Vec<Finding>,
}

/// Looks at everything. `by_starter`: whoever asks is going to start the server; otherwise somebody else may well do
/// that, as root.
pub(crate) fn examine(attempt: &Attempt, situation: &Situation, by_starter: bool) -> Findings {
    let config = &attempt.config;
    let mut found: Vec<Finding> =
        attempt.errors.iter().map(|error| Finding::Error(error.to_string())).collect();
    found.extend(listen::examine(config));
    let roles = match roles(config, situation) {
        Ok(roles) => {
            found.extend(roles.warnings.iter().cloned().map(Finding::Warning));
            Some(roles)
        }
        Err(Failed(why)) => {
            let unnamed = config.process.user.is_none() || config.process.group.is_none();
            let kind = if unnamed && situation.root() {
                Finding::Absent
            } else if situation.root() || by_starter {
                Finding::Error
            } else {
                Finding::Unseen
            };
            found.extend(why.lines().map(|line| kind(line.to_string())));
            None
        }
    };
    found.extend(files(config, situation));
    // A line that could not be read may be the one that is missed.
    if !attempt.errors.is_empty() {
        found.retain(|found| !matches!(found, Finding::Absent(_)));
    }
    Findings { roles, found }
}

fn files(config: &Config, situation: &Situation) -> Vec<Finding> {
    let mut found = paths::document_roots(config);
    found.extend(paths::maps(config));
    found.extend(paths::pid_file(config, situation.root()));
    found.extend(preload::files(config));
    found.extend(rlimits::in_sections(config));
    found.extend(applications(config));
    found
}

/// Obstacles to applications that are mapped to paths.
fn applications(config: &Config) -> Vec<Finding> {
    let rows = technique::all().iter().filter_map(|row| row.applications);
    let complaints = rows.flat_map(|applications| (applications.examine)(config, run::why_not));
    let finding = |(origin, directive, why)| {
        Finding::Error(why).prefixed(&format!("{}: {directive}", place::of(config, origin)))
    };
    complaints.map(finding).collect()
}
