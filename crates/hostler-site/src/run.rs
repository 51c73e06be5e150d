//! Answers `Run`: judges a program as suexec does, on descriptors, and starts it. An engine is not judged: it is ours,
//! installed beside this program.
//!
//! The program is run from the directory that was judged, by the name that was judged there. Nobody but the
//! site's user and root can change either, or the checks would have refused them.

use hostler_sys::exec::{Launch, LaunchError, Launcher, Strings};
use hostler_sys::fs::{self, Node, Resolution, Stat};
use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::Pid;
use hostler_wire::site::{CODE, Limits, Program, Run, RunError, STATE};
use rustix::io::Errno;
use serde_bytes::ByteBuf;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use crate::homes::Homes;
use crate::interpreter::{HEAD, Interpreter};
use crate::walk::errno;

/// Starts a program with these standard descriptors; `code`: where it writes which files it runs.
pub(crate) fn run(
    launcher: &mut Launcher,
    engines: &Engines,
    homes: &Homes,
    run: &Run,
    standard: &[OwnedFd; 3],
    code: Option<BorrowedFd<'_>>,
) -> Result<Pid, RunError> {
    let ready = match &run.program {
        Program::Script { path, args } => Ready::script(path, args, run.suexec)?,
        Program::Shell { command, directory } => Ready::shell(command, directory)?,
        Program::Listener { path, args, .. } if !path.contains(&b'/') => {
            let name = std::str::from_utf8(path).map_err(|_| RunError::NotFound)?;
            let mut ready = Ready::engine(engines, name)?;
            args.iter().try_for_each(|argument| add(&mut ready.args, argument))?;
            ready
        }
        Program::Listener { path, args, directory, .. } => {
            Ready::script(path, args, run.suexec)?.in_directory(directory)?
        }
        Program::Engine { name, .. } => Ready::engine(engines, name)?,
    };
    let mut env = strings(&run.env)?;
    // An engine that needs it reports its absence.
    if ready.is_engine()
        && let Ok(state) = homes.state()
    {
        add(&mut env, &[STATE.as_bytes(), b"=", state.as_os_str().as_bytes()].concat())?;
    }
    if code.is_some() {
        add(&mut env, format!("{CODE}=3").as_bytes())?;
    }
    let limits = limits(&run.limits);
    let launch = Launch {
        directory: ready.directory(),
        name: &ready.name,
        fallback: ready.path.as_deref(),
        args: &ready.args,
        env: &env,
        working: ready.working.as_fd(),
        standard: [standard[0].as_fd(), standard[1].as_fd(), standard[2].as_fd()],
        fourth: code,
        limits: &limits,
        nice: run.limits.nice,
        no_new_privs: run.no_new_privs,
    };
    launcher.launch(&launch).map_err(|error| ready.failed(error))
}

/// The engines by name, held open: the site's user may not be able to walk to where they are (a checkout in somebody's
/// home), and what stands there by now may be of another build than this process.
pub(crate) type Engines = Vec<(String, OwnedFd)>;

/// A program that has been judged and can be started.
struct Ready {
    place: Place,
    /// Its name at that place.
    name: CString,
    /// The script's path, for what can't be run by descriptor.
    path: Option<CString>,
    args: Strings,
    working: Node,
    interpreter: Option<Interpreter>,
}

/// The directory in which a program's name is looked up when it is run.
enum Place {
    /// Nowhere: the name is a path.
    Path,
    /// In the working directory.
    Working,
    /// In the directory that a link has led to.
    Directory(Node),
    /// It is open already.
    Held(OwnedFd),
}

impl Ready {
    fn script(path: &[u8], more: &[ByteBuf], suexec: bool) -> Result<Self, RunError> {
        let cut = path.iter().rposition(|byte| *byte == b'/').ok_or(RunError::NotFound)?;
        let working = Node::directory(&path[..=cut]).map_err(|e| unreachable_program(&e))?;
        let TrustedProgram { node, place, name } = judge(&working, &path[cut + 1..], suexec)?;
        let interpreter = interpreter(&node)?;
        let mut args = Strings::with_capacity(path.len() + 64);
        if let Some(interpreter) = &interpreter {
            add(&mut args, &interpreter.path)?;
            interpreter.argument.iter().try_for_each(|argument| add(&mut args, argument))?;
        }
        add(&mut args, path)?;
        more.iter().try_for_each(|argument| add(&mut args, argument))?;
        if let Some(interpreter) = interpreter {
            let name = text(&interpreter.path)?;
            return Ok(Self {
                place: Place::Path,
                name,
                path: None,
                args,
                working,
                interpreter: Some(interpreter),
            });
        }
        Ok(Self { place, name: text(&name)?, path: Some(text(path)?), args, working, interpreter: None })
    }

    /// The same, with another working directory.
    fn in_directory(self, directory: &[u8]) -> Result<Self, RunError> {
        let Self { place, name, path, args, working, interpreter } = self;
        let place = if matches!(place, Place::Working) { Place::Directory(working) } else { place };
        let working = Node::directory(directory).map_err(|e| unreachable_program(&e))?;
        Ok(Self { place, name, path, args, working, interpreter })
    }

    /// Returns the directory in which [`Self::name`] is looked up; `None`: it is a path.
    fn directory(&self) -> Option<BorrowedFd<'_>> {
        match &self.place {
            Place::Path => None,
            Place::Working => Some(self.working.as_fd()),
            Place::Directory(directory) => Some(directory.as_fd()),
            Place::Held(program) => Some(program.as_fd()),
        }
    }

    fn shell(command: &[u8], directory: &[u8]) -> Result<Self, RunError> {
        let working = Node::directory(directory).map_err(|e| unreachable_program(&e))?;
        let mut args = Strings::with_capacity(command.len() + 16);
        for argument in [b"/bin/sh", b"-c".as_slice(), command] {
            add(&mut args, argument)?;
        }
        let name = c"/bin/sh".to_owned();
        Ok(Self { place: Place::Path, name, path: None, args, working, interpreter: None })
    }

    /// Starts an engine. Its title in `ps` is up to the engine.
    fn engine(engines: &Engines, name: &str) -> Result<Self, RunError> {
        let (name, program) = engines.iter().find(|(known, _)| *known == name).ok_or(RunError::NotFound)?;
        let program = program.try_clone().map_err(|e| unreachable_program(&e))?;
        let working = Node::directory(b"/").map_err(|e| unreachable_program(&e))?;
        let mut args = Strings::with_capacity(name.len() + 16);
        add(&mut args, &[b"hostler-", name.as_bytes()].concat())?;
        let place = Place::Held(program);
        Ok(Self { place, name: CString::default(), path: None, args, working, interpreter: None })
    }

    /// Only engines are held open.
    fn is_engine(&self) -> bool {
        matches!(self.place, Place::Held(_))
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
struct TrustedProgram {
    node: Node,
    place: Place,
    name: Vec<u8>,
}

/// The checks of a program, with `suexec` also those of owner and permissions, on what `name` is in `working`. A link is followed; then the directory of the link and
/// that of its target are checked both.
fn judge(working: &Node, name: &[u8], suexec: bool) -> Result<TrustedProgram, RunError> {
    if matches!(name, b"" | b"." | b"..") {
        return Err(RunError::NotRegular);
    }
    let node = working.child(name).map_err(|e| unreachable_program(&e))?;
    check_directory(working.stat(), suexec)?;
    if !node.is_link() {
        check_file(&node, working, name, suexec)?;
        return Ok(TrustedProgram { node, place: Place::Working, name: name.to_vec() });
    }
    let Resolution { node, directory, name } =
        node.follow(working, &mut |_| ()).map_err(|e| unreachable_program(&e))?;
    check_directory(directory.stat(), suexec)?;
    check_file(&node, &directory, &name, suexec)?;
    Ok(TrustedProgram { node, place: Place::Directory(directory), name })
}

/// A directory that is sticky is writable all the same: others can put a program there.
fn check_directory(stat: &Stat, suexec: bool) -> Result<(), RunError> {
    if !suexec || stat.st_mode & 0o022 == 0 {
        Ok(())
    } else {
        Err(RunError::DirectoryWritable { mode: permissions(stat) })
    }
}

/// A hard link to another user's program has that user as its owner, so it is refused as well.
fn check_file(node: &Node, directory: &Node, name: &[u8], suexec: bool) -> Result<(), RunError> {
    if !node.is_regular() {
        return Err(RunError::NotRegular);
    }
    let (mode, owner) = (permissions(node.stat()), node.stat().st_uid);
    let uid = rustix::process::geteuid().as_raw();
    if changes_identity(node.stat()) {
        return Err(RunError::SetId { mode });
    }
    if suexec && mode & 0o022 != 0 {
        return Err(RunError::Writable { mode });
    }
    if suexec && owner != uid && owner != 0 {
        return Err(RunError::WrongOwner { owner, uid });
    }
    directory.may_execute(name).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::ACCESS) => RunError::NotExecutable { uid, mode },
        _ => unreachable_program(&e),
    })
}

/// Returns whether it would run as somebody else than the site: a bit that names the site's own user or group changes
/// nothing.
fn changes_identity(stat: &Stat) -> bool {
    let mode = permissions(stat);
    mode & 0o4000 != 0 && stat.st_uid != rustix::process::geteuid().as_raw()
        || mode & 0o2000 != 0 && stat.st_gid != rustix::process::getegid().as_raw()
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
