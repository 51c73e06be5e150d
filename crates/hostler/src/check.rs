//! `hostler check`: is this configuration good? What a start would refuse is refused here too: users are looked up,
//! certificates read and tried, directories of logs visited, files to load looked for. Nothing is made or changed.

use crate::Failed;
use crate::cli::Run;
use crate::load;
use crate::plan::{Found, Roles, Situation, limits, logs, paths, preload, report, rlimits, roles, secrets};

pub(crate) fn check(args: &Run) -> Result<(), Failed> {
    let config = load::files(&args.configuration)?.config;
    load::warn(&config);
    let situation = Situation::here(args.single_user);
    let mut found = paths::document_roots(&config);
    found.extend(preload::files(&config));
    found.extend(rlimits::in_sections(&config));
    let roles = match roles(&config, &situation) {
        Ok(roles) => Some(roles),
        // Somebody else may well start it as root.
        Err(Failed(why)) => {
            found.extend(why.lines().map(|line| Found::Unseen(line.to_string())));
            (!situation.root()).then(|| ourselves(config.servers.len()))
        }
    };
    if let Some(roles) = roles {
        found.extend(paths::pid_file(&config));
        found.extend(limits::inspect(&roles.sites));
        found.extend(logs::inspect(&config, &roles, &situation));
        found.extend(secrets::inspect(&config, &roles, &situation));
    }
    report(found, situation.root())?;
    let hosts = config.servers.len().saturating_sub(1);
    println!("{}: OK ({hosts} virtual hosts)", args.configuration.file.display());
    Ok(())
}

/// Everybody is who we are.
fn ourselves(servers: usize) -> Roles {
    Roles { front: None, sites: Vec::new(), site_of: vec![0; servers], warnings: Vec::new() }
}
