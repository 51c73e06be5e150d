//! `hostler check`: is this configuration good? What a start would refuse is refused here too, as far as that can
//! be told without opening or changing anything.

use crate::Failed;
use crate::cli::Run;
use crate::load;
use crate::plan::{Situation, roles};

pub(crate) fn check(args: &Run) -> Result<(), Failed> {
    let config = load::files(&args.configuration)?.config;
    load::warn(&config);
    let situation = Situation::here(args.single_user);
    match roles(&config, &situation) {
        Err(refused) if situation.root() => return Err(refused),
        // Somebody else may well start it as root.
        Err(Failed(why)) => why.lines().for_each(|line| eprintln!("hostler: warning: {line}")),
        Ok(_) => {}
    }
    let hosts = config.servers.len().saturating_sub(1);
    println!("{}: OK ({hosts} virtual hosts)", args.configuration.file.display());
    Ok(())
}
