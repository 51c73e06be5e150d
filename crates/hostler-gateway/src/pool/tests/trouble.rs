//! Workers that die, hang or lie, and parents that can't be had.

use super::*;

#[test]
fn a_crash_costs_one_request_and_tells_its_cause() {
    run(async || {
        let site = Site::new(exactly(2));
        site.ask("warm").await.unwrap();
        let other = site.ask_later("wait gate");
        site.until_busy(1).await;
        let error = site.ask("crash").await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::WorkerDied, 502));
        let text = error.to_string();
        assert!(text.contains("signal 11 (SEGV)") && text.contains("Segmentation, he said"), "{text}");
        site.until("replaced", |status| status.workers.len() == 2).await;
        site.engine.open("gate");
        other.await.unwrap().unwrap();
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!(site.pool.status().crashed, 1);
    });
}

#[test]
fn bells_that_a_worker_has_jammed_hold_nobody_up() {
    run(async || {
        let site = Site::new(exactly(2));
        for _ in 0..2 {
            assert_eq!(site.ask("jam").await.unwrap_err().kind, Kind::WorkerDied);
        }
        for what in ["next", "and another"] {
            assert_eq!(site.ask(what).await.unwrap(), what);
        }
    });
}

#[test]
fn what_was_placed_behind_a_crash_is_served_by_another() {
    run(async || {
        let site = Site::new(exactly(1));
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        let crash = site.ask_later("crash");
        let behind = site.ask_later("behind");
        let last = site.ask_later("last");
        site.until("waiting", |status| status.queue == 3).await;
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        assert_eq!(crash.await.unwrap().unwrap_err().kind, Kind::WorkerDied);
        assert_eq!(behind.await.unwrap().unwrap(), "behind");
        assert_eq!(last.await.unwrap().unwrap(), "last");
    });
}

#[test]
fn what_was_said_before_the_end_is_read_first() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut exchange = site.begin("half").await.unwrap();
        let frame = next(&mut exchange).await.unwrap().unwrap();
        assert_eq!(&frame.body[..], b"half");
        let error = next(&mut exchange).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("exited with status 3"), "{error}");
        assert!(next(&mut exchange).await.is_none());
    });
}

#[test]
fn a_worker_that_takes_too_long_is_killed_and_no_other() {
    run(async || {
        let site = Site::new(exactly(2));
        let other = site.ask_later("wait gate");
        site.until_busy(1).await;
        let mut slow = work("wait never");
        slow.timeout.after = Duration::from_millis(300);
        let exchange = site.pool.begin(slow).await.unwrap();
        let error = finish(exchange).await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::WorkerTimeout, 504));
        site.until("replaced", |s| s.forked == 3 && in_state(s, WorkerState::Idle) == 1).await;
        assert!(!other.is_finished());
        site.engine.open("gate");
        other.await.unwrap().unwrap();
    });
}

#[test]
fn an_abandoned_request_is_not_waited_for_for_ever() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut slow = work("cleanup never");
        slow.timeout.after = Duration::from_millis(200);
        let mut exchange = site.pool.begin(slow).await.unwrap();
        while next(&mut exchange).await.unwrap().unwrap().kind != FromWorker::FINISHED {}
        drop(exchange);
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!(site.pool.status().forked, 2);
    });
}

#[test]
fn a_worker_that_lies_is_killed() {
    run(async || {
        let site = Site::new(exactly(1));
        let error = site.ask("lie").await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::WorkerViolation, 502));
        assert_eq!(site.ask("next").await.unwrap(), "next");
        assert_eq!(site.pool.status().forked, 2);
    });
}

#[test]
fn an_engine_that_cannot_load_says_why_and_heals() {
    run(async || {
        let site = Site::new(exactly(1));
        site.engine.shared.fails.store(true, Relaxed);
        for _ in 0..2 {
            let error = site.ask("one").await.unwrap_err();
            assert_eq!((error.kind, error.status()), (Kind::EngineNotLoaded, 500));
            assert!(error.to_string().contains("syntax error at startup line 1"), "{error}");
            assert!(error.retry_after.is_none());
        }
        // The second was told without another attempt.
        assert_eq!(site.engine.shared.parents.load(Relaxed), 1);
        assert!(site.pool.status().failed.is_some());
        site.engine.shared.fails.store(false, Relaxed);
        // Time: a pool that could not start tries again after a second.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(site.ask("two").await.unwrap(), "two");
    });
}

#[test]
fn workers_that_die_young_are_not_forked_in_a_circle() {
    run(async || {
        let site = Site::new(exactly(2));
        site.engine.shared.stillborn.store(true, Relaxed);
        let waits = site.ask_later("one");
        // Time: how often they are forked in it is what is tested.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let forked = site.engine.shared.forked.load(Relaxed);
        assert!((2..20).contains(&forked), "{forked}");
        site.engine.shared.stillborn.store(false, Relaxed);
        assert_eq!(waits.await.unwrap().unwrap(), "one");
    });
}

#[test]
fn another_parent_takes_the_place_of_one_that_ended() {
    run(async || {
        let site = Site::new(exactly(2));
        site.ask("one").await.unwrap();
        let busy = site.ask_later("wait gate");
        site.until_busy(1).await;
        site.engine.kill_parent();
        site.until("noticed", |status| status.parent.is_none()).await;
        assert_eq!(site.ask("two").await.unwrap(), "two");
        assert_eq!(site.engine.shared.parents.load(Relaxed), 2);
        // What the old workers are at they finish.
        site.engine.open("gate");
        busy.await.unwrap().unwrap();
    });
}

#[test]
fn a_request_is_told_why_no_worker_was_made_for_it() {
    run(async || {
        let site = Site::new(Settings { queue_timeout: Duration::from_millis(300), ..exactly(1) });
        site.engine.shared.barren.store(true, Relaxed);
        let error = site.ask("one").await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::WorkerNotMade, 503));
        let told = error.to_string();
        assert!(told.contains("no further worker can be made (Resource temporarily unavailable"), "{told}");
        assert!(error.retry_after.is_some());
        // Once they are made again, waiting has other reasons.
        site.engine.shared.barren.store(false, Relaxed);
        while site.ask("two").await.is_err() {}
        let busy = site.ask_later("wait gate");
        site.until_busy(1).await;
        assert_eq!(site.ask("three").await.unwrap_err().kind, Kind::QueueTimeout);
        site.engine.open("gate");
        busy.await.unwrap().unwrap();
    });
}

#[test]
fn a_request_is_told_why_no_worker_could_begin() {
    run(async || {
        let site = Site::new(Settings { queue_timeout: Duration::from_secs(2), ..exactly(1) });
        site.engine.shared.unable.store(true, Relaxed);
        let error = site.ask("one").await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::WorkerNotMade, 503));
        let told = error.to_string();
        assert!(told.contains("the extension refuses"), "{told}");
        // They are not forked in a circle.
        let forked = site.engine.shared.forked.load(Relaxed);
        assert!((2..20).contains(&forked), "{forked}");
        site.engine.shared.unable.store(false, Relaxed);
        while site.ask("two").await.is_err() {}
    });
}
