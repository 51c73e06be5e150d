//! The number of workers.

use super::*;

#[test]
fn a_pool_starts_with_its_first_request_and_grows_for_those_that_wait() {
    run(async || {
        let site = Site::new(Settings { start: 2, max_workers: 5, ..Settings::default() });
        // Time: that nothing is started meanwhile is what is tested.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(site.engine.shared.parents.load(Relaxed), 0);
        site.ask("first").await.unwrap();
        site.until_idle(2).await;
        let waits: Vec<_> = (0..8).map(|_| site.ask_later("wait gate")).collect();
        site.until_busy(5).await;
        site.until("no more", |status| status.workers.len() == 5 && status.queue == 3).await;
        site.engine.open("gate");
        for wait in waits {
            wait.await.unwrap().unwrap();
        }
        assert_eq!(site.engine.shared.forked.load(Relaxed), 5);
    });
}

#[test]
fn requests_that_come_before_the_pool_has_started_do_not_wait_for_each_other() {
    run(async || {
        let site = Site::new(Settings { start: 1, max_workers: 40, ..Settings::default() });
        let begun = Instant::now();
        let waits: Vec<_> = (0..40).map(|_| site.ask_later("wait gate")).collect();
        site.until_busy(40).await;
        // Spare workers are forked one in a second: that would take half a minute.
        // Time: as the line above says.
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        site.engine.open("gate");
        for wait in waits {
            wait.await.unwrap().unwrap();
        }
    });
}

#[test]
fn a_request_waits_for_no_worker_that_still_begins_while_another_is_free() {
    run(async || {
        let site = Site::new(Settings { start: 1, min_spare: 0, max_workers: 2, ..Settings::default() });
        let holder = site.ask_later("wait gate");
        site.until_busy(1).await;
        site.engine.shared.boots.store(true, Relaxed);
        let waiter = site.ask_later("waiter");
        site.until("a second one begins", |status| in_state(status, WorkerState::Starting) == 1).await;
        site.engine.open("gate");
        holder.await.unwrap().unwrap();
        assert_eq!(waiter.await.unwrap().unwrap(), "waiter");
        assert_eq!(in_state(&site.pool.status(), WorkerState::Starting), 1);
    });
}

#[test]
fn spare_workers_are_kept_and_those_over_the_most_are_ended() {
    run(async || {
        let settings =
            Settings { start: 1, min_spare: 2, max_spare: 2, max_workers: 6, ..Settings::default() };
        let site = Site::new(settings);
        let waits: Vec<_> = (0..4).map(|_| site.ask_later("wait gate")).collect();
        site.until("two spare", |s| {
            in_state(s, WorkerState::Busy) == 4 && in_state(s, WorkerState::Idle) == 2
        })
        .await;
        site.engine.open("gate");
        for wait in waits {
            wait.await.unwrap().unwrap();
        }
        site.until("shrunk", |status| status.workers.len() == 2).await;
        assert_eq!(site.pool.status().crashed, 0);
        assert_eq!(site.ask("still").await.unwrap(), "still");
    });
}

#[test]
fn a_worker_at_its_last_request_has_its_successor_already() {
    run(async || {
        let site = Site::new(Settings { max_requests: 3, ..exactly(1) });
        site.ask("exit 0").await.unwrap();
        site.until("replaced", |status| status.forked == 2 && status.workers.len() == 1).await;
        site.ask("one").await.unwrap();
        site.ask("two").await.unwrap();
        // The third is its last: a successor is idle while it still runs.
        let last = site.ask_later("wait gate");
        site.until("a successor", |s| {
            in_state(s, WorkerState::Busy) == 1 && in_state(s, WorkerState::Idle) == 1
        })
        .await;
        assert_eq!(site.ask("four").await.unwrap(), "four");
        site.engine.open("gate");
        last.await.unwrap().unwrap();
        assert_eq!(site.pool.status().crashed, 0);
    });
}

#[test]
fn no_successor_is_made_for_a_request_that_waits_behind_another() {
    run(async || {
        let site = Site::new(Settings { max_requests: 2, ..exactly(1) });
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        // Its last, if it gets it: a successor that is there too early would take it, and then there were two workers.
        let second = site.ask_later("exit second");
        site.until("it waits", |status| status.queue == 1).await;
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        second.await.unwrap().unwrap();
        site.ask("third").await.unwrap();
        let served: Vec<_> = site.engine.shared.log.lock().unwrap().iter().map(|(id, _)| *id).collect();
        assert!(served[0] == served[1] && served[1] != served[2], "{served:?}");
    });
}

#[test]
fn one_shot_workers_serve_one_request_each_from_a_reserve() {
    run(async || {
        let site = Site::new(Settings { one_shot: true, start: 3, max_workers: 8, ..Settings::default() });
        // The false workers exit when they are told to.
        for number in 0..20 {
            assert!(site.ask(&format!("exit {number}")).await.is_ok());
        }
        let mut workers: Vec<_> = site.engine.shared.log.lock().unwrap().iter().map(|(id, _)| *id).collect();
        workers.dedup();
        assert_eq!(workers.len(), 20);
        site.until("a reserve", |status| in_state(status, WorkerState::Idle) >= 3).await;
    });
}

#[test]
fn an_unused_pool_ends_its_processes_and_starts_again() {
    run(async || {
        let site = Site::new(Settings { idle: Duration::from_millis(300), ..exactly(1) });
        site.ask("one").await.unwrap();
        site.until("evicted", |status| status.workers.is_empty() && status.parent.is_none()).await;
        assert_eq!(site.ask("two").await.unwrap(), "two");
        assert_eq!(site.engine.shared.parents.load(Relaxed), 2);
    });
}

#[test]
fn the_queue_is_bounded_in_length_and_time() {
    run(async || {
        let settings = Settings { queue_length: 2, queue_timeout: Duration::from_millis(300), ..exactly(1) };
        let site = Site::new(settings);
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        let waits: Vec<_> = (0..3).map(|number| site.ask_later(&format!("n {number}"))).collect();
        site.until("waiting", |status| status.queue == 3).await;
        let full = site.ask("too many").await.unwrap_err();
        assert_eq!((full.kind, full.status(), full.retry_after.is_some()), (Kind::QueueFull, 503, true));
        for wait in waits {
            let late = wait.await.unwrap().unwrap_err();
            assert_eq!((late.kind, late.status()), (Kind::QueueTimeout, 503));
            assert!(late.retry_after.is_some());
        }
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        // Those that were told 503 have not been carried out.
        assert_eq!(site.engine.begun(), ["wait gate"]);
        let errors = site.pool.status().errors;
        assert!(
            errors.contains(&(Kind::QueueFull, 1)) && errors.contains(&(Kind::QueueTimeout, 3)),
            "{errors:?}"
        );
    });
}

#[test]
fn refusals_are_told_without_asking_as_long_as_the_queue_is_full() {
    run(async || {
        let site = Site::new(Settings { queue_length: 2, ..exactly(1) });
        let first = site.ask_later("wait gate");
        site.until_busy(1).await;
        assert!(site.pool.refusal().is_none());
        // One is placed behind the running one.
        let waits: Vec<_> = (0..3).map(|number| site.ask_later(&format!("n {number}"))).collect();
        site.until("waiting", |status| status.queue == 3).await;
        let refusal = site.pool.refusal().expect("the queue is full");
        assert_eq!((refusal.kind, refusal.retry_after.is_some()), (Kind::QueueFull, true));
        // Who leaves makes room.
        waits[2].abort();
        site.until("room", |status| status.queue == 2).await;
        assert!(site.pool.refusal().is_none());
        let last = site.ask_later("last");
        site.until("full again", |status| status.queue == 3).await;
        assert!(site.pool.refusal().is_some());
        site.engine.open("gate");
        first.await.unwrap().unwrap();
        assert_eq!(last.await.unwrap().unwrap(), "last");
        assert!(site.pool.refusal().is_none());
        assert!(site.pool.status().errors.contains(&(Kind::QueueFull, 2)));
    });
}

#[test]
fn memory_that_is_needed_elsewhere_is_taken_from_the_pool_that_was_unused_longest() {
    run(async || {
        let budget = Budget::new(1);
        let (old, new) = (Site::new(exactly(1)), Site::new(exactly(1)));
        budget.admit(&old.pool);
        budget.admit(&new.pool);
        old.ask("one").await.unwrap();
        let busy = new.ask_later("wait gate");
        old.until("evicted", |status| status.parent.is_none()).await;
        new.engine.open("gate");
        busy.await.unwrap().unwrap();
        // It was in use all the time.
        assert_eq!(new.engine.shared.parents.load(Relaxed), 1);
        assert_eq!(old.ask("two").await.unwrap(), "two");
        assert_eq!(old.engine.shared.parents.load(Relaxed), 2);
    });
}

#[test]
fn a_pool_whose_processes_have_ended_holds_nothing_until_it_is_asked_again() {
    run(async || {
        let site = Site::new(exactly(2));
        let rests = || {
            site.pool.common.known_bells().is_none()
                && !crate::backend::ring::listen::is_listening(&site.pool)
        };
        for round in 1..=3 {
            assert!(rests(), "round {round}");
            assert_eq!(site.ask("one").await.unwrap(), "one");
            assert!(!rests());
            site.until_idle(2).await;
            site.pool.evict();
            site.until("ended", |status| status.parent.is_none() && rests()).await;
            assert_eq!(site.pool.lock().records.capacity(), 0);
            assert_eq!(site.engine.shared.parents.load(Relaxed), round);
            assert_eq!(site.pool.status().evicted, round as u64);
        }
        // What was counted stays.
        assert_eq!((site.pool.status().served, site.pool.status().idled), (3, 0));
    });
}

#[test]
fn what_comes_while_a_pool_ends_is_served_by_its_next_parent() {
    run(async || {
        let site = Site::new(exactly(1));
        for pause in [0, 0, 1, 5, 20, 45, 50, 55, 60, 80] {
            site.ask("before").await.unwrap();
            site.until_idle(1).await;
            site.pool.evict();
            // Time: between an end and what is asked meanwhile; each pause is another moment of the end.
            tokio::time::sleep(Duration::from_millis(pause)).await;
            assert_eq!(site.ask("meanwhile").await.unwrap(), "meanwhile");
        }
    });
}

#[test]
fn a_pool_that_cannot_be_started_holds_no_bells() {
    run(async || {
        let site = Site::new(exactly(1));
        site.engine.shared.fails.store(true, Relaxed);
        site.ask("one").await.unwrap_err();
        site.ask("two").await.unwrap_err();
        site.until("at rest", |_| site.pool.common.known_bells().is_none()).await;
    });
}
