//! The same plans over HTTP/2, against a small server made of the library's other half.

use crate::load::synthetic::{self, Behaviour};
use crate::load::{Cancel, Outcome, Phase, Plan, Protocol, Target, Think, run};
use bytes::Bytes;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Answers with five bytes until the test program ends.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
}

/// A server that says of each connection after so many requests that it was the last, and answers after `delay`.
fn server(most: usize, status: u16, delay: Duration) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(socket, most, status, delay));
            }
        });
    });
    Server { address, connections }
}

async fn serve(socket: tokio::net::TcpStream, most: usize, status: u16, delay: Duration) {
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    let mut served = 0;
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        served += 1;
        if served == most {
            connection.graceful_shutdown();
        }
        tokio::spawn(async move {
            // Time: a server that takes so long is what is measured.
            tokio::time::sleep(delay).await;
            let head = http::Response::builder().status(status).body(()).unwrap();
            if let Ok(mut body) = respond.send_response(head, false) {
                let _ = body.send_data(Bytes::from_static(b"Hello"), true);
            }
        });
    }
}

fn closed(clients: u32, requests: Option<u64>, seconds: Option<f64>) -> Phase {
    Phase::Closed { clients, to_clients: None, join: None, seconds, requests, think: Think::None }
}

fn load(address: SocketAddr, phases: Vec<Phase>, change: impl Fn(&mut Plan)) -> Outcome {
    let target = Target {
        address,
        host: "localhost".to_owned(),
        hosts: Vec::new(),
        path: "/page?a=b".to_owned(),
        form: None,
        expected_length: Some(5),
        tls: false,
    };
    let mut plan = Plan {
        phases,
        keep_alive: true,
        protocol: Protocol::H2,
        warm_up: 0.0,
        timeout: 5.0,
        stop: None,
        seed: 1,
        keep_requests: true,
    };
    change(&mut plan);
    run(&target, &plan, &Cancel::default(), &mut |_, _| {}).unwrap()
}

#[test]
fn counts_are_exact_and_connections_shared() {
    let server = server(usize::MAX, 200, Duration::ZERO);
    let phases = vec![closed(12, Some(300), None), Phase::Open { rate: 100.0, to_rate: None, seconds: 0.3 }];
    let outcome = load(server.address, phases, |_| {});
    let counts: Vec<u64> = outcome.phases.iter().map(|phase| phase.answers).collect();
    assert_eq!((counts, outcome.phases[0].bytes, outcome.requests.len()), (vec![300, 30], 1500, 330));
    assert_eq!(outcome.phases[0].connections, 2);
    assert_eq!(outcome.requests.iter().filter(|request| request.status == 200).count(), 330);
}

#[test]
fn a_connection_that_ends_is_followed_by_another() {
    let server = server(10, 200, Duration::ZERO);
    let outcome = load(server.address, vec![closed(3, Some(100), None)], |_| {});
    assert_eq!((outcome.answers(), outcome.phases[0].errors.sum()), (100, 0));
    assert!(server.connections.load(Ordering::Relaxed) >= 5);
}

#[test]
fn one_shot_clients_connect_each_time() {
    let server = server(usize::MAX, 200, Duration::ZERO);
    let outcome = load(server.address, vec![closed(3, Some(20), None)], |plan| plan.keep_alive = false);
    assert_eq!((outcome.answers(), outcome.phases[0].connections), (20, 20));
}

#[test]
fn failures_are_counted_by_kind() {
    let failing = server(usize::MAX, 502, Duration::ZERO);
    let outcome = load(failing.address, vec![closed(2, Some(10), None)], |_| {});
    assert_eq!((outcome.answers(), outcome.phases[0].errors.status_5xx), (0, 10));

    let slow = server(usize::MAX, 200, Duration::from_secs(3));
    let outcome = load(slow.address, vec![closed(2, Some(2), None)], |plan| plan.timeout = 0.2);
    assert_eq!((outcome.answers(), outcome.phases[0].errors.timeout), (0, 2));
    let outcome = load(slow.address, vec![closed(2, None, Some(0.2))], |_| {});
    assert_eq!((outcome.answers(), outcome.phases[0].unanswered), (0, 2));

    // It answers in HTTP/1.1.
    let old = synthetic::Server::start(Behaviour::default()).unwrap();
    let outcome = load(old.address, vec![closed(1, Some(3), None)], |_| {});
    let errors = outcome.phases[0].errors;
    assert_eq!((outcome.answers(), errors.wrong + errors.broken), (0, 3), "{errors:?}");
}
