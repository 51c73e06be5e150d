//! Plans against a server that behaves as told. Times are only compared where they differ by orders of magnitude.

use super::synthetic::{Behaviour, BodyEnd, Server};
use super::{Cancel, Outcome, Phase, Plan, Protocol, Stop, Target, Think, run};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn target(address: SocketAddr) -> Target {
    Target {
        address,
        host: "localhost".to_owned(),
        hosts: Vec::new(),
        path: "/".to_owned(),
        form: None,
        expected_length: Some(5),
        tls: false,
    }
}

fn plan(phases: Vec<Phase>) -> Plan {
    Plan {
        phases,
        keep_alive: true,
        protocol: Protocol::Http1,
        warm_up: 0.0,
        timeout: 5.0,
        stop: None,
        seed: 1,
        keep_requests: true,
    }
}

fn requests(clients: u32, requests: u64) -> Phase {
    let think = Think::None;
    Phase::Closed { clients, to_clients: None, join: None, seconds: None, requests: Some(requests), think }
}

fn seconds(clients: u32, seconds: f64, think: Think) -> Phase {
    Phase::Closed { clients, to_clients: None, join: None, seconds: Some(seconds), requests: None, think }
}

fn open(rate: f64, to_rate: Option<f64>, seconds: f64) -> Phase {
    Phase::Open { rate, to_rate, seconds }
}

fn load(server: &Server, plan: &Plan) -> Outcome {
    run(&target(server.address), plan, &Cancel::default(), &mut |_, _| {}).unwrap()
}

fn server(behaviour: Behaviour) -> Server {
    Server::start(behaviour).unwrap()
}

#[test]
fn a_number_of_requests_is_exact() {
    let server = server(Behaviour::default());
    let outcome = load(&server, &plan(vec![requests(7, 1000), requests(3, 10)]));
    let counts: Vec<u64> = outcome.phases.iter().map(|phase| phase.answers).collect();
    assert_eq!((counts, server.answers()), (vec![1000, 10], 1010));
    assert_eq!(outcome.phases[0].latency.len(), 1000);
    assert_eq!(outcome.phases[0].bytes, 5000);
    assert_eq!((outcome.requests.len(), server.connections()), (1010, 7));
    assert_eq!(outcome.seconds.iter().map(|second| second.answers).sum::<u64>(), 1010);
    assert!(outcome.requests[..1000].iter().all(|request| request.client < 7 && request.phase == 0));
    assert!(outcome.generator_seconds > 0.0 && outcome.generator_share() <= 1.01);
}

#[test]
fn one_shot_clients_connect_each_time() {
    let server = server(Behaviour::default());
    let mut plan = plan(vec![requests(5, 200)]);
    plan.keep_alive = false;
    let outcome = load(&server, &plan);
    assert_eq!((outcome.answers(), outcome.phases[0].connections, server.connections()), (200, 200, 200));
    assert_eq!(outcome.phases[0].errors.sum(), 0);
}

#[test]
fn bodies_end_in_each_way() {
    for end in [BodyEnd::Length, BodyEnd::Chunks, BodyEnd::Close] {
        let server = server(Behaviour { end, length: 700_000, ..Behaviour::default() });
        let mut target = target(server.address);
        target.expected_length = Some(700_000);
        let outcome = run(&target, &plan(vec![requests(2, 20)]), &Cancel::default(), &mut |_, _| {}).unwrap();
        let phase = &outcome.phases[0];
        assert_eq!((phase.answers, phase.bytes, phase.errors.sum()), (20, 14_000_000, 0), "{end:?}");
    }
}

#[test]
fn forms_are_posted() {
    let server = server(Behaviour { status: 303, ..Behaviour::default() });
    let mut target = target(server.address);
    target.form = Some("name=a&comments=b".to_owned());
    let outcome = run(&target, &plan(vec![requests(2, 20)]), &Cancel::default(), &mut |_, _| {}).unwrap();
    assert_eq!((outcome.answers(), server.answers(), server.connections()), (20, 20, 2));
}

#[test]
fn a_kept_connection_may_be_closed_between_requests() {
    let server = server(Behaviour { close_after: Some(3), ..Behaviour::default() });
    let outcome = load(&server, &plan(vec![requests(2, 100)]));
    let phase = &outcome.phases[0];
    assert_eq!((phase.answers, phase.errors.sum()), (100, 0));
    assert!(phase.connections >= 33, "{}", phase.connections);
}

#[test]
fn failures_are_counted_by_kind() {
    let count = |behaviour| {
        let server = server(behaviour);
        let outcome = load(&server, &plan(vec![requests(2, 8)]));
        assert_eq!(outcome.answers() + outcome.phases[0].errors.sum(), 8);
        outcome.phases[0].errors
    };
    assert_eq!(count(Behaviour { status: 503, ..Behaviour::default() }).status_5xx, 8);
    assert_eq!(count(Behaviour { status: 404, ..Behaviour::default() }).status_4xx, 8);
    assert_eq!(count(Behaviour { status: 302, ..Behaviour::default() }).wrong, 8);
    assert_eq!(count(Behaviour { length: 4, ..Behaviour::default() }).wrong, 8);
    assert_eq!(count(Behaviour { end: BodyEnd::Broken, ..Behaviour::default() }).broken, 8);
    assert_eq!(count(Behaviour { break_after: Some(3), ..Behaviour::default() }).broken, 5);
}

#[test]
fn no_answer_in_time_is_a_failure() {
    let server = server(Behaviour { delay: Duration::from_secs(3), ..Behaviour::default() });
    let mut plan = plan(vec![requests(2, 2), open(10.0, None, 0.2)]);
    plan.timeout = 0.2;
    let outcome = load(&server, &plan);
    assert_eq!((outcome.phases[0].errors.timeout, outcome.phases[1].errors.timeout), (2, 2));
}

#[test]
fn a_dead_server_does_not_make_the_loop_spin() {
    let address = {
        let server = server(Behaviour::default());
        server.address
    };
    let outcome =
        run(&target(address), &plan(vec![seconds(4, 0.5, Think::None)]), &Cancel::default(), &mut |_, _| {})
            .unwrap();
    let connect = outcome.phases[0].errors.connect;
    assert!(outcome.answers() == 0 && (4..400).contains(&connect), "{connect}");
}

#[test]
fn a_stall_is_charged_to_all_that_it_kept_waiting() {
    let stall = Some((100, Duration::from_secs(1)));
    let server = server(Behaviour { stall, ..Behaviour::default() });
    let outcome = load(&server, &plan(vec![open(200.0, None, 2.0)]));
    let phase = &outcome.phases[0];
    assert_eq!((phase.answers, phase.errors.sum()), (400, 0));
    // Some 200 requests were to be sent in the stall, so that a quarter of all waited over half of it.
    let late = outcome.requests.iter().filter(|request| request.took > 0.45).count();
    assert!((60..=200).contains(&late), "{late}");
    assert!(phase.latency.value_at_quantile(0.99) > 500_000);
    // A loop that waits for its answers sends one such request for each client.
    let again = self::server(Behaviour { stall, ..Behaviour::default() });
    let outcome = load(&again, &plan(vec![seconds(1, 2.0, Think::Fixed { seconds: 0.005 })]));
    assert_eq!(outcome.requests.iter().filter(|request| request.took > 0.45).count(), 1);
}

#[test]
fn pauses_repeat_with_the_seed() {
    let server = server(Behaviour::default());
    let think = Think::Uniform { from: 0.01, to: 0.4 };
    let begins = |seed| {
        let mut plan = plan(vec![seconds(3, 1.0, think.clone())]);
        plan.seed = seed;
        let outcome = load(&server, &plan);
        // The second of each client: its begin is its first pause.
        let mut first = [None; 3];
        for request in outcome.requests.iter().filter(|request| request.at > 0.009) {
            first[request.client as usize].get_or_insert(request.at);
        }
        first.map(Option::unwrap)
    };
    let (one, two, other) = (begins(5), begins(5), begins(6));
    let differ = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).any(|(a, b)| (a - b).abs() > 0.05);
    assert!(!differ(one, two), "{one:?} {two:?}");
    assert!(differ(one, other), "{one:?} {other:?}");
}

#[test]
fn clients_join_and_rates_rise() {
    let server = server(Behaviour::default());
    let joining = Phase::Closed {
        clients: 1,
        to_clients: Some(5),
        join: None,
        seconds: Some(1.0),
        requests: None,
        think: Think::Fixed { seconds: 0.01 },
    };
    let outcome = load(&server, &plan(vec![joining, open(0.0, Some(200.0), 1.0)]));
    assert_eq!((outcome.phases[0].clients, outcome.phases[0].connections), (5, 5));
    let joined = |client| outcome.requests.iter().find(|request| request.client == client).unwrap().at;
    assert!((0.75..0.99).contains(&joined(4)), "{}", joined(4));
    assert!((0.19..0.5).contains(&joined(1)), "{}", joined(1));
    assert_eq!(outcome.phases[1].answers, 100);
    assert!((190.0..=200.0).contains(&outcome.phases[1].rate), "{}", outcome.phases[1].rate);
}

#[test]
fn limits_end_a_plan_and_say_where() {
    let stall = Some((20, Duration::from_secs(2)));
    let server = server(Behaviour { stall, ..Behaviour::default() });
    let mut plan = plan(vec![seconds(3, 5.0, Think::Fixed { seconds: 0.01 })]);
    plan.stop = Some(Stop::Answer { seconds: 0.5 });
    let outcome = load(&server, &plan);
    assert_eq!(outcome.stopped.as_deref(), Some("an answer took more than 0.5 s with 3 clients"));
    assert!(outcome.elapsed < 2.0 && outcome.phases[0].unanswered > 0);

    let failing = self::server(Behaviour { status: 500, ..Behaviour::default() });
    plan.stop = Some(Stop::Error);
    let outcome = load(&failing, &plan);
    assert_eq!(outcome.stopped.as_deref(), Some("an answer had status 500 with 3 clients"));

    // Who is refused at once is not served either.
    plan.stop = Some(Stop::Answer { seconds: 0.5 });
    assert_eq!(load(&failing, &plan).stopped.as_deref(), Some("an answer had status 500 with 3 clients"));

    let slow = self::server(Behaviour { delay: Duration::from_millis(20), ..Behaviour::default() });
    plan.stop = Some(Stop::P99 { seconds: 0.005 });
    plan.phases = vec![open(50.0, None, 9.0)];
    let outcome = load(&slow, &plan);
    let stopped = outcome.stopped.unwrap();
    assert!(stopped.starts_with("the 99th percentile of a second was 0.0"), "{stopped}");
    assert!(stopped.ends_with("at 50.0 requests a second") && outcome.elapsed < 4.0, "{stopped}");
}

#[test]
fn warm_up_does_not_count_and_keeps_its_connections() {
    let server = server(Behaviour::default());
    let mut plan = plan(vec![requests(2, 50)]);
    plan.warm_up = 0.1;
    let outcome = load(&server, &plan);
    assert_eq!((outcome.answers(), outcome.requests.len(), server.connections()), (50, 50, 2));
    assert!(server.answers() > 50);
    assert!(outcome.requests.iter().all(|request| request.at >= 0.0 && request.at < 0.1 + outcome.elapsed));
}

#[test]
fn a_plan_can_be_broken_off() {
    let server = server(Behaviour::default());
    let cancel: Cancel = Arc::new(AtomicBool::new(false));
    let plan = plan(vec![seconds(2, 60.0, Think::None)]);
    let mut told = Vec::new();
    let outcome = run(&target(server.address), &plan, &cancel, &mut |done, all| {
        told.push((done, all));
        cancel.store(done > 0.25, Ordering::Relaxed);
    })
    .unwrap();
    assert!(outcome.answers() > 0 && outcome.elapsed < 10.0 && outcome.phases[0].elapsed < 10.0);
    assert!(told.len() >= 3 && told.iter().all(|(_, all)| *all == Some(60.0)));
}

#[test]
fn virtual_hosts_are_asked_in_turn() {
    let server = server(Behaviour::default());
    let mut target = target(server.address);
    target.hosts = ["a.example", "b.example"].map(str::to_owned).to_vec();
    let plan = plan(vec![requests(3, 30), open(100.0, None, 0.1)]);
    let outcome = run(&target, &plan, &Cancel::default(), &mut |_, _| {}).unwrap();
    assert_eq!(outcome.answers(), 40);
}

#[test]
fn clients_that_get_nothing_are_counted() {
    // Takes one connection and serves it alone, as a server with one worker does that keeps connections open.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        let (mut stream, _) = listener.accept()?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            if line.ends_with("\r\n\r\n") || line == "\r\n" {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
            }
            line.clear();
        }
        // Others wait in the queue until then.
        drop(listener);
        std::io::Result::Ok(())
    });
    let plan = plan(vec![seconds(5, 0.3, Think::None)]);
    let outcome = run(&target(address), &plan, &Cancel::default(), &mut |_, _| {}).unwrap();
    let phase = &outcome.phases[0];
    assert!(phase.answers > 10, "{phase:?}");
    assert_eq!((phase.starved, phase.clients), (4, 5));
}

#[test]
fn nobody_starves_where_all_are_served() {
    let server = server(Behaviour::default());
    let outcome = load(&server, &plan(vec![requests(7, 700), requests(3, 300)]));
    assert!(outcome.phases.iter().all(|phase| phase.starved == 0), "{:?}", outcome.phases);
}
