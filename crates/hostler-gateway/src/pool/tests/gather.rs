//! Short requests are placed behind each other, and nobody is the worse for it.

use super::*;

/// A pool whose requests have all been short so far, and all of whose workers are idle and know the configuration.
pub(super) async fn light(workers: u32) -> Site {
    let site = Site::new(exactly(workers));
    // Each worker is told the configuration.
    let first: Vec<_> = (0..workers).map(|_| site.ask_later("wait all")).collect();
    site.until_busy(workers as usize).await;
    site.engine.open("all");
    for ask in first {
        ask.await.unwrap().unwrap();
    }
    for _ in 0..100 {
        site.ask("light").await.unwrap();
    }
    site.until_idle(workers as usize).await;
    site
}

#[test]
fn short_requests_share_a_worker_and_are_served_in_their_order() {
    run(async || {
        let site = light(3).await;
        let mut asks = vec![site.begin("light gate").await.unwrap()];
        for number in 1..4 {
            asks.push(site.begin(&format!("light {number}")).await.unwrap());
        }
        let workers: Vec<_> = asks.iter().map(|ask| ask.worker().0).collect();
        assert!(workers.iter().all(|worker| *worker == workers[0]), "{workers:?}");
        for gate in ["gate", "1", "2", "3"] {
            site.engine.open(gate);
        }
        for ask in asks {
            finish(ask).await.unwrap();
        }
        site.until_idle(3).await;
        assert_eq!(site.engine.shared.defined.load(Relaxed), 3);
    });
}

#[test]
fn each_thread_gathers_at_a_worker_of_its_own() {
    run(async || {
        let site = light(3).await;
        let (one, two) = (site.begin("light gate").await.unwrap(), site.begin("light").await.unwrap());
        let pool = site.pool.clone();
        let other = std::thread::spawn(move || {
            let mut workers = [0; 2];
            run(async || {
                let ask = async |what| pool.begin(Work { thread: 1, ..work(what) }).await.unwrap();
                let asks = [ask("light gate").await, ask("light").await];
                workers = asks.each_ref().map(|ask| ask.worker().0);
                for ask in asks {
                    finish(ask).await.unwrap();
                }
            });
            workers
        });
        let own = [&one, &two].map(|ask| ask.worker().0);
        // It has to have begun with the gate still closed.
        site.until_busy(2).await;
        site.engine.open("gate");
        for ask in [one, two] {
            finish(ask).await.unwrap();
        }
        let others = other.join().unwrap();
        assert_eq!(own[0], own[1]);
        assert_eq!(others[0], others[1]);
        assert_ne!(own[0], others[0]);
        site.until_idle(3).await;
    });
}

#[test]
fn what_gets_stuck_behind_a_long_request_goes_to_idle_workers() {
    run(async || {
        let site = light(2).await;
        let heavy = site.ask_later("wait heavy");
        site.until_busy(1).await;
        let asks: Vec<_> = (0..5).map(|number| site.ask_later(&format!("n {number}"))).collect();
        for ask in asks {
            ask.await.unwrap().unwrap();
        }
        assert!(!heavy.is_finished());
        site.engine.open("heavy");
        heavy.await.unwrap().unwrap();
        site.until_idle(2).await;
    });
}

#[test]
fn an_answer_is_not_kept_back_while_a_long_request_runs() {
    run(async || {
        let site = light(1).await;
        // On another thread than the long one, which has to tell it.
        let pool = site.pool.clone();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            run(async || {
                let work = Work { thread: 1, ..work("light gate") };
                let exchange = pool.begin(work).await.unwrap();
                begun.send(()).unwrap();
                finish(exchange).await.unwrap();
            });
        });
        has_begun.recv().unwrap();
        let heavy = site.begin("wait heavy").await.unwrap();
        site.engine.open("gate");
        let heavy = tokio::task::spawn_local(finish(heavy));
        while !other.is_finished() {
            // Time: looks again.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        other.join().unwrap();
        assert!(!heavy.is_finished());
        site.engine.open("heavy");
        heavy.await.unwrap().unwrap();
    });
}

#[test]
fn a_crash_takes_none_of_those_behind_it() {
    run(async || {
        let site = light(2).await;
        let crash = site.begin("crash now").await.unwrap();
        let asks: Vec<_> = (0..3).map(|number| site.ask_later(&format!("n {number}"))).collect();
        tokio::task::yield_now().await;
        site.engine.open("now");
        assert_eq!(finish(crash).await.unwrap_err().kind, Kind::WorkerDied);
        for (number, ask) in asks.into_iter().enumerate() {
            assert_eq!(ask.await.unwrap().unwrap(), format!("n {number}"));
        }
    });
}

#[test]
fn those_behind_a_workers_last_request_are_served_by_others() {
    run(async || {
        let site = light(2).await;
        let exit = site.begin("leave now").await.unwrap();
        let asks: Vec<_> = (0..3).map(|number| site.ask_later(&format!("n {number}"))).collect();
        tokio::task::yield_now().await;
        site.engine.open("now");
        finish(exit).await.unwrap();
        for (number, ask) in asks.into_iter().enumerate() {
            assert_eq!(ask.await.unwrap().unwrap(), format!("n {number}"));
        }
        assert_eq!(site.pool.status().crashed, 0);
    });
}

#[test]
fn who_leaves_while_placed_behind_is_not_served() {
    run(async || {
        let site = light(1).await;
        let gate = site.begin("light gate").await.unwrap();
        let leaves = site.begin("n left").await.unwrap();
        let stays = site.begin("n stays").await.unwrap();
        drop(leaves);
        site.engine.open("gate");
        finish(gate).await.unwrap();
        assert_eq!(finish(stays).await.unwrap(), "n stays");
        assert!(!site.engine.begun().contains(&"n left".to_owned()));
        site.until_idle(1).await;
    });
}
