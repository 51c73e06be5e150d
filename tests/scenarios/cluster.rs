//! Programs on several machines, as `examples/cluster` has them: here each machine is an address of the loopback network.

use hostler_tests::{Server, Site, await_that, is_root, needs_program};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/cluster")
}

/// A program, ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free(address: &str) -> String {
    let listener = TcpListener::bind((address, 0)).expect("a port");
    listener.local_addr().expect("its address").to_string()
}

fn listens(address: &str) {
    await_that(&format!("somebody listens at {address}"), || TcpStream::connect(address).is_ok());
}

/// Debian's package of tools has the server, which is another name of the same program.
fn valkey(site: &Site) -> (Running, String) {
    let address = free("127.0.0.1");
    let port = address.rsplit(':').next().unwrap_or_default();
    let mut command = Command::new("/usr/bin/redis-check-rdb");
    command.arg0("redis-server").args(["--bind", "127.0.0.1", "--port", port, "--save", "", "--dir"]);
    command.arg(site.root()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().expect("Valkey starts"));
    listens(&address);
    (running, address)
}

fn worker(address: &str, sessions: &str) -> Running {
    let mut command = Command::new(example().join("counter.pl"));
    command.arg(address).env("SESSIONS", sessions).stdin(Stdio::null());
    let running = Running(command.spawn().expect("the program starts"));
    listens(address);
    running
}

struct Cluster {
    server: Server,
    workers: Vec<Option<Running>>,
    _valkey: Running,
}

fn cluster() -> Cluster {
    let site = Site::new().plain();
    let (valkey, sessions) = valkey(&site);
    let addresses: Vec<String> = (2..5).map(|machine| free(&format!("127.0.0.{machine}"))).collect();
    let workers = addresses.iter().map(|address| Some(worker(address, &sessions))).collect();
    let config = std::fs::read_to_string(example().join("httpd.conf")).expect("the configuration");
    let mut site = site.config(&config.replace("${CLUSTER}/error.log", "${CLUSTER}/logs/error.log"));
    site = site.environment("CLUSTER", "@ROOT@").environment("LISTEN", "127.0.0.1:@PORT@");
    for (number, address) in addresses.iter().enumerate() {
        site = site.environment(&format!("WORKER{}", number + 1), address);
    }
    let site = if is_root() { site } else { site.argument("--single-user") };
    Cluster { server: site.start(), workers, _valkey: valkey }
}

macro_rules! needs_cluster {
    () => {
        needs_program!("/usr/bin/redis-check-rdb");
        needs_program!("/usr/bin/perl");
        if !Command::new("/usr/bin/perl")
            .args(["-MFCGI", "-e1"])
            .status()
            .is_ok_and(|status| status.success())
        {
            return hostler_tests::untested("it takes FCGI.pm (libfcgi-perl)");
        }
    };
}

#[test]
fn a_session_goes_on_whichever_machine_answers() {
    needs_cluster!();
    let cluster = cluster();
    let first = cluster.server.get("/counter");
    assert_eq!(first.status, 200, "{}", cluster.server.error_log());
    let cookie =
        first.field("Set-Cookie").expect("a session").split(';').next().expect("its cookie").to_owned();
    let mut machines = std::collections::BTreeSet::new();
    for count in 2..12 {
        let answer = cluster.server.get_with("/counter", &format!("Host: a\r\nCookie: {cookie}\r\n"));
        let text = answer.text();
        assert!(text.starts_with(&format!("You have come {count} times.")), "{text}");
        machines.insert(text.rsplit(" at ").next().map(str::to_owned));
    }
    assert_eq!(machines.len(), 3, "{machines:?}");
}

#[test]
fn a_machine_that_goes_takes_only_the_request_that_had_begun_there() {
    needs_cluster!();
    let mut cluster = cluster();
    let (asked, lost, over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !over.load(SeqCst) {
                    let answer = cluster.server.get("/counter");
                    asked.fetch_add(1, SeqCst);
                    lost.fetch_add(u32::from(answer.status != 200), SeqCst);
                }
            });
        }
        let reach = |count: u32| {
            await_that("so many requests", || asked.load(SeqCst) >= count);
        };
        reach(60);
        // A program serves one request at a time.
        drop(cluster.workers[1].take());
        reach(asked.load(SeqCst) + 120);
        over.store(true, SeqCst);
    });
    let log = cluster.server.error_log();
    assert!(lost.load(SeqCst) <= 1, "{} of {}\n{log}", lost.load(SeqCst), asked.load(SeqCst));
    assert!(asked.load(SeqCst) >= 180, "{}", asked.load(SeqCst));
}

#[test]
fn manifests_fit_together() {
    needs_program!("/usr/bin/kubectl");
    let folder = example().join("kubernetes");
    let built =
        Command::new("/usr/bin/kubectl").arg("kustomize").arg(&folder).output().expect("kubectl runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let text = String::from_utf8_lossy(&built.stdout);
    for part in
        ["kind: ConfigMap", "clusterIP: None", "name: counter", "valkey/valkey", "fcgi://counter:9000"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
