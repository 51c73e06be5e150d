//! `hostler check`: is this configuration good? What a start would refuse is refused here too: users are looked up,
//! certificates read and tried, directories of logs visited, files to load looked for. Nothing is made, bound or
//! changed; what can't be told without that is named.

use hostler_config::Config;
use hostler_config::pools::uses;
use hostler_config::technique::{self, Engine};
use std::path::Path;

use crate::cli::{self, Run};
use crate::plan::{Finding, Findings, Roles, Situation, examine, limits, listen, logs, report, secrets};
use crate::{Failed, load, run, signal, survey};

pub(crate) fn command(args: &cli::Check) -> Result<(), Failed> {
    let checked = args.configuration().map(|run| check(&run)).transpose();
    let Some(directory) = &args.htaccess else { return checked.map(drop) };
    let config = checked?;
    survey::check(directory, config.as_ref())
}

fn check(args: &Run) -> Result<Config, Failed> {
    let attempt = load::attempt(&args.configuration)?;
    let config = &attempt.config;
    load::warn_of_all(config);
    print!("{}", survey::of_configuration(config));
    let situation = Situation::here(args.single_user);
    let Findings { roles, mut found } = examine(&attempt, &situation, false);
    let roles = roles.or_else(|| (!situation.root()).then(|| ourselves(config.servers.len())));
    if let Some(roles) = roles {
        found.extend(limits::inspect(&roles.sites));
        found.extend(logs::inspect(config, &roles, &situation));
        found.extend(secrets::inspect(config, &roles, &situation));
    }
    // A server that runs already has its addresses.
    if signal::find(config).is_err() {
        found.extend(listen::inspect(config, &situation));
    }
    found.extend(programs(config));
    let unseen = found.iter().any(|found| matches!(found, Finding::Unseen(_)));
    report(found, situation.root())?;
    let hosts = config.servers.len().saturating_sub(1);
    let file = args.configuration.file.display();
    let limit = if unseen { ", as far as this user may see: root sees more" } else { "" };
    println!("{file}: OK ({hosts} virtual hosts){limit}");
    println!("Not checked, because it takes doing it: {}", unchecked(config));
    Ok(attempt.config)
}

/// Everybody is who we are.
fn ourselves(servers: usize) -> Roles {
    Roles { front: None, sites: Vec::new(), site_of: vec![0; servers], warnings: Vec::new() }
}

/// The programs that a start needs, and the engine.
fn programs(config: &Config) -> Vec<Finding> {
    let master = match run::master() {
        Ok(master) => master,
        Err(Failed(why)) => return vec![Finding::Error(why)],
    };
    let beside = master.parent().unwrap_or(Path::new("/"));
    let missing = |name: &str| {
        let path = beside.join(name);
        (!path.is_file()).then(|| format!("the program {} is not there", path.display()))
    };
    let mut found: Vec<Finding> =
        ["hostler-front", "hostler-site"].into_iter().filter_map(missing).map(Finding::Error).collect();
    found.extend(engines(config).filter_map(|engine| {
        let why = missing(&format!("hostler-{}", engine.name))?;
        Some(Finding::Warning(format!("{why}: requests for {} programs will fail", engine.language)))
    }));
    found
}

/// The engines that run programs of some virtual host.
fn engines(config: &Config) -> impl Iterator<Item = &'static Engine> {
    technique::engines()
        .iter()
        .copied()
        .filter(|engine| config.servers.iter().any(|server| uses(server, engine)))
}

fn unchecked(config: &Config) -> String {
    let mut all = "whether the addresses of Listen can be bound".to_owned();
    for engine in engines(config) {
        let language = engine.language;
        all += &format!(", whether {language} code compiles (a pool loads it when its first request comes)");
    }
    all
}
