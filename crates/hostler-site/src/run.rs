//! Answers `Run`: judges a program as suexec does, on descriptors, and starts it.
//!
//! The program is run from the directory that was judged, by the name that was judged there. Nobody but the
//! site's user and root can change either, or the checks would have refused them.

use hostler_sys::exec::{Launch, LaunchError, Launcher, Strings};
use hostler_sys::fs::{self, Node, Stat};
use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::Pid;
use hostler_wire::site::{Limits, Program, Run, RunError};
use rustix::io::Errno;
use serde_bytes::ByteBuf;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::interpreter::{HEAD, Interpreter};
use crate::walk::errno;

/// Starts a program with these standard descriptors.
pub(crate) fn run(launcher: &mut Launcher, run: &Run, standard: &[OwnedFd; 3]) -> Result<Pid, RunError> {
    let ready = match &run.program {
        Program::Script { path, args } => Ready::script(path, args)?,
        Program::Shell { command, directory } => Ready::shell(command, directory)?,
    };
    let env = strings(&run.env)?;
    let limits = limits(&run.limits);
    let launch = Launch {
        directory: ready.found_in.as_ref().map(AsFd::as_fd),
        name: &ready.name,
        fallback: ready.path.as_deref(),
        args: &ready.args,
        env: &env,
        working: ready.working.as_fd(),
        standard: [standard[0].as_fd(), standard[1].as_fd(), standard[2].as_fd()],
        limits: &limits,
    };
    launcher.launch(&launch).map_err(|error| ready.failed(error))
}

/// A program that has been judged and can be started.
struct Ready {
    /// Where `name` was judged; `None`: `name` is a path.
    found_in: Option<Node>,
    name: CString,
    /// The script's path, for what can't be run by descriptor.
    path: Option<CString>,
    args: Strings,
    working: Node,
    interpreter: Option<Interpreter>,
}

impl Ready {
    fn script(path: &[u8], more: &[ByteBuf]) -> Result<Self, RunError> {
        let cut = path.iter().rposition(|byte| *byte == b'/').ok_or(RunError::NotFound)?;
        let (parent, name) = (&path[..=cut], &path[cut + 1..]);
        let working = Node::directory(parent).map_err(|e| unreachable_program(&e))?;
        let judged = judge(&working, name)?;
        let directory = judged.directory.as_ref().unwrap_or(&working);
        let interpreter = interpreter(&judged.node)?;
        directory.may_execute(&judged.name).map_err(|e| match Errno::from_io_error(&e) {
            Some(Errno::ACCESS) => not_executable(judged.node.stat()),
            _ => unreachable_program(&e),
        })?;
        let mut args = Strings::with_capacity(path.len() + 64);
        if let Some(interpreter) = &interpreter {
            add(&mut args, &interpreter.path)?;
            interpreter.argument.iter().try_for_each(|argument| add(&mut args, argument))?;
        }
        add(&mut args, path)?;
        more.iter().try_for_each(|argument| add(&mut args, argument))?;
        let path = Some(text(path)?);
        Ok(match interpreter {
            Some(found) => {
                let name = text(&found.path)?;
                Self { found_in: None, name, path: None, args, working, interpreter: Some(found) }
            }
            None => {
                let name = text(&judged.name)?;
                let found_in = match judged.directory {
                    Some(directory) => directory,
                    None => working.again().map_err(|e| unreachable_program(&e))?,
                };
                Self { found_in: Some(found_in), name, path, args, working, interpreter: None }
            }
        })
    }

    fn shell(command: &[u8], directory: &[u8]) -> Result<Self, RunError> {
        let working = Node::directory(directory).map_err(|e| unreachable_program(&e))?;
        let mut args = Strings::with_capacity(command.len() + 16);
        for argument in [b"/bin/sh", b"-c".as_slice(), command] {
            add(&mut args, argument)?;
        }
        let name = c"/bin/sh".to_owned();
        Ok(Self { found_in: None, name, path: None, args, working, interpreter: None })
    }

    fn failed(&self, error: LaunchError) -> RunError {
        match (error, &self.interpreter) {
            (LaunchError::Fork(errno), _) => RunError::Fork { errno },
            (LaunchError::Exec(errno), _) if errno == Errno::TOOBIG.raw_os_error() => RunError::TooLarge,
            (LaunchError::Exec(errno), Some(interpreter)) => interpreter.failed(errno),
            (LaunchError::Exec(errno) | LaunchError::Setup(errno), _) => RunError::Exec { errno },
        }
    }
}

/// A program that passed the checks: what it is, and where, under which name.
struct Judged {
    node: Node,
    /// `None`: the directory of the path itself.
    directory: Option<Node>,
    name: Vec<u8>,
}

/// The checks of suexec, on what `name` is in `working`. A link is followed; then the directory of the link and
/// that of its target are checked both.
fn judge(working: &Node, name: &[u8]) -> Result<Judged, RunError> {
    if matches!(name, b"" | b"." | b"..") {
        return Err(RunError::NotRegular);
    }
    let node = working.child(name).map_err(|e| unreachable_program(&e))?;
    check_directory(working.stat())?;
    let judged = if node.is_link() {
        let found = node.follow(working, &mut |_| ()).map_err(|e| unreachable_program(&e))?;
        check_directory(found.directory.stat())?;
        Judged { node: found.node, directory: Some(found.directory), name: found.name }
    } else {
        Judged { node, directory: None, name: name.to_vec() }
    };
    if !judged.node.is_regular() {
        return Err(RunError::NotRegular);
    }
    check_file(judged.node.stat(), rustix::process::geteuid().as_raw())?;
    Ok(judged)
}

/// A directory that is sticky is writable all the same: others can put a program there.
fn check_directory(stat: &Stat) -> Result<(), RunError> {
    if stat.st_mode & 0o022 == 0 {
        Ok(())
    } else {
        Err(RunError::DirectoryWritable { mode: permissions(stat) })
    }
}

/// A hard link to another user's program has that user as its owner, so it is refused as well.
fn check_file(stat: &Stat, uid: u32) -> Result<(), RunError> {
    let mode = permissions(stat);
    if mode & 0o6000 != 0 {
        Err(RunError::SetId { mode })
    } else if mode & 0o022 != 0 {
        Err(RunError::Writable { mode })
    } else if stat.st_uid != uid && stat.st_uid != 0 {
        Err(RunError::WrongOwner { owner: stat.st_uid, uid })
    } else if mode & 0o111 == 0 {
        Err(not_executable(stat))
    } else {
        Ok(())
    }
}

fn not_executable(stat: &Stat) -> RunError {
    RunError::NotExecutable { uid: rustix::process::geteuid().as_raw(), mode: permissions(stat) }
}

fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// The script's interpreter; `None` for a binary, and for a file that may be executed but not read: the kernel
/// looks at that itself.
fn interpreter(node: &Node) -> Result<Option<Interpreter>, RunError> {
    let file = match node.open_file() {
        Ok(file) => file,
        Err(e) if Errno::from_io_error(&e) == Some(Errno::ACCESS) => return Ok(None),
        Err(e) => return Err(unreachable_program(&e)),
    };
    Interpreter::of(&fs::read_head::<HEAD>(file.as_fd()).map_err(|e| unreachable_program(&e))?)
}

fn unreachable_program(error: &io::Error) -> RunError {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR) => RunError::NotFound,
        _ => RunError::Exec { errno: errno(error) },
    }
}

fn limits(limits: &Limits) -> Vec<(Limit, Bounds)> {
    let bound = |value: u64| (value != u64::MAX).then_some(value);
    [(Limit::Cpu, limits.cpu), (Limit::Memory, limits.mem), (Limit::Processes, limits.nproc)]
        .into_iter()
        .filter_map(|(limit, value)| {
            value.map(|(soft, hard)| (limit, Bounds { soft: bound(soft), hard: bound(hard) }))
        })
        .collect()
}

fn strings(list: &[ByteBuf]) -> Result<Strings, RunError> {
    let mut strings = Strings::with_capacity(list.iter().map(|text| text.len() + 1).sum());
    list.iter().try_for_each(|text| add(&mut strings, text))?;
    Ok(strings)
}

/// The front sends no NULs; one would cut a string short.
fn add(strings: &mut Strings, text: &[u8]) -> Result<(), RunError> {
    strings.push(text).map_err(|_| RunError::Exec { errno: Errno::INVAL.raw_os_error() })
}

fn text(bytes: &[u8]) -> Result<CString, RunError> {
    CString::new(bytes).map_err(|_| RunError::Exec { errno: Errno::INVAL.raw_os_error() })
}
