//! Stapling (RFC 6066 §8): what an authority's responder says of our certificates, asked for in advance and handed to clients in
//! the handshake.
//!
//! Each certificate has a task, which asks again before the answer is of no use any more. An answer that still holds is kept while
//! the responder can't be reached. Handshakes wait for the very first answer, as long as the responder may take for it, so that
//! clients which insist on one (RFC 7633) are not turned away after a start.
//!
//! **Runs as** the front. **Diagnostics**: under `ssl`, when a certificate can't have one, and what a responder has said wrong.

mod staple;

pub(super) use staple::Staple;

use super::responder;
use crate::log::{self, Severity};
use crate::request::thread::Thread;
use hostler_config::Server;
use hostler_gateway::lookup::Asker;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Responders that are asked at once: a machine with ten thousand certificates must not ask them all with its start.
const AT_ONCE: usize = 8;

/// Begins all tasks; for one thread of the front.
pub(crate) fn begin(thread: &Rc<Thread>) {
    let (turns, asker) = (Rc::new(Semaphore::new(AT_ONCE)), Asker::new(AT_ONCE));
    for (id, made) in thread.shared.of::<super::Hosts>().staples() {
        let Some(server) = thread.shared.config.servers.get(*id as usize).cloned() else { continue };
        match made {
            Ok(staple) => {
                let keeping = keep(thread.clone(), server, staple.clone(), turns.clone(), asker.clone());
                tokio::task::spawn_local(keeping);
            }
            Err(why) => log::of_server(
                thread,
                &server,
                Severity::Error,
                "ssl",
                &format!("the certificate can't be stapled: {why}"),
            ),
        }
    }
}

/// Asks again and again, as long as this front serves.
async fn keep(
    thread: Rc<Thread>,
    server: Arc<Server>,
    staple: Arc<Staple>,
    turns: Rc<Semaphore>,
    asker: Asker,
) {
    let mut drain = thread.shared.drain.clone();
    loop {
        let asked = tokio::select! {
            _ = drain.wait_for(|drains| *drains) => return,
            asked = async {
                let _turn = turns.acquire().await;
                responder::ask(staple.at(), staple.question(), staple.patience(), &asker).await
            } => asked,
        };
        let (pause, complaint) = staple.take(asked);
        if let Some(why) = complaint {
            let text = format!("stapling: {}: {why}", staple.responder());
            log::of_server(&thread, &server, Severity::Error, "ssl", &text);
        }
        tokio::select! {
            _ = drain.wait_for(|drains| *drains) => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
