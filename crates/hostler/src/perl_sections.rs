//! Perl code that builds configuration: `<Perl>` sections, and files that call `add_config`. It is run by `hostler-perl
//! configure`, one process for each user who runs some, for as long as the configuration is read. That process also reads
//! files for us, to see which of them are such.
//!
//! The code may come from files that others than root write. So the process has the ids of `User` and `Group`
//! (or `AssignUserID` of the virtual host around the section), never root's, no supplementary groups, nothing but its
//! end of a socket, an empty environment, limits, a session of its own; and it has so much time. Without root it is who
//! we are. What it says is text for the reader, which takes only some directives from it.
//!
//! **Runs as** whoever reads the configuration, normally root. **Diagnostics** are errors of the configuration.

use hostler_config::{Output, PerlRequest, RunAs, RunPerl};
use hostler_perl_frames::PreloadKind;
use hostler_perl_frames::configure::{FromConfigure, LONGEST_ANSWER, SourceFacts, ToConfigure};
use hostler_sys::limits::{Bounds, Limit};
use hostler_sys::process::{self, Identity, Pid, Program, Signal, Spawn, spawn};
use hostler_wire::frame::{HEAD, Head};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::plan::users;
use crate::run;

/// The time limit of a section.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time limit for loading a file or module: large programs are loaded whole.
const PATIENCE_TO_LOAD: Duration = Duration::from_secs(60);
/// Seconds of processor time for all that a user runs.
const CPU: u64 = 60;
/// Bytes of address space.
const MEMORY: u64 = 1 << 30;
/// The search path of sections' programs.
const PATH: &std::ffi::CStr = c"PATH=/usr/local/bin:/usr/bin:/bin";

/// The processes, by who they run as; they end with this.
#[derive(Default)]
pub(crate) struct PerlSections(HashMap<RunAs, Sections>);

impl RunPerl for PerlSections {
    fn run(&mut self, asked: &PerlRequest<'_>) -> Result<Output, String> {
        let sections = self.of(asked)?;
        sections.begin(asked)?;
        let question = ToConfigure::Run { preload: asked.preload.clone(), in_host: asked.in_host };
        match sections.ask(&question)? {
            FromConfigure::Done { text, warnings, declared } => Ok(Output { text, warnings, declared }),
            FromConfigure::Failed { why } => Err(format!("its code failed: {why}")),
            FromConfigure::Hello(_) | FromConfigure::Saw(_) => {
                Err("the process that runs it misbehaves".to_owned())
            }
        }
    }

    fn look(&mut self, asked: &PerlRequest<'_>, places: &[String]) -> SourceFacts {
        let question = ToConfigure::Look {
            preload: asked.preload.clone(),
            server_root: asked.server_root.to_owned(),
            places: places.to_vec(),
        };
        // Without a process nothing is seen. What builds all the same says so when it is loaded to serve.
        match self.of(asked).and_then(|sections| sections.ask(&question)) {
            Ok(FromConfigure::Saw(shown)) => shown,
            _ => SourceFacts::default(),
        }
    }
}

impl PerlSections {
    /// The process of who runs this. One that has only looked at files so far makes room for another's.
    fn of(&mut self, asked: &PerlRequest<'_>) -> Result<&mut Sections, String> {
        if !self.0.contains_key(asked.run_as) {
            self.0.retain(|_, sections| sections.begun);
            self.0.insert(asked.run_as.clone(), Sections::start(asked.run_as)?);
        }
        self.0.get_mut(asked.run_as).ok_or_else(|| "has no process".to_owned())
    }
}

/// A process.
struct Sections {
    pid: Pid,
    socket: UnixStream,
    /// It has an interpreter.
    begun: bool,
    /// It has failed once: nothing it says counts any more.
    lost: bool,
    /// The time limit of the last request.
    patience: Duration,
}

impl Sections {
    fn start(run_as: &RunAs) -> Result<Self, String> {
        let identity = identity(run_as)?;
        let failed = |e: &dyn std::fmt::Display| format!("can't be run: {e}");
        let path = run::program("hostler-perl").map_err(|why| failed(&why.0))?;
        let program = Program::open(&path).map_err(|e| format!("can't be run: {}: {e}", path.display()))?;
        let (ours, theirs) = hostler_sys::socket::stream_pair().map_err(|e| failed(&e))?;
        let null = File::options().read(true).write(true).open("/dev/null").map_err(|e| failed(&e))?;
        let both = |most| Bounds { soft: Some(most), hard: Some(most) };
        let pid = spawn(&Spawn {
            program: &program,
            args: &[c"hostler-perl".to_owned(), c"configure".to_owned()],
            env: &[PATH.to_owned()],
            fds: &[(theirs.as_fd(), 0), (null.as_fd(), 1), (null.as_fd(), 2)],
            identity: identity.as_ref(),
            group: None,
            limits: &[(Limit::Cpu, both(CPU)), (Limit::Memory, both(MEMORY)), (Limit::Core, both(0))],
            directory: Some(c"/"),
            no_new_privs: true,
            dies_with_parent: true,
            own_session: true,
        });
        let pid = pid.map_err(|e| failed(&e))?;
        Ok(Self { pid, socket: UnixStream::from(ours), begun: false, lost: false, patience: PATIENCE })
    }

    /// Makes the interpreter, once.
    fn begin(&mut self, asked: &PerlRequest<'_>) -> Result<(), String> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let failed = |e: &dyn std::fmt::Display| format!("can't be run: {e}");
        let (server_root, switches) = (asked.server_root.to_owned(), asked.switches.to_vec());
        let (generation, main) = (asked.generation, Box::new(asked.main.clone()));
        let vars = asked.vars.to_vec();
        let begin = ToConfigure::Begin { generation, server_root, switches, main, vars };
        let begun = self.exchange(&begin);
        self.lost = begun.is_err();
        let unable = |e| failed(&format!("hostler-perl does not begin ({e}); was it built with Perl?"));
        match begun.map_err(unable)? {
            FromConfigure::Hello(build) => build.check("hostler-perl", "hostler").map_err(|e| failed(&e)),
            FromConfigure::Failed { why } => Err(failed(&why)),
            FromConfigure::Done { .. } | FromConfigure::Saw(_) => Err(failed(&"hostler-perl misbehaves")),
        }
    }

    fn ask(&mut self, question: &ToConfigure) -> Result<FromConfigure, String> {
        if self.lost {
            return Err("was not run: one before it broke off".to_owned());
        }
        let answer = self.exchange(question);
        answer.map_err(|e| {
            self.lost = true;
            self.end(&e)
        })
    }

    fn exchange(&mut self, question: &ToConfigure) -> io::Result<FromConfigure> {
        self.patience = match question {
            ToConfigure::Run { preload, .. } if preload.kind != PreloadKind::Code => PATIENCE_TO_LOAD,
            _ => PATIENCE,
        };
        let deadline = Instant::now() + self.patience;
        let mut bytes = Vec::new();
        question.encode(&mut bytes).map_err(io::Error::other)?;
        self.socket.set_write_timeout(Some(PATIENCE))?;
        self.socket.write_all(&bytes)?;
        let mut head = [0; HEAD];
        self.fill(&mut head, deadline)?;
        let length = Head::decode(head).map_err(io::Error::other)?.body;
        if length > LONGEST_ANSWER {
            return Err(io::Error::other(format!(
                "it builds more than {LONGEST_ANSWER} bytes of configuration"
            )));
        }
        let mut body = vec![0; length];
        self.fill(&mut body, deadline)?;
        FromConfigure::decode(&body).map_err(io::Error::other)
    }

    /// Reads so many bytes, all before the deadline.
    fn fill(&mut self, mut bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
            match self.socket.read(bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes = &mut bytes[count..],
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Describes its end, in a sentence.
    fn end(&self, error: &io::Error) -> String {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
        match error.kind() {
            TimedOut | WouldBlock => {
                format!("its code was ended: it took longer than {} seconds", self.patience.as_secs())
            }
            UnexpectedEof | BrokenPipe | ConnectionReset => {
                "its code ended the process that runs it (exec, a signal, too much memory or processor time)"
                    .to_owned()
            }
            _ => format!("its code can't be used: {error}"),
        }
    }
}

impl Drop for Sections {
    fn drop(&mut self) {
        process::kill_group(self.pid, Signal::KILL);
        process::kill(self.pid, Signal::KILL);
        let _ = process::wait(self.pid);
    }
}

/// `None`: who we are, without root.
fn identity(run_as: &RunAs) -> Result<Option<Identity>, String> {
    if !process::is_root() {
        return Ok(None);
    }
    let (Some(user), Some(group)) = (&run_as.user, &run_as.group) else {
        return Err("builds configuration, which its code does as the user of the site, not as root: write User and Group \
                    before it"
            .to_owned());
    };
    Ok(Some(Identity { uid: users::uid(user)?, gid: users::gid(group)?, groups: Vec::new() }))
}
