//! Requests whose client has gone, and that are to be run to their end all the same.

use super::*;
use hostler_wire::work::request_flag;

fn run_on(what: &str) -> Work {
    Work { on_abandon: OnAbandon::RunToEnd(TIMEOUT), ..work(what) }
}

#[test]
fn a_request_is_run_to_its_end_without_its_client() {
    run(async || {
        let site = Site::new(exactly(1));
        drop(site.pool.begin(run_on("keep gate")).await.unwrap());
        site.engine.open("gate");
        site.ask("next").await.unwrap();
        assert_eq!(site.engine.done(), ["keep gate", "next"]);
        assert_eq!(site.engine.shared.forked.load(Relaxed), 1);
    });
}

#[test]
fn whoever_runs_to_its_end_is_told_that_nobody_waits() {
    run(async || {
        let site = Site::new(exactly(1));
        drop(site.pool.begin(run_on("wait for ever")).await.unwrap());
        // It may stop by itself.
        site.ask("next").await.unwrap();
        assert_eq!(site.engine.done(), ["next"]);
        assert_eq!(site.engine.shared.forked.load(Relaxed), 1);
    });
}

#[test]
fn by_default_its_worker_is_told_that_nobody_waits() {
    run(async || {
        let site = Site::new(exactly(1));
        let exchange = site.begin("wait for ever").await.unwrap();
        site.until("begun", |_| site.engine.begun().len() == 1).await;
        drop(exchange);
        site.ask("next").await.unwrap();
        assert_eq!(site.engine.done(), ["next"]);
    });
}

#[test]
fn one_that_waits_for_its_turn_keeps_it() {
    run(async || {
        let site = Site::new(exactly(1));
        let busy = site.ask_later("wait gate");
        site.until_busy(1).await;
        // One is placed behind what runs, the other one waits in the queue.
        for (at, what) in ["keep gate"; 2].into_iter().enumerate() {
            let (pool, work) = (site.pool.clone(), run_on(what));
            let waits = tokio::task::spawn_local(async move { pool.begin(work).await.map(drop) });
            site.until("waits", |status| status.queue == at + 1).await;
            waits.abort();
            assert!(waits.await.unwrap_err().is_cancelled());
        }
        assert_eq!(site.pool.status().queue, 2);
        site.engine.open("gate");
        busy.await.unwrap().unwrap();
        site.ask("last").await.unwrap();
        assert_eq!(site.engine.done(), ["wait gate", "keep gate", "keep gate", "last"]);
    });
}

#[test]
fn one_that_was_told_that_it_waited_for_too_long_is_not_run() {
    run(async || {
        let site = Site::new(Settings { queue_timeout: Duration::from_millis(50), ..exactly(1) });
        let busy = site.ask_later("wait gate");
        site.until_busy(1).await;
        for what in ["placed", "queued"] {
            let error = site.pool.begin(run_on(what)).await.unwrap_err();
            assert_eq!(error.kind, Kind::QueueTimeout);
        }
        site.engine.open("gate");
        busy.await.unwrap().unwrap();
        site.ask("last").await.unwrap();
        assert_eq!(site.engine.done(), ["wait gate", "last"]);
    });
}

#[test]
fn one_that_takes_longer_than_it_may_loses_its_worker() {
    run(async || {
        let site = Site::new(exactly(1));
        let limit = OnAbandon::RunToEnd(Duration::from_millis(50));
        drop(site.pool.begin(Work { on_abandon: limit, ..work("keep for ever") }).await.unwrap());
        site.ask("next").await.unwrap();
        assert_eq!(site.engine.done(), ["next"]);
        assert_eq!(site.engine.shared.forked.load(Relaxed), 2);
    });
}

#[test]
fn one_whose_body_was_still_to_come_is_abandoned() {
    run(async || {
        let site = Site::new(exactly(1));
        let rule = OnAbandon::RunToEnd(TIMEOUT);
        let work = Work { on_abandon: rule, ..work_with("wait for ever", request_flag::BODY) };
        let exchange = site.pool.begin(work).await.unwrap();
        site.until("begun", |_| site.engine.begun().len() == 1).await;
        drop(exchange);
        site.ask("next").await.unwrap();
        assert_eq!(site.engine.done(), ["next"]);
    });
}

#[test]
fn one_that_stands_behind_others_is_left_to_whoever_is_idle() {
    run(async || {
        let site = gather::light(2).await;
        site.engine.open("run");
        let first = site.begin("light gate").await.unwrap();
        let second = site.pool.begin(run_on("light run")).await.unwrap();
        assert_eq!(second.worker(), first.worker());
        drop(second);
        site.until("run", |_| site.engine.done().contains(&"light run".to_owned())).await;
        site.engine.open("gate");
        finish(first).await.unwrap();
    });
}
