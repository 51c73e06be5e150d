//! Start-up: take the plan and the sockets from the master, build the configuration, start the threads, report
//! ready, and stay until drained.

use crate::hook::{self, plan};
use crate::io::descriptors::Descriptors;
use crate::limits::clients::{Clients, RefusalLog, Traffic};
use crate::limits::kept::BufferedBytes;
use crate::log::{Logs, Quota};
use crate::module::status::report;
use crate::modules;
use crate::process::listen::{self, Balance, Listening, Room};
use crate::process::stop::{self, Stop};
use crate::process::watchdog;
use crate::request::counters::Counters;
use crate::request::thread::{SharedState, Thread};
use crate::site::hub::{self, Hub};
use crate::site::sites::Sites;
use crate::technique::pools::Engines;
use crate::technique::sockets::Sockets;
use crate::technique::upstreams::Upstreams;
use crate::technique::warm::{self, Warming};
use crate::values::extensions::SharedExtensions;
use hostler_config::directives::pool::programs_in_all;
use hostler_config::technique;
use hostler_config::{Config, Tree};
use hostler_gateway::supervisor::exec::Programs;
use hostler_sys::fdpass::Wait;
use hostler_sys::signal::Signals;
use hostler_wire::build::OtherBuild;
use hostler_wire::control::FromMaster;
use hostler_wire::plan::FrontPlan;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// The messages of the master before `Go`.
struct Inheritance {
    plan: FrontPlan,
    listeners: Vec<TcpListener>,
    logs: Vec<OwnedFd>,
    /// The processes of sites that run already.
    sites: Vec<hub::Message>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the master sent {what}"))
}

fn receive(control: &OwnedFd) -> io::Result<Inheritance> {
    let next = || {
        let message = hub::receive_message(control.as_fd(), Wait::Yes)?;
        message.ok_or_else(|| bad("nothing and is gone"))
    };
    check_build(next().ok().map(|(message, _)| message))?;
    let (mut plan, mut listeners, mut logs, mut sites) = (None, Vec::new(), Vec::new(), Vec::new());
    loop {
        let (message, fds) = next()?;
        match message {
            FromMaster::Plan { bytes } => {
                let memfd = fds.into_iter().next().ok_or_else(|| bad("a plan without its descriptor"))?;
                let encoded = hostler_sys::memfd::read(&memfd, bytes)?;
                plan = Some(postcard::from_bytes(&encoded).map_err(|_| bad("a plan of another release"))?);
            }
            FromMaster::Listeners { .. } => listeners.extend(fds.into_iter().map(TcpListener::from)),
            FromMaster::Logs { .. } => logs.extend(fds),
            FromMaster::Go => {
                let plan = plan.ok_or_else(|| bad("no plan"))?;
                return Ok(Inheritance { plan, listeners, logs, sites });
            }
            FromMaster::Site { .. } => sites.push((message, fds)),
            FromMaster::Stop | FromMaster::Drain => return Err(bad("Drain before Go")),
            FromMaster::Build(_) | FromMaster::SiteFailed(..) | FromMaster::Status { .. } => {}
        }
    }
}

/// The master's first message has to be its build, and that to be ours.
fn check_build(first: Option<FromMaster>) -> io::Result<()> {
    let (master, own) = ("hostler-master", "hostler-front");
    match first {
        Some(FromMaster::Build(build)) => build.check(master, own),
        _ => Err(OtherBuild::new(master, None, own)),
    }
    .map_err(io::Error::other)
}

/// Blocks from this size on are the kernel's again when they are freed: what is made for a request of a tenant's is large only where
/// the tenant wants it so.
const LARGE: i32 = 1 << 20;
/// The freed memory that a thread may keep: enough for some requests. (The default, 128 KiB, is about the size of some
/// requests, so that pages were returned and fetched again.)
const KEPT: i32 = 1 << 20;

/// Runs the front until it has drained or the master is gone.
pub(crate) fn run() -> io::Result<()> {
    hostler_sys::memory::map_large_blocks(LARGE);
    hostler_sys::memory::keep_freed(KEPT);
    plan::install(&modules::MODULES).map_err(io::Error::other)?;
    hostler_techniques::install().map_err(io::Error::other)?;
    let signals = stop::signals()?;
    let control = hostler_sys::fdpass::inherited(3)?;
    let Inheritance { plan, listeners, logs, sites: known } = receive(&control)?;
    for (engine, noted) in &plan.versions {
        let found = technique::engines().iter().find(|row| row.name == engine);
        if let Some(versions) = found.and_then(|engine| engine.versions) {
            (versions.recall)(noted);
        }
    }
    let Beginnings { shared, orders, asks, drain } = begin(plan, logs, listeners.len())?;
    if let Err(why) = crate::process::confine::confine() {
        eprintln!("hostler-front: warning: the front runs without a filter of system calls: {why}");
    }
    watchdog::start(&shared, control.try_clone()?)?;
    run_threads(&shared, listeners, orders, (control, known, asks, drain, signals))
}

/// State created before the threads.
pub(crate) struct Beginnings {
    pub(crate) shared: Arc<SharedState>,
    /// The pools to warm, by thread.
    orders: Vec<warm::Orders>,
    /// The sites' requests to the master.
    asks: hub::Asks,
    /// Sends word to threads that they are to finish.
    drain: watch::Sender<bool>,
}

/// Builds what all threads share; `listeners`: how many sockets each of them listens at.
pub(crate) fn begin(plan: FrontPlan, logs: Vec<OwnedFd>, listeners: usize) -> io::Result<Beginnings> {
    let tree = Tree::decode(&plan.config).map_err(|_| bad("a configuration of another release"))?;
    let config = Config::build(&tree).map_err(|errors| {
        io::Error::other(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })?;
    let sites = Sites::checked(plan.sites, config.servers.len(), plan.site_names.len());
    let sites =
        sites.ok_or_else(|| bad("a plan that gives virtual hosts to sites which it does not name"))?;
    let descriptors = Arc::new(Descriptors::new(raise_descriptor_limit()));
    let (hub, asks) = Hub::new(&plan.site_limits, plan.site_idle_secs, descriptors.clone());
    let (drain, draining) = watch::channel(false);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (warming, orders) = Warming::new(threads);
    let extensions = SharedExtensions::default()
        .with(Engines::new(&config, &sites, threads))
        .with(Sockets::new(threads, plan.site_names.len(), &descriptors))
        .with(Upstreams::new(&config, &plan.backends))
        .with(Room::new(descriptors.clone()))
        .with(Listening::new(listeners.min(config.process.listen.len()) * threads))
        .with(crate::tls::Hosts::new(&config, &plan.secrets)?)
        .with(crate::tls::backends::Backends::new(&config, &plan.secrets)?)
        .with(Stop::new())
        .with(watchdog::Pulses::new(threads))
        .with(crate::limits::unread::AllUnread::new(plan.site_names.len()))
        .with(warming);
    let shared = Arc::new(SharedState {
        counters: (0..threads).map(|_| Counters::new(plan.site_names.len())).collect(),
        logs: Logs::new(&config, &plan.logs, logs),
        program_lines: Quota::new(plan.site_names.len()),
        programs: Programs::new(programs_in_all(&config) as usize, plan.site_names.len()),
        clients: Clients::new(&config, descriptors.connections()),
        kept: BufferedBytes::new(plan.site_names.len()),
        traffic: Traffic::new(&config, plan.site_names.len(), descriptors.connections()),
        told: RefusalLog::default(),
        told_connections: RefusalLog::default(),
        config: Arc::new(config),
        hub,
        sites,
        site_names: plan.site_names,
        started: Instant::now(),
        draining: AtomicBool::new(false),
        stopping: Arc::default(),
        ending: AtomicBool::new(false),
        drain: draining,
        connections: AtomicUsize::new(0),
        next_connection: AtomicU32::new(1),
        walk: hook::walk::LOOK_UPS,
        pid: std::process::id(),
        generation: AtomicU32::new(0),
        extensions,
    });
    Ok(Beginnings { shared, orders, asks, drain })
}

/// Runs all threads until they end; the first speaks with the master.
fn run_threads(
    shared: &Arc<SharedState>,
    listeners: Vec<TcpListener>,
    orders: Vec<warm::Orders>,
    controls: Control,
) -> io::Result<()> {
    let (senders, receivers): (Vec<_>, Vec<_>) = orders.iter().map(|_| mpsc::unbounded_channel()).unzip();
    let loads = orders.iter().map(|_| AtomicUsize::new(0)).collect();
    let balance = Arc::new(Balance { loads, senders });
    let mut controls = Some(controls);
    let mut joins = Vec::new();
    for (index, receiver) in receivers.into_iter().zip(orders).enumerate() {
        let listeners = duplicate(&listeners)?;
        let (shared, balance, controls) = (shared.clone(), balance.clone(), controls.take());
        joins.push(
            std::thread::Builder::new()
                .name(format!("front-{index}"))
                .stack_size(STACK)
                .spawn(move || run_thread(shared, index as u32, listeners, receiver, balance, controls))?,
        );
    }
    // Those of the threads are closed when the front drains.
    drop(listeners);
    joins
        .into_iter()
        .try_for_each(|join| join.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed"))))
}

/// Bytes of stack of each thread. Redirects, error pages and includes within each other are as deep as LimitInternalRecursion
/// lets them be, each a request with all its phases on the stack (in a debug build 100 KiB and more). What is not used costs
/// nothing, and how much the system gives the first thread is the operator's shell's to say.
const STACK: usize = 16 << 20;

fn duplicate(listeners: &[TcpListener]) -> io::Result<Vec<TcpListener>> {
    listeners.iter().map(TcpListener::try_clone).collect()
}

/// As many descriptors as the hard limit permits: connections, files and pipes need them. Returns how many that is.
fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Events that a thread takes from the kernel at once. What they wake stands in one queue with what workers have said:
/// with all events of a thousand clients in that, each answer of a worker, and its next request, would wait behind
/// them. Fewer than the tasks that tokio runs (61) before it looks again, so that the queue does not grow.
const EVENTS: usize = 32;

type Control = (OwnedFd, Vec<hub::Message>, hub::Asks, watch::Sender<bool>, Signals);
/// A thread's receivers of messages from other threads.
type Receivers = (mpsc::UnboundedReceiver<listen::NewConnection>, warm::Orders);

fn run_thread(
    shared: Arc<SharedState>,
    index: u32,
    listeners: Vec<TcpListener>,
    (accepted, orders): Receivers,
    balance: Arc<Balance>,
    controls: Option<Control>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_io_events_per_tick(EVENTS)
        .on_thread_park(hostler_gateway::backend::ring::before_park)
        .build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let thread = Thread::new(shared.clone(), index);
        crate::limits::budget::start();
        tokio::task::spawn_local(crate::limits::budget::hand_out(thread.clone()));
        listen::start_thread_tasks(&thread);
        tokio::task::spawn_local(listen::receive(thread.clone(), accepted));
        tokio::task::spawn_local(warm::obey(thread.clone(), orders));
        for (listener, listen) in listeners.into_iter().zip(&shared.config.process.listen) {
            listener.set_nonblocking(true)?;
            let https = listen.protocol == "https";
            tokio::task::spawn_local(listen::accept(thread.clone(), listener, https, balance.clone()));
        }
        let mut drain = shared.drain.clone();
        tokio::task::spawn_local(stop::write_out(thread.clone()));
        if let Some((control, sites, asks, drain, signals)) = controls {
            let running = hub::sites_of(&sites);
            let seconds = {
                let shared = shared.clone();
                move || shared.seconds()
            };
            let hub = shared.hub.clone();
            let stopping = shared.stopping.clone();
            let told = {
                let shared = shared.clone();
                move |told| drop(tokio::task::spawn_local(report::answer_all(shared.clone(), told)))
            };
            let reopened = {
                let shared = shared.clone();
                move |index, files| shared.logs.replace(index, files)
            };
            let master =
                hub::control(control, sites, asks, hub, (drain, stopping), seconds, (told, reopened));
            let master = tokio::task::spawn_local(master);
            tokio::task::spawn_local(warm::up(thread.clone(), running));
            crate::module::proxy::checks::begin(&thread);
            crate::tls::stapling::begin(&thread);
            crate::process::started::log(&thread);
            tokio::task::spawn_local(stop::wait(thread.clone(), signals, master, balance.loads.len()));
        }
        let _ = drain.wait_for(|d| *d).await;
        shared.draining.store(true, Ordering::Relaxed);
        // Not only our own: another thread's requests may be with workers that this one looks after.
        let is_busy = || balance.loads.iter().any(|load| load.load(Ordering::Relaxed) > 0);
        while is_busy() || !shared.of::<Listening>().is_released() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        shared.of::<Engines>().close();
        shared.of::<Sockets>().close();
        crate::log::access_log::flush_all(&thread);
        Ok(())
    })
}
