//! hostler-servlet: becomes the Java virtual machine in which a site's servlets run. It finds Java and Tomcat, makes the
//! site's own folder for what Tomcat writes, and becomes the virtual machine, by the library that `java` itself is a front of; its program (`java/hostler`) is in it.
//!
//! **Runs as** the site's user, started by the site's process, with a listening socket as descriptor 0.
//!
//! **Diagnostics**: one line on standard error, which is the site's ErrorLog: what is missing, and what to do. Exit status
//! 2 then; what the virtual machine ends with has a cause of its own (3: out of memory).

#![cfg_attr(not(with_java), allow(dead_code, reason = "what is built without Java only says so"))]

mod archive;
mod arguments;
mod jars;
mod java;
mod launch;
mod place;

use arguments::Arguments;
use std::path::Path;
use std::process::ExitCode;

/// The program in Java, as a jar.
#[cfg(with_java)]
const PROGRAM: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/hostler-servlet.jar")));
#[cfg(not(with_java))]
const PROGRAM: Option<&[u8]> = None;

fn main() -> ExitCode {
    // Whoever wants to know whether this program can run servlets.
    if std::env::args().nth(1).is_some_and(|word| word == "--version") {
        return match ready() {
            Ok(_) => {
                println!("hostler-servlet {}", env!("CARGO_PKG_VERSION"));
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    // The archive beside the program, made anew: at installation, and when Java or Tomcat were replaced.
    if std::env::args().nth(1).is_some_and(|word| word == "--archive") {
        return match make_archive() {
            Ok(path) => {
                println!("{}", path.display());
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("no archive of classes, servlets start more slowly: {why}");
                ExitCode::FAILURE
            }
        };
    }
    let Err(why) = run();
    eprintln!("{why}");
    ExitCode::from(2)
}

/// The inputs of a virtual machine's start.
type Ready = (&'static [u8], Vec<std::path::PathBuf>);

fn ready() -> Result<Ready, String> {
    let program = PROGRAM.ok_or(
        "this hostler-servlet was built without Java: install openjdk-17-jdk-headless, libtomcat10-embed-java, \
         libtomcat10-java and libeclipse-jdt-core-java, and build again",
    )?;
    Ok((program, jars::find(Path::new(jars::FOLDER))?))
}

fn make_archive() -> Result<std::path::PathBuf, String> {
    let (program, jars) = ready()?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    archive::make(own.parent().unwrap_or(Path::new("/")), program, &jars)
}

fn run() -> Result<std::convert::Infallible, String> {
    let (program, jars) = ready()?;
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let home = java::Home::find(arguments.java_home.as_deref())?;
    let place = place::Place::enter(arguments.root.as_deref(), &arguments.key, program)?;
    Err(home.replace(&arguments, &jars, place))
}
