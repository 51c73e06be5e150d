//! `hostler docs DIR`: man pages, completions and the reference of directives, from the tables that the program
//! itself works with. Hidden: it is for packagers and `cargo xtask docs`.

use clap::CommandFactory;
use clap_complete::Shell;
use hostler_config::technique;
use std::fs;

use crate::Failed;
use crate::cli::{Cli, Docs};

pub(crate) fn write(args: &Docs) -> Result<(), Failed> {
    // The reference has what there is of directives where all engines are.
    technique::engines().iter().filter_map(|engine| engine.versions).for_each(|versions| (versions.assume)());
    let directory = &args.directory;
    let (man, completions) = (directory.join("man"), directory.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(Cli::command(), &man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "hostler", &completions)?;
    }
    fs::write(directory.join("directives.md"), hostler_config::directives_markdown())?;
    Ok(())
}
