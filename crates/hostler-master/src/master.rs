//! The master's loop: signals, the planner, the fronts and the clock, one event after the other.

use hostler_sys::notify::Notifier;
use hostler_sys::poll::{self, Ready, Watch};
use hostler_sys::process::Signal;
use hostler_sys::signal::Signals;
use hostler_sys::{harden, limits};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::generation::{Generation, Phase};
use crate::groups::Groups;
use crate::handover::Handover;
use crate::homes::Homes;
use crate::logs::Reopening;
use crate::options::Options;
use crate::pid_file::PidFile;
use crate::plan::Planning;
use crate::programs::Programs;
use crate::report;
use crate::site::SiteProcess;
use crate::spawn::Nursery;
use crate::status_socket::StatusSocket;
use crate::stop::Ending;

const SIGNALS: [Signal; 8] = [
    Signal::TERM,
    Signal::INT,
    Signal::QUIT,
    Signal::HUP,
    Signal::USR1,
    Signal::WINCH,
    Signal::CHILD,
    Signal::PIPE,
];

/// Everything that the master knows.
pub(crate) struct Master {
    /// Starts children.
    pub(crate) nursery: Nursery,
    /// We are root, and hand out identities.
    pub(crate) root: bool,
    /// Oldest first.
    pub(crate) generations: Vec<Generation>,
    /// The site processes of all generations.
    pub(crate) sites: Vec<SiteProcess>,
    /// The number started so far.
    pub(crate) sites_started: u32,
    /// A planner that runs.
    pub(crate) planning: Option<Planning>,
    /// A reload was asked for while another was under way.
    pub(crate) reload_wanted: bool,
    /// A generation that serves, and that older ones make room for.
    pub(crate) handover: Option<Handover>,
    /// Number of the next generation.
    pub(crate) next_number: u64,
    /// The PidFile that we wrote.
    pub(crate) pid_file: Option<PidFile>,
    /// The socket beside it.
    pub(crate) status_socket: Option<StatusSocket>,
    /// The control groups of sites with limits.
    pub(crate) groups: Groups,
    /// The directories of sites.
    pub(crate) homes: Homes,
    /// A generation has served.
    pub(crate) has_served: bool,
    /// When the server was started.
    pub(crate) started: Instant,
    /// The server is stopping.
    pub(crate) ending: Option<Ending>,
    /// The service manager.
    pub(crate) manager: Notifier,
    /// When it is next to be told that the server goes on.
    pub(crate) next_sign: Option<Instant>,
    /// When a new generation was last begun for a front with a stuck thread.
    pub(crate) relieved: Option<Instant>,
    /// When it last looked for fronts that are silent.
    pub(crate) awake: Instant,
    /// The program that opens logs again.
    pub(crate) reopening: Option<Reopening>,
    /// When logs are next looked at.
    pub(crate) next_look: Instant,
    signals: Signals,
}

/// The descriptor that woke us.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    Planner,
    Reopener,
    Front(u64),
}

impl Master {
    /// # Errors
    /// Something that the master needs is missing: a sentence.
    pub(crate) fn new(options: Options) -> Result<Self, String> {
        let say = |what: &'static str| move |e: std::io::Error| format!("{what}: {e}");
        harden::settle(c"hostler-master").map_err(say("can't protect this process"))?;
        let signals = Signals::block(&SIGNALS).map_err(say("can't take signals"))?;
        let descriptors = limits::raise_descriptors().map_err(say("can't raise the limit of open files"))?;
        let root = hostler_sys::process::is_root();
        let programs = Programs::open(&options.planner, options.libexec.as_deref())?;
        Ok(Self {
            nursery: Nursery::new(programs, options.planner_args, descriptors)?,
            root,
            generations: Vec::new(),
            sites: Vec::new(),
            sites_started: 0,
            planning: None,
            reload_wanted: false,
            handover: None,
            next_number: 1,
            pid_file: None,
            status_socket: None,
            groups: Groups::new(),
            homes: Homes::new(root),
            has_served: false,
            started: Instant::now(),
            ending: None,
            manager: Notifier::of_environment(),
            next_sign: None,
            relieved: None,
            awake: Instant::now(),
            reopening: None,
            next_look: Instant::now(),
            signals,
        })
    }

    /// Serves until told to stop; returns the exit status.
    pub(crate) fn run(mut self) -> u8 {
        self.begin_reload(Instant::now());
        let status = loop {
            self.handle_events();
            let now = Instant::now();
            self.on_time(now);
            self.flush();
            if let Some(status) = self.ended(now) {
                break status;
            }
        };
        if let Some(file) = self.pid_file.take() {
            file.remove();
        }
        if let Some(socket) = self.status_socket.take() {
            socket.remove();
        }
        self.groups.remove();
        self.homes.remove();
        status
    }

    fn handle_events(&mut self) {
        let ready = self.wait();
        let now = Instant::now();
        for (source, ready) in ready {
            match source {
                Source::Signals => self.handle_signals(now),
                Source::Planner => self.planner_said(now),
                Source::Reopener => self.reopener_said(now),
                Source::Front(number) if ready.read => self.front_said(number, now),
                Source::Front(_) => {}
            }
        }
    }

    fn wait(&self) -> Vec<(Source, Ready)> {
        let mut sources = vec![Source::Signals];
        let mut watches = vec![Watch { fd: self.signals.as_fd(), write: false }];
        if let Some(planning) = self.planning.as_ref().filter(|planning| !planning.closed) {
            sources.push(Source::Planner);
            watches.push(Watch { fd: planning.socket.as_fd(), write: false });
        }
        if let Some(reopening) = &self.reopening {
            sources.push(Source::Reopener);
            watches.push(Watch { fd: reopening.socket.as_fd(), write: false });
        }
        for generation in &self.generations {
            if let Some(front) = generation.front.as_ref().filter(|front| !front.closed) {
                sources.push(Source::Front(generation.number));
                watches.push(Watch { fd: front.channel.socket(), write: front.channel.waiting() });
            }
        }
        let now = Instant::now();
        let timeout = self.next_deadline(now).map(|at| at.saturating_duration_since(now));
        match poll::wait(&watches, timeout) {
            Ok(ready) => {
                let woken = sources.into_iter().zip(ready);
                woken.filter(|(_, ready)| ready.read || ready.write).collect()
            }
            Err(e) => {
                report::error(&format_args!("poll: {e}"));
                std::thread::sleep(Duration::from_millis(100));
                vec![(Source::Signals, Ready::default())]
            }
        }
    }

    /// The next moment at which something is due.
    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let planning = self.planning.iter().map(|planning| planning.until);
        let generations = self.generations.iter().filter_map(|g| match (g.phase, &g.front) {
            (Phase::Draining { until }, _) => Some(until),
            (_, Some(front)) => front.ready_by,
            (_, None) => g.respawn.wait_until(now),
        });
        let fronts = self.generations.iter().filter_map(|g| g.front.as_ref());
        let silences = fronts.flat_map(|front| [front.life.silent_at(), front.life.doomed]).flatten();
        let sites = self.sites.iter().filter_map(|process| process.kill_at);
        let ending = self.ending.iter().filter_map(|ending| match ending {
            Ending::Now { kill_at, .. } => Some((*kill_at).max(now + Duration::from_millis(100))),
            Ending::Gracefully { drain_at, .. } => *drain_at,
        });
        let handover = self.handover.iter().map(|handover| handover.until);
        planning
            .chain(handover)
            .chain(self.next_look())
            .chain(generations)
            .chain(silences)
            .chain(self.next_sign)
            .chain(sites)
            .chain(ending)
            .min()
    }

    fn handle_signals(&mut self, now: Instant) {
        while let Ok(Some((signal, by_a_process))) = self.signals.next_with_origin() {
            match signal {
                Signal::TERM => self.stop_gracefully(true, now),
                Signal::INT | Signal::QUIT => self.stop(now),
                Signal::HUP | Signal::USR1 => self.begin_reload(now),
                // The kernel sends it, too, when a terminal's size changes.
                Signal::WINCH if by_a_process => self.stop_gracefully(false, now),
                Signal::CHILD => self.reap_all(now),
                _ => {}
            }
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.planning.as_ref().is_some_and(|planning| planning.until <= now) {
            if let Some(planning) = self.planning.take() {
                hostler_sys::process::kill(planning.pid, Signal::KILL);
            }
            self.no_new_generation(1, "the planner takes too long");
        }
        self.cut_off_late(now);
        let late: Vec<(u64, &str)> =
            self.generations.iter().filter_map(|g| Some((g.number, late(g, now)?))).collect();
        for (number, why) in late {
            self.condemn_front(number, why, now);
        }
        self.end_stuck_fronts(now);
        self.give_sign(now);
        self.look_at_logs(now);
        self.kill_late_sites(now);
        self.respawn_fronts(now);
        self.announce(now);
        if self.reload_wanted {
            self.begin_reload(now);
        }
    }

    /// Sends the fronts what waits for them.
    pub(crate) fn flush(&mut self) {
        for front in self.generations.iter_mut().filter_map(|g| g.front.as_mut()) {
            match front.channel.flush().map_err(|e| e.kind()) {
                Ok(()) => {}
                // It has ended, or will be found closed.
                Err(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => front.channel.forget(),
                Err(e) => {
                    report::error(&format_args!("can't send to a front: {e}"));
                    front.channel.forget();
                    hostler_sys::process::kill(front.pid, Signal::KILL);
                }
            }
        }
    }
}

/// Why the front of this generation has had its time, if so.
fn late(generation: &Generation, now: Instant) -> Option<&'static str> {
    if let Phase::Draining { until } = generation.phase {
        return (until <= now).then_some("its connections are open for too long");
    }
    let front = generation.front.as_ref().filter(|front| front.ready_by.is_some_and(|at| at <= now))?;
    Some(if front.closed { "it closed its control socket" } else { "it did not report ready in time" })
}
