//! Pools that have processes before their first request, and parents that were there before the pool.

use super::*;
use hostler_wire::engine::FromEngine;

fn ready(workers: u32) -> Option<FromEngine> {
    Some(FromEngine::Ready { version: "false".into(), workers })
}

#[test]
fn a_warm_pool_has_its_workers_before_there_are_requests() {
    run(async || {
        let site = Site::new(Settings { start: 3, ..Settings::default() });
        site.pool.warm().await;
        assert_eq!(in_state(&site.pool.status(), WorkerState::Idle), 3);
        // Once more changes nothing.
        site.pool.warm().await;
        assert_eq!(site.engine.shared.parents.load(Relaxed), 1);
        assert_eq!(site.ask("hello").await.unwrap(), "hello");
    });
}

#[test]
fn warming_a_pool_that_cannot_be_ends_too() {
    run(async || {
        let site = Site::new(Settings::default());
        site.engine.shared.fails.store(true, Relaxed);
        site.pool.warm().await;
        assert!(site.pool.status().failed.unwrap().contains("syntax error"));
        let site = Site::new(Settings::default());
        site.engine.shared.barren.store(true, Relaxed);
        site.pool.warm().await;
        site.pool.close();
        site.pool.warm().await;
    });
}

#[test]
fn a_parent_that_is_there_is_taken_over_with_as_many_workers_as_it_had() {
    run(async || {
        let site = Site::new(Settings { start: 1, max_workers: 6, ..Settings::default() });
        *site.engine.shared.adopted.lock().unwrap() = ready(4);
        site.pool.warm().await;
        assert_eq!(in_state(&site.pool.status(), WorkerState::Idle), 4);
        assert_eq!(site.engine.shared.loaded.load(Relaxed), 0);
        assert_eq!(site.ask("hello").await.unwrap(), "hello");
        // What it claims is bounded.
        let site = Site::new(Settings { start: 1, max_workers: 2, ..Settings::default() });
        *site.engine.shared.adopted.lock().unwrap() = ready(u32::MAX);
        site.pool.warm().await;
        assert_eq!(site.pool.status().workers.len(), 2);
    });
}

#[test]
fn a_parent_that_is_of_no_use_is_replaced() {
    run(async || {
        let answers = [
            Some(FromEngine::Stale),
            Some(FromEngine::Failed { why: "no".into() }),
            Some(FromEngine::Hello(hostler_wire::build::Build::own())),
        ];
        for answer in answers {
            let site = Site::new(exactly(1));
            *site.engine.shared.adopted.lock().unwrap() = answer;
            assert_eq!(site.ask("hello").await.unwrap(), "hello");
            assert_eq!(site.engine.shared.parents.load(Relaxed), 2);
            assert_eq!(site.engine.shared.loaded.load(Relaxed), 1);
        }
    });
}

#[test]
fn what_takes_the_place_of_a_parent_is_new() {
    run(async || {
        let site = Site::new(exactly(1));
        *site.engine.shared.adopted.lock().unwrap() = ready(1);
        assert_eq!(site.ask("hello").await.unwrap(), "hello");
        site.engine.kill_parent();
        site.until("replaced", |_| site.engine.shared.loaded.load(Relaxed) == 1).await;
        assert_eq!(site.ask("hello").await.unwrap(), "hello");
    });
}
