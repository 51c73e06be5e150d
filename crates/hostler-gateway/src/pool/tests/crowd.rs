//! Workers that say too much, and threads that have too much to do: nobody else waits for them.

use super::*;
use std::cell::Cell;

#[test]
fn a_worker_that_says_nothing_for_ever_leaves_others_their_turn() {
    run(async || {
        let site = Site::new(exactly(2));
        let babble = site.ask_later("babble gate");
        site.until_busy(1).await;
        assert_eq!(site.ask("next").await.unwrap(), "next");
        site.engine.open("gate");
        assert_eq!(babble.await.unwrap().unwrap(), "babble gate");
    });
}

#[test]
fn what_nobody_waits_for_is_passed_over_in_turns() {
    run(async || {
        let site = Site::new(exactly(2));
        let mut exchange = site.begin("prattle gate").await.unwrap();
        while next(&mut exchange).await.unwrap().unwrap().kind != FromWorker::FINISHED {}
        drop(exchange);
        // Until it has been looked at.
        // Time: nothing tells that the pool has looked.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(site.ask("next").await.unwrap(), "next");
        site.engine.open("gate");
        site.until_idle(2).await;
    });
}

#[test]
fn a_worker_that_reads_no_answer_is_not_heard_for_ever() {
    run(async || {
        let site = Site::new(exactly(1));
        const SOON: Duration = Duration::from_millis(500);
        let timeout = TimeLimit { after: SOON, set_by: "HostlerWorkerTimeout" };
        let work = Work { timeout, on_abandon: OnAbandon::TakeBackOrKill(SOON), ..work("pester gate") };
        let mut exchange = site.pool.begin(work).await.unwrap();
        let mut asked = 0;
        let error = loop {
            match next(&mut exchange).await.unwrap() {
                Ok(_) => asked += 1,
                Err(error) => break error,
            }
            exchange.again(&(7, [].into()), &[0; 64 << 10]);
        };
        assert_eq!(error.kind, Kind::WorkerTimeout);
        assert!(error.to_string().contains("HostlerWorkerTimeout of 0.5 s exceeded"), "{error}");
        assert!(asked <= 16, "{asked} questions were answered");
    });
}

#[test]
fn what_workers_have_the_front_keep_is_bounded() {
    run(async || {
        let site = Site::new(exactly(1));
        let mut exchange = site.begin("hoard").await.unwrap();
        let mut kept = Vec::new();
        let error = loop {
            match next(&mut exchange).await.unwrap() {
                Ok(frame) => kept.push(frame),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind, Kind::WorkerViolation);
        assert!((16..=64).contains(&kept.len()), "{} messages of a mebibyte are kept", kept.len());
        drop(kept);
        assert_eq!(site.ask("next").await.unwrap(), "next");
    });
}

/// Turns of such a thread until a request is answered. Each takes a millisecond, so that what is done every so often
/// anyway takes hundreds of them.
async fn turns_until_answered(site: &Site) -> u32 {
    let (turns, over) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let (count, until) = (turns.clone(), over.clone());
    let busy = tokio::task::spawn_local(attentive(Box::pin(async move {
        while !until.get() {
            // Time: the thread is busy.
            std::thread::sleep(Duration::from_millis(1));
            count.set(count.get() + 1);
            tokio::task::yield_now().await;
        }
    })));
    assert_eq!(site.ask_later("next").await.unwrap().unwrap(), "next");
    over.set(true);
    busy.await.unwrap();
    turns.get()
}

#[test]
fn a_thread_that_never_parks_announces_and_listens_all_the_same() {
    run(async || {
        let site = Site::new(exactly(1));
        site.ask("warm").await.unwrap();
        for _ in 0..20 {
            if turns_until_answered(&site).await < 100 {
                return;
            }
        }
        panic!("the request has always waited for what is done every so often anyway");
    });
}
