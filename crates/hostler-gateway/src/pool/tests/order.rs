//! The assignment and order of requests.

use super::*;
use hostler_wire::work::ToWorker;

#[test]
fn a_request_is_answered_and_the_same_worker_takes_the_next() {
    run(async || {
        let site = Site::new(exactly(1));
        assert_eq!(site.ask("one").await.unwrap(), "one");
        for _ in 0..20 {
            assert_eq!(site.ask("two").await.unwrap(), "two");
        }
        let status = site.pool.status();
        assert_eq!((status.served, status.workers.len(), status.workers[0].requests), (21, 1, 21));
        assert_eq!(status.latency.counts.iter().sum::<u64>(), 21);
        // The configuration is told once.
        assert_eq!(site.engine.shared.defined.load(Relaxed), 1);
    });
}

#[test]
fn requests_are_served_in_the_order_in_which_they_came() {
    run(async || {
        let site = Site::new(exactly(1));
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        let mut others = Vec::new();
        for number in 0..10 {
            others.push(site.ask_later(&format!("n {number}")));
            tokio::task::yield_now().await;
        }
        site.until("waiting", |status| status.queue == 10).await;
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        for other in others {
            other.await.unwrap().unwrap();
        }
        let expected: Vec<_> =
            std::iter::once("wait gate".to_owned()).chain((0..10).map(|n| format!("n {n}"))).collect();
        assert_eq!(site.engine.begun(), expected);
        assert_eq!(site.pool.status().waits.counts.iter().sum::<u64>(), 11);
    });
}

#[test]
fn no_request_waits_behind_a_busy_worker_while_another_is_idle() {
    run(async || {
        let site = Site::new(exactly(2));
        let heavy = site.ask_later("wait heavy");
        let light = site.ask_later("wait light");
        site.until_busy(2).await;
        // Both of these are placed behind one of them, and two more are queued.
        let others: Vec<_> = (0..4).map(|number| site.ask_later(&format!("n {number}"))).collect();
        site.until("waiting", |status| status.queue == 4).await;
        site.engine.open("light");
        light.await.unwrap().unwrap();
        for other in others {
            other.await.unwrap().unwrap();
        }
        assert_eq!(site.engine.begun()[2..], ["n 0", "n 1", "n 2", "n 3"]);
        assert!(!heavy.is_finished());
        site.engine.open("heavy");
        heavy.await.unwrap().unwrap();
        site.until_idle(2).await;
    });
}

#[test]
fn one_who_leaves_the_queue_is_forgotten() {
    run(async || {
        let site = Site::new(exactly(1));
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        let placed = site.ask_later("placed");
        let queued = site.ask_later("queued");
        let last = site.ask_later("last");
        site.until("waiting", |status| status.queue == 3).await;
        placed.abort();
        queued.abort();
        site.until("withdrawn", |status| status.queue == 1).await;
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        last.await.unwrap().unwrap();
        assert_eq!(site.engine.begun(), ["wait gate", "last"]);
        assert_eq!(site.pool.status().workers[0].requests, 2);
    });
}

#[test]
fn a_worker_that_nobody_waits_for_serves_again_when_it_has_finished() {
    run(async || {
        let site = Site::new(exactly(1));
        let exchange = site.begin("wait never").await.unwrap();
        site.until_busy(1).await;
        while site.engine.begun().is_empty() {
            // Time: looks again.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(exchange);
        assert_eq!(site.ask("next").await.unwrap(), "next");
        let status = site.pool.status();
        assert_eq!((status.forked, status.crashed), (1, 0));
    });
}

#[test]
fn an_answer_that_is_complete_lets_its_worker_clean_up_in_peace() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut exchange = site.begin("cleanup gate").await.unwrap();
        while next(&mut exchange).await.unwrap().unwrap().kind != FromWorker::FINISHED {}
        drop(exchange);
        let other = site.ask_later("next");
        // Time: that nothing else is begun meanwhile is what is tested.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(site.engine.begun(), ["cleanup gate"]);
        site.engine.open("gate");
        assert_eq!(other.await.unwrap().unwrap(), "next");
    });
}

#[test]
fn bodies_of_any_size_go_both_ways() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut exchange = site.begin("echo").await.unwrap();
        let mut body = Vec::new();
        let piece: Vec<u8> = (0..100_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
        let (mut sent, mut ended) = (0, false);
        poll_fn(|context| {
            while !ended && exchange.poll_room(context).is_ready() {
                if sent == 10 {
                    exchange.tell(&ToWorker::BodyEnd(true));
                    ended = true;
                } else {
                    exchange.tell(&ToWorker::Body(&piece));
                    sent += 1;
                }
            }
            loop {
                match exchange.poll_next(context) {
                    Poll::Ready(Some(frame)) => {
                        let frame = frame.unwrap();
                        if frame.kind == FromWorker::BODY {
                            body.extend_from_slice(&frame.body);
                        }
                    }
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        assert_eq!(body.len(), 1_000_000 + "echo".len());
        assert!(body.starts_with(&piece));
        assert_eq!(site.ask("large").await.unwrap().len(), (3 << 20) + "large".len());
    });
}

#[test]
fn who_waits_for_room_is_woken_though_there_is_room_before_he_sleeps() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut exchange = site.begin("swallow go").await.unwrap();
        exchange.tell(&ToWorker::Body(&vec![b'x'; 100_000]));
        let engine = site.engine.clone();
        let (mut ended, mut said) = (false, Vec::new());
        // A task of its own: whatever else wakes the test does not wake this.
        let task = tokio::task::spawn_local(poll_fn(move |context| {
            if !ended && exchange.poll_room(context).is_ready() {
                exchange.tell(&ToWorker::BodyEnd(true));
                ended = true;
            } else if !ended {
                // The worker reads all that there is just between the two questions.
                engine.open("go");
                // Time: nothing tells that the worker has read; where it has not yet, less is tested.
                std::thread::sleep(Duration::from_millis(100));
            }
            while let Poll::Ready(frame) = exchange.poll_next(context) {
                let Some(frame) = frame else { return Poll::Ready(std::mem::take(&mut said)) };
                said.push(frame.unwrap().kind);
            }
            Poll::Pending
        }));
        let said = tokio::time::timeout(Duration::from_secs(5), task).await.expect("nobody woke it");
        assert_eq!(said.unwrap(), [FromWorker::BODY, FromWorker::FINISHED, FromWorker::END]);
    });
}

#[test]
fn a_client_that_sends_slowly_is_not_the_workers_fault() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut slow = work_with("echo", hostler_wire::work::request_flag::BODY);
        slow.timeout.after = Duration::from_millis(300);
        let mut exchange = site.pool.begin(slow).await.unwrap();
        let waits = tokio::time::timeout(Duration::from_millis(1000), next(&mut exchange));
        assert!(waits.await.is_err(), "it was the client's turn");
        exchange.tell(&ToWorker::Body(b"late "));
        exchange.tell(&ToWorker::BodyEnd(true));
        assert_eq!(finish(exchange).await.unwrap(), "late echo");
    });
}

#[test]
fn two_threads_share_a_pool() {
    run(async || {
        let site = Site::new(exactly(2));
        site.ask("warm").await.unwrap();
        let pool = site.pool.clone();
        let other = std::thread::spawn(move || {
            let answered = std::cell::Cell::new(0);
            run(async || {
                for number in 0..300 {
                    let mut work = work(&format!("b{number}"));
                    work.thread = 1;
                    let exchange = pool.begin(work).await.unwrap();
                    assert_eq!(finish(exchange).await.unwrap(), format!("b{number}"));
                    answered.set(answered.get() + 1);
                }
            });
            answered.get()
        });
        let asks: Vec<_> = (0..300).map(|number| site.ask_later(&format!("a{number}"))).collect();
        for (number, ask) in asks.into_iter().enumerate() {
            assert_eq!(ask.await.unwrap().unwrap(), format!("a{number}"));
        }
        while !other.is_finished() {
            // Time: looks again.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(other.join().unwrap(), 300);
        assert_eq!(site.pool.status().served, 601);
    });
}
