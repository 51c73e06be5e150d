//! The tests. Each starts its own master; sites are `one` (index 0) and, where named, further ones.

use super::server::{Server, alive, is_root, signal, until};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A test and its name.
type Test = (&'static str, fn());

macro_rules! tests {
    ($($name:ident)*) => { pub(crate) const ALL: &[Test] = &[$((stringify!($name), $name)),*]; };
}

tests! {
    serves_and_stops_on_sigterm
    children_have_the_expected_descriptors_and_no_secrets
    a_plan_with_an_engine_that_cannot_be_held_is_refused
    nobody_runs_as_root
    a_site_can_be_started_again
    a_site_that_keeps_crashing_is_throttled
    a_killed_front_comes_back_and_no_connection_is_refused
    a_front_that_crashes_again_and_again_is_throttled
    a_front_that_misbehaves_is_replaced
    a_front_with_a_stuck_thread_gives_way_to_a_new_generation
    a_front_with_a_stuck_thread_ends_also_where_there_is_no_new_generation
    a_front_that_falls_silent_is_replaced
    reload_starts_a_new_generation_and_drains_the_old
    an_open_connection_outlives_a_reload
    a_connection_that_never_ends_is_cut_after_the_drain_timeout
    a_bad_plan_leaves_the_old_generation
    a_generation_that_is_not_ready_is_given_up
    without_a_first_plan_the_master_ends_with_the_planners_status
    a_taken_address_is_named
    master_death_ends_everything
    a_graceful_stop_waits_for_connections
    the_pid_file_comes_and_goes
    the_pid_file_of_a_running_server_is_left_alone
    the_pid_file_is_new_after_a_failed_reload
    sites_of_a_dead_front_end
    a_running_site_goes_on_for_the_next_generation
    a_site_that_is_another_one_now_is_not_handed_over
    a_site_that_has_ended_is_not_handed_over
    a_plan_without_identities_is_refused_under_root
}

fn site(name: &str) -> String {
    format!("site {name} {}\n", if is_root() { "64891" } else { "-" })
}

/// The value of a line `Name: value` of `/proc/*/status`.
fn field(status: &str, name: &str) -> String {
    let prefix = format!("{name}:");
    let line = status.lines().find_map(|line| line.strip_prefix(&prefix)).expect(name);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pid_of(said: &str) -> u32 {
    field(said, "Pid").parse().unwrap()
}

fn serves_and_stops_on_sigterm() {
    let mut server = Server::start(&site("one")).ready();
    server.ask("site 0");
    let children = server.children();
    assert_eq!(children.len(), 2);
    assert!(server.stop().success());
    assert!(children.iter().all(|pid| !alive(*pid)));
    assert!(server.try_ask("pid").is_none());
}

fn children_have_the_expected_descriptors_and_no_secrets() {
    let server = Server::start(&format!("{}\nengine perl", site("one"))).ready();
    // Besides its start: the plan's memory file is closed again; listener, log, the connection.
    let fds = server.ask("fds");
    assert!(fds.starts_with("0 1 2 3 ") && fds.split(' ').count() <= 7, "{fds}");
    let said = server.ask("site 0");
    // The last is the engine, the one before it where later fronts are attached.
    assert_eq!(field(&said, "Fds"), "0 1 2 3 4 5");
    for pid in server.children() {
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        assert!(!environment.contains("SECRET"), "{environment}");
    }
}

fn a_plan_with_an_engine_that_cannot_be_held_is_refused() {
    let server = Server::start(&site("one")).ready();
    for (name, why) in [("../front", "that there can't be"), ("none", "can't open the program ")] {
        server.plan(&format!("{}\nengine {name}", site("one")));
        server.signal("HUP");
        until("it is refused", || server.errors().contains(why));
    }
    assert!(server.errors().contains("generation 1 goes on serving"), "{}", server.errors());
}

fn nobody_runs_as_root() {
    if !is_root() {
        return hostler_untested::not_tested("nobody_runs_as_root", "it changes users, which takes root");
    }
    let server = Server::start(&site("one")).ready();
    for (status, uid) in [(server.ask("status"), 64_890), (server.ask("site 0"), 64_891)] {
        assert_eq!(field(&status, "Uid"), format!("{uid} {uid} {uid} {uid}"));
        assert_eq!(field(&status, "Gid"), format!("{uid} {uid} {uid} {uid}"));
        assert_eq!(field(&status, "Groups"), "");
        assert_eq!(field(&status, "CapPrm"), "0000000000000000");
        assert_eq!(field(&status, "CapEff"), "0000000000000000");
    }
    assert_eq!(field(&server.ask("status"), "NoNewPrivs"), "1");
}

fn a_site_can_be_started_again() {
    let server = Server::start(&site("one")).ready();
    let first = pid_of(&server.ask("site 0"));
    signal(first, "KILL");
    until("the site is reaped", || !alive(first));
    let second = pid_of(&server.ask("site 0"));
    assert_ne!(first, second);
    assert!(server.errors().contains("was ended by signal 9"), "{}", server.errors());
}

fn a_site_that_keeps_crashing_is_throttled() {
    let server = Server::start(&site("crash")).ready();
    until("the site is throttled", || server.ask("site 0") == "errno 11");
    assert!(server.errors().contains("ended with status 3"), "{}", server.errors());
    assert!(server.errors().matches("status 3").count() < 20);
    // The front was not harmed.
    assert!(server.front_pid() > 0);
}

fn a_killed_front_comes_back_and_no_connection_is_refused() {
    let server = Server::start(&site("one")).ready();
    let first = server.front_pid();
    signal(first, "KILL");
    // The socket is the master's: this waits, and is served by the next front.
    let second = server.front_pid();
    assert_ne!(first, second);
    assert!(server.errors().contains("was ended by signal 9"), "{}", server.errors());
}

fn a_front_that_crashes_again_and_again_is_throttled() {
    let server = Server::start("behave crash-after-ready\n");
    until("some fronts have crashed", || server.errors().matches("ended with status 9").count() >= 3);
    // Time: that nothing happens meanwhile is what is tested.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let crashes = server.errors().matches("ended with status 9").count();
    assert!(crashes <= 8, "{crashes} crashes in little more than half a second");
    assert!(alive(server.pid()));
}

fn a_front_that_misbehaves_is_replaced() {
    let server = Server::start(&site("one")).ready();
    for (command, why) in [
        ("malformed", "malformed control message"),
        ("unknown-site", "a site that the plan does not have"),
        ("send-fd", "it sent descriptors"),
        ("stuck 1", "it named a thread that it does not have"),
        ("close", "it closed its control socket"),
    ] {
        let before = server.front_pid();
        server.try_ask(command);
        until("the front is killed", || !alive(before));
        assert_ne!(server.front_pid(), before);
        assert!(server.errors().contains(why), "{why}: {}", server.errors());
    }
}

fn a_front_with_a_stuck_thread_gives_way_to_a_new_generation() {
    let server = Server::start("behave first\n").ready();
    let before = server.front_pid();
    server.plan("behave second\n");
    server.ask("stuck");
    until("a new generation serves", || server.ask("behave") == "second");
    until("the front with the stuck thread has ended", || !alive(before));
    let said = format!("thread {before} of the front of generation 1 (pid {before}) stands still: state ");
    assert!(server.errors().contains(&said), "{}", server.errors());
}

fn a_front_with_a_stuck_thread_ends_also_where_there_is_no_new_generation() {
    let server = Server::start("behave first\n").ready();
    let before = server.front_pid();
    server.plan("exit 1\n");
    server.ask("stuck");
    until("it is killed", || !alive(before));
    assert_eq!(server.ask("behave"), "first", "the same generation has another front");
    assert!(server.errors().contains("is killed: a thread of it stands still"), "{}", server.errors());
}

fn a_front_that_falls_silent_is_replaced() {
    let server = Server::start("behave first\n").ready();
    let before = server.front_pid();
    server.ask("alive");
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(40);
    while alive(before) && std::time::Instant::now() < patience {
        // Time: looks again.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(server.errors().contains("is killed: it has given no sign of life"), "{}", server.errors());
    assert_ne!(server.front_pid(), before);
}

fn reload_starts_a_new_generation_and_drains_the_old() {
    let server = Server::start("behave first\n").ready();
    let before = server.front_pid();
    server.plan("behave second\n");
    server.signal("HUP");
    until("the new plan is served", || server.ask("behave") == "second");
    until("the old front has ended", || !alive(before));
    assert!(server.log().contains("drained"), "{}", server.log());
    server.plan("behave third\n");
    server.signal("USR1");
    until("the third plan is served", || server.ask("behave") == "third");
    let front = fs::read(format!("/proc/{}/cmdline", server.front_pid())).unwrap();
    assert_eq!(front, b"hostler-front:\0generation\x003\0");
}

fn an_open_connection_outlives_a_reload() {
    let server = Server::start("behave first\n").ready();
    let mut held = TcpStream::connect(server.address).unwrap();
    held.write_all(b"hold\n").unwrap();
    let mut said = [0; 5];
    held.read_exact(&mut said).unwrap();
    server.plan("behave second\n");
    server.signal("HUP");
    until("the new generation serves", || server.errors().contains("generation 2 serves"));
    assert_eq!(server.ask("behave"), "second");
    held.write_all(b"12345").unwrap();
    held.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "5 bytes");
}

fn a_connection_that_never_ends_is_cut_after_the_drain_timeout() {
    let server = Server::start("behave first\ndrain-timeout 1\n").ready();
    let before = server.front_pid();
    let mut held = TcpStream::connect(server.address).unwrap();
    held.write_all(b"hold\n").unwrap();
    held.read_exact(&mut [0; 5]).unwrap();
    server.plan("behave second\n");
    server.signal("HUP");
    until("the new generation serves", || server.errors().contains("generation 2 serves"));
    assert!(alive(before));
    until("the old front is killed", || !alive(before));
    assert_eq!(server.ask("behave"), "second");
}

fn a_bad_plan_leaves_the_old_generation() {
    let server = Server::start(&site("one")).ready();
    let front = server.front_pid();
    for (plan, why) in [
        ("exit 1\n", "there is no plan: the planner"),
        ("refuse listen:1\n", "the configuration has errors (above)"),
        ("garbage\n", "no plan"),
        ("listen 203.0.113.77:1\n", "can't listen on 203.0.113.77:1"),
    ] {
        server.plan(plan);
        server.signal("HUP");
        until(why, || server.errors().contains(why));
        until("the old one goes on", || server.errors().contains("generation 1 goes on serving"));
        assert_eq!(server.front_pid(), front);
    }
}

fn a_generation_that_is_not_ready_is_given_up() {
    let server = Server::start(&site("one")).ready();
    let front = server.front_pid();
    for (plan, why) in
        [("behave hang\ntimeout 200\n", "did not report ready in time"), ("behave crash\n", "status 9")]
    {
        server.plan(plan);
        server.signal("HUP");
        until(why, || server.errors().contains(why));
        until("only the old front is left", || server.children() == [front]);
        assert_eq!(server.front_pid(), front);
    }
    server.plan("behave good\n");
    server.signal("HUP");
    until("a good plan is served after bad ones", || server.ask("behave") == "good");
}

fn without_a_first_plan_the_master_ends_with_the_planners_status() {
    for (plan, status) in [("exit 1\n", 1), ("exit 2\n", 2), ("behave crash\n", 1)] {
        let mut server = Server::start(plan);
        assert_eq!(server.wait().code(), Some(status), "{plan}");
        assert!(server.errors().contains("fatal"), "{}", server.errors());
    }
}

fn a_taken_address_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut server = Server::start(&format!("listen {address}\n"));
    assert_eq!(server.wait().code(), Some(1));
    assert!(server.errors().contains(&format!("can't listen on {address}")), "{}", server.errors());
}

fn master_death_ends_everything() {
    let mut server = Server::start(&format!("{}{}", site("one"), site("stubborn"))).ready();
    let mut all = server.children();
    all.push(pid_of(&server.ask("site 0")));
    all.push(pid_of(&server.ask("site 1")));
    server.signal("KILL");
    server.wait();
    until("all children are gone", || all.iter().all(|pid| !alive(*pid)));
}

fn a_graceful_stop_waits_for_connections() {
    let mut server = Server::start(&site("one")).ready();
    server.ask("site 0");
    let mut held = TcpStream::connect(server.address).unwrap();
    held.write_all(b"hold\n").unwrap();
    held.read_exact(&mut [0; 5]).unwrap();
    server.signal("WINCH");
    // Time: that it does not end meanwhile is what is tested.
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(alive(server.pid()));
    held.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "0 bytes");
    assert!(server.wait().success());
}

fn the_pid_file_comes_and_goes() {
    let mut server = Server::start("pid-file $DIR/pid\n").ready();
    let path = server.directory.join("pid");
    until("the file is there", || path.exists());
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", server.pid()));
    server.plan("pid-file $DIR/other-pid\n");
    server.signal("HUP");
    until("the new file is there", || server.directory.join("other-pid").exists());
    until("the old file is gone", || !path.exists());
    assert!(server.stop().success());
    assert!(!server.directory.join("other-pid").exists());

    let mut server = Server::start("pid-file $DIR/no/such/directory/pid\n");
    assert_eq!(server.wait().code(), Some(1));
    assert!(server.errors().contains("can't write PidFile"), "{}", server.errors());
}

fn the_pid_file_of_a_running_server_is_left_alone() {
    let mut first = Server::start("pid-file $DIR/pid\n").ready();
    let path = first.directory.join("pid");
    until("the file is there", || path.exists());
    let told = format!("already running (pid {})", first.pid());
    let lines = format!("pid-file {}\n", path.display());

    let mut second = Server::start(&lines);
    assert_eq!(second.wait().code(), Some(1));
    assert!(second.errors().contains(&told), "{}", second.errors());

    let mut third = Server::start("").ready();
    third.plan(&lines);
    third.signal("HUP");
    until("the reload is refused", || third.errors().contains(&told));
    assert!(third.errors().contains("generation 1 goes on serving"), "{}", third.errors());
    assert!(third.stop().success());

    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", first.pid()));
    assert!(first.stop().success() && !path.exists());
}

fn the_pid_file_is_new_after_a_failed_reload() {
    let server = Server::start("pid-file $DIR/pid\n").ready();
    let modified = || fs::metadata(server.directory.join("pid")).and_then(|m| m.modified()).ok();
    until("the file is there", || modified().is_some());
    let before = modified();
    server.plan("exit 1\n");
    server.signal("HUP");
    until("the file is written anew", || modified() != before);
    assert_eq!(server.children(), [server.front_pid()]);
}

fn sites_of_a_dead_front_end() {
    let server = Server::start(&site("one")).ready();
    let site = pid_of(&server.ask("site 0"));
    signal(server.front_pid(), "KILL");
    until("the site has ended", || !alive(site));
    assert!(!server.errors().contains("site process"), "{}", server.errors());
}

fn next_generation(server: &Server, number: u32, plan: &str) {
    server.plan(plan);
    server.signal("HUP");
    until("the next generation serves", || server.errors().contains(&format!("generation {number} serves")));
    until("the old front has ended", || server.try_ask("behave").is_some_and(|word| plan.contains(&word)));
}

fn a_running_site_goes_on_for_the_next_generation() {
    let plan = format!("{}{}behave first\n", site("one"), site("two"));
    let server = Server::start(&plan).ready();
    let first = pid_of(&server.ask("site 1"));
    // In another place of the plan it is the same site.
    next_generation(&server, 2, &format!("{}{}behave second\n", site("two"), site("three")));
    assert_eq!(pid_of(&server.ask("known 0")), first);
    assert_eq!(server.ask("known 1"), "none", "one that did not run is not started");
    until("the old front has ended", || server.children().len() == 2);
    assert!(alive(first));
    // Where it is asked for it is there already, but no front gets one process twice.
    let second = pid_of(&server.ask("site 0"));
    assert_ne!(first, second);
    // The newest is the one in use.
    next_generation(&server, 3, &format!("{}behave third\n", site("two")));
    assert_eq!(pid_of(&server.ask("known 0")), second);
    until("what nobody uses has ended", || !alive(first));
    let before = server.front_pid();
    signal(before, "KILL");
    until("it ends with its last front", || !alive(second));
    assert!(!server.errors().contains("site process"), "{}", server.errors());
}

fn a_site_that_is_another_one_now_is_not_handed_over() {
    let server = Server::start(&format!("{}behave first\n", site("one"))).ready();
    let first = pid_of(&server.ask("site 0"));
    next_generation(&server, 2, &format!("{}behave second\n", site("another")));
    assert_eq!(server.ask("known 0"), "none");
    assert_ne!(pid_of(&server.ask("site 0")), first);
    if is_root() {
        next_generation(&server, 3, "site another 64892\nbehave third\n");
        assert_eq!(server.ask("known 0"), "none");
        assert_eq!(field(&server.ask("site 0"), "Uid"), "64892 64892 64892 64892");
    }
    until("it ends with its last front", || !alive(first));
}

fn a_site_that_has_ended_is_not_handed_over() {
    let server = Server::start(&format!("{}behave first\n", site("one"))).ready();
    let first = pid_of(&server.ask("site 0"));
    signal(first, "KILL");
    until("the site is reaped", || !alive(first));
    let second = pid_of(&server.ask("site 0"));
    next_generation(&server, 2, &format!("{}behave second\n", site("one")));
    assert_eq!(pid_of(&server.ask("known 0")), second);
}

fn a_plan_without_identities_is_refused_under_root() {
    if !is_root() {
        return hostler_untested::not_tested(
            "a_plan_without_identities_is_refused_under_root",
            "it changes users, which takes root",
        );
    }
    let mut server = Server::start("site one -\n");
    assert_eq!(server.wait().code(), Some(1));
    assert!(server.errors().contains("would run as root"), "{}", server.errors());
}
