//! CGI scripts in Perl with `Isolation fork`: run in a process of their own that is forked from a warm interpreter,
//! ahead of need. The checks are those of CGI.

use super::directory::Programs;
use super::respond;
use super::state::HasPerl;
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::request::flow::Halt;
use crate::request::{FileEntry, Request};
use crate::technique::framed;
use hostler_config::directives::pool::Isolation;
use hostler_perl_frames::{Phase, PhaseSet};

/// The handler's name, as the engine knows it.
const HANDLER: &[u8] = b"cgi-fork";

/// Runs the request's file as a CGI script, in a fork if it is one of ours to run.
pub(super) async fn handle(request: &mut Request) -> Result<Body, Halt> {
    cgi::check(request).await?;
    if !is_perl(request) {
        return cgi::handle(request).await;
    }
    if let Some(why) = unsafe_to_run(request) {
        let message =
            format!("the script is not run: {why}: {}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, "cgi", &message);
        return Err(Halt::Status(500));
    }
    request.perl_mut().progress.is_script = true;
    let mut phases = PhaseSet::default();
    phases.insert(Phase::Response);
    let body = respond(request, phases, Isolation::Fork, Programs::File, Some(HANDLER)).await?;
    Ok(framed::take_off(request, body))
}

/// Returns whether the file's first line names perl, with switches that a running interpreter can obey. A file that
/// can't be read is left to the kernel, which may still run it.
fn is_perl(request: &Request) -> bool {
    let FileEntry::File(_, Ok(file)) = &request.resource.found else { return false };
    let Ok(start) = file.read(0, 128) else { return false };
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Some(command) = line.strip_prefix(b"#!") else { return false };
    // A carriage return would be part of the interpreter's name: the kernel refuses such a script.
    let mut words = command.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let base = |word: &[u8]| word.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name == b"perl");
    let is_env = |word: &[u8]| word.ends_with(b"/env");
    let is_switch = |word: &&[u8]| word.starts_with(b"-") && *word != b"--";
    match words.next() {
        Some(word) if base(word) => !line.ends_with(b"\r") && words.take_while(is_switch).all(can_be_obeyed),
        Some(word) if is_env(word) => {
            words.next().is_some_and(|word| word == b"perl") && !line.ends_with(b"\r")
        }
        _ => false,
    }
}

/// Others, such as -n or -I, change how a program is read, or what stands around it: perl is started for it.
fn can_be_obeyed(switches: &[u8]) -> bool {
    switches.len() > 1 && switches[1..].iter().all(|switch| b"wTl".contains(switch))
}

/// Returns the reason why the kernel would refuse, or why suexec would for a site with a user of its own.
fn unsafe_to_run(request: &Request) -> Option<String> {
    let info = request.resource.found.info()?;
    if info.mode & 0o111 == 0 {
        return Some("it is not executable: chmod +x it".to_owned());
    }
    let has_own_user = request.server.conf.core.assign_user.is_some();
    (has_own_user && info.mode & 0o022 != 0)
        .then(|| format!("it is writable by group or others (mode {:04o}): chmod go-w it", info.mode))
}
