//! `hostler-perl configure`: runs `<Perl>` sections, and files that call `add_config`, while a configuration is read, and
//! gives back the configuration that they build. It serves nothing and forks nothing.
//!
//! **Runs as** the user that `User` names, or `AssignUserID` of the virtual host that the sections stand in; started by
//! the planner with a socket as descriptor 0 (`hostler_perl_frames::configure`). It ends when that is closed; the planner ends
//! it, and all that it may have started, when it takes too long.
//!
//! **Diagnostics** go to the planner as [`FromConfigure::Failed`].

use hostler_perl_frames::configure::{FromConfigure, ToConfigure};
use hostler_perl_frames::{Preload, Setup};
use hostler_sys::fdpass;
use hostler_wire::build::Build;
use hostler_wire::engine::ServerFacts;
use hostler_wire::frame::{HEAD, Head};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::{look, perl};

/// Answers the planner until it closes the socket.
pub(crate) fn run(socket: &OwnedFd) -> io::Result<()> {
    hostler_engine::process::title("hostler-perl: <Perl> sections");
    while let Some(asked) = receive(socket)? {
        let answer = match asked {
            ToConfigure::Look { preload, server_root, places } => {
                Ok(FromConfigure::Saw(look::look(&preload, &server_root, places)))
            }
            ToConfigure::Begin { generation, server_root, switches, main, vars } => {
                let servers = vec![with_defaults(*main)];
                let vars = vec![vars];
                begin(&Setup { generation, server_root, switches, servers, vars, ..Setup::default() })
            }
            ToConfigure::Run { preload, in_host } => one(&preload, in_host),
        };
        let mut bytes = Vec::new();
        let answer = answer.unwrap_or_else(|why| FromConfigure::Failed { why });
        answer.encode(&mut bytes).map_err(io::Error::other)?;
        fdpass::send_all(socket.as_fd(), &bytes, &[])?;
    }
    Ok(())
}

/// The next question; `None`: the planner has closed.
fn receive(socket: &OwnedFd) -> io::Result<Option<ToConfigure>> {
    let mut head = [0; HEAD];
    let mut none = Vec::new();
    match fdpass::recv_exact(socket.as_fd(), &mut head, &mut none) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut body = vec![0; Head::decode(head).map_err(io::Error::other)?.body];
    fdpass::recv_exact(socket.as_fd(), &mut body, &mut none)?;
    ToConfigure::decode(&body).map(Some).map_err(io::Error::other)
}

/// Makes the interpreter. The calls that build configuration are there in both generations.
fn begin(setup: &Setup) -> Result<FromConfigure, String> {
    perl::boot(setup)?;
    Ok(FromConfigure::Hello(Build::own()))
}

/// Adds the defaults of unset values.
fn with_defaults(main: ServerFacts) -> ServerFacts {
    let (log_level, timeout) = (4, 60);
    let (keep_alive, keep_alive_timeout, keep_alive_max) = (true, 5000, 100);
    ServerFacts { log_level, timeout, keep_alive, keep_alive_timeout, keep_alive_max, ..main }
}

/// Runs one thing. Of modules and files only what they add counts: their variables are the next section's.
fn one(preload: &Preload, in_host: bool) -> Result<FromConfigure, String> {
    let [text, warnings, declared] = perl::configure(preload, in_host)?;
    Ok(FromConfigure::Done { text, warnings, declared })
}
