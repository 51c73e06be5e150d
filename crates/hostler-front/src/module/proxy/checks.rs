//! Active checks of balancers' members (mod_proxy_hcheck): each member that is to be checked has a task, which asks it again and
//! again, as long as this front serves. A member that fails so often as `hcfails` says takes no requests until it has passed
//! `hcpasses` checks.
//!
//! **Runs as** the front. **Diagnostics**: under `proxy_hcheck`, when a member is given up, and when it is back.

use super::secure;
use crate::log::{self, Severity};
use crate::request::thread::Thread;
use crate::technique::sockets;
use crate::technique::upstreams::Upstreams;
use hostler_config::Server;
use hostler_config::directives::proxy::checks::{CheckMethod, INTERVAL};
use hostler_config::directives::proxy::{Balancer as BalancerConfig, Worker};
use hostler_expr::{Answer, Captures, Host, Variable};
use hostler_gateway::backend::http::{Event, RequestFacts, Sending, ServerAnswer};
use hostler_gateway::upstream::{Connection, Exchange, Request, Target, Upstream};
use hostler_http1::answer::Limits;
use std::borrow::Cow;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Most of an answer's body that conditions see, in bytes.
const BODY: usize = 64 << 10;
/// A ping of AJP13, and its answer.
const CPING: [u8; 5] = [0x12, 0x34, 0, 1, 10];
const CPONG: [u8; 5] = [0x41, 0x42, 0, 1, 9];

/// Begins all checks; for one thread of the front.
pub(crate) fn begin(thread: &Rc<Thread>) {
    let config = thread.shared.config.clone();
    let mut seen: Vec<*const BalancerConfig> = Vec::new();
    for server in config.servers.iter().filter(|server| server.user_of.is_none()) {
        for said in &server.conf.proxy.balancers {
            if seen.contains(&Arc::as_ptr(said)) {
                continue;
            }
            seen.push(Arc::as_ptr(said));
            let Some(balancer) = thread.shared.of::<Upstreams>().balancer(said) else { continue };
            for (member, upstream) in said.members.iter().zip(balancer.members()) {
                let is_checked = member.worker.parameters.check.method.unwrap_or(CheckMethod::None);
                if is_checked != CheckMethod::None {
                    let check = Check {
                        thread: thread.clone(),
                        server: server.clone(),
                        worker: member.worker.clone(),
                        upstream: upstream.clone(),
                    };
                    tokio::task::spawn_local(check.run());
                }
            }
        }
    }
}

/// One member's.
struct Check {
    thread: Rc<Thread>,
    server: Arc<Server>,
    worker: Worker,
    upstream: Arc<Upstream>,
}

/// The parts of a response that a condition may use.
struct CheckAnswer {
    said: ServerAnswer,
    body: Vec<u8>,
}

impl Host for CheckAnswer {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        Answer::Ready(match variable {
            Variable::RequestStatus => Some(self.said.head.status.to_string().into_bytes().into()),
            _ => None,
        })
    }

    fn request_header(&self, _: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name = std::str::from_utf8(name).ok()?;
        let value = self.said.head.all(&self.said.bytes, name).next()?;
        Some(Cow::Owned(value.to_vec()))
    }

    /// `hc('body')`
    fn note(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        (name == b"body").then_some(Cow::Borrowed(&self.body[..]))
    }

    fn request_env<'a>(&'a self, _: &[u8], _: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }
}

impl Check {
    async fn run(self) {
        let check = &self.worker.parameters.check;
        let (most_passes, most_fails) = (check.passes.unwrap_or(1), check.fails.unwrap_or(1));
        let mut drain = self.thread.shared.drain.clone();
        let (mut passes, mut fails) = (0, 0);
        loop {
            let limit = self.limit();
            let checked = tokio::select! {
                _ = drain.wait_for(|drains| *drains) => return,
                checked = tokio::time::timeout(limit, self.check(limit)) => checked,
            };
            match checked.unwrap_or_else(|_| Err(format!("no answer within {limit:?}"))) {
                Ok(()) => {
                    (passes, fails) = (passes + 1, 0);
                    if self.upstream.has_failed_checks() && passes >= most_passes {
                        self.upstream.set_failed_checks(false);
                        self.upstream.recover();
                        self.tell(Severity::Info, "it passes its checks again, and takes requests");
                    }
                }
                Err(why) => {
                    (passes, fails) = (0, fails + 1);
                    if !self.upstream.has_failed_checks() && fails >= most_fails {
                        self.upstream.set_failed_checks(true);
                        self.tell(
                            Severity::Error,
                            &format!("it takes no requests until it passes its checks: {why}"),
                        );
                    }
                }
            }
            tokio::select! {
                _ = drain.wait_for(|drains| *drains) => return,
                () = tokio::time::sleep(check.interval.unwrap_or(INTERVAL)) => {}
            }
        }
    }

    fn tell(&self, severity: Severity, why: &str) {
        let text = format!("{}: {why}", self.upstream.name());
        log::of_server(&self.thread, &self.server, severity, "proxy_hcheck", &text);
    }

    /// Returns the time limit of a check.
    fn limit(&self) -> Duration {
        let conf = &self.server.conf.proxy;
        let usual = || conf.timeout.unwrap_or_else(|| crate::request::settings::timeout(&self.server));
        self.worker.parameters.timeout.unwrap_or_else(usual)
    }

    async fn check(&self, limit: Duration) -> Result<(), String> {
        let method = self.worker.parameters.check.method.unwrap_or(CheckMethod::None);
        let mut connection = self.connect(limit).await?;
        match method {
            CheckMethod::None | CheckMethod::Tcp => Ok(()),
            CheckMethod::Cping => ping(&mut connection).await,
            CheckMethod::Http(method, is_new) => self.ask(connection, method, is_new, limit).await,
        }
    }

    async fn connect(&self, limit: Duration) -> Result<Connection, String> {
        let limit = self.worker.parameters.connect_timeout.unwrap_or(limit);
        let plain = match self.upstream.target() {
            Target::Tcp(..) => {
                let from = self.server.conf.proxy.source_address;
                self.upstream.connect(from, limit).await.map_err(|why| why.to_string())?
            }
            Target::Unix(path) => {
                let socket = sockets::connect(&self.thread, &self.server, path.as_bytes(), limit).await;
                Connection::unix(socket.map_err(|why| why.to_string())?).map_err(|why| why.to_string())?
            }
        };
        match secure::of_check(&self.thread, &self.server, &self.worker.url)? {
            None => Ok(plain),
            Some(secure) => {
                let shaken = plain.shake_hands(secure).await;
                shaken.map_err(|why| format!("the TLS handshake failed: {why}"))
            }
        }
    }

    async fn ask(
        &self,
        connection: Connection,
        method: &str,
        is_new: bool,
        limit: Duration,
    ) -> Result<(), String> {
        let url = &self.worker.url;
        let path = format!("{}{}", url.path, self.worker.parameters.check.uri.as_deref().unwrap_or_default());
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        let base = url.base();
        let host = base.split_once("://").map_or("", |(_, host)| host);
        let (version, close) = if is_new { ("1.1", "Connection: close\r\n") } else { ("1.0", "") };
        let head = format!("{method} {path} HTTP/{version}\r\nHost: {host}\r\n{close}\r\n");
        let request = Request {
            head: head.into(),
            sending: Sending::None,
            asked: RequestFacts { head: method == "HEAD", upgrades: false },
            limits: Limits::default(),
            timeout: limit,
            is_last: true,
        };
        let mut exchange = Exchange::begin(connection, &request);
        let mut answered = None;
        loop {
            let event = poll_fn(|context| exchange.poll_next(context)).await;
            match (event.map_err(|failure| failure.kind.to_string())?, &mut answered) {
                (Event::Head(said), _) => answered = Some(CheckAnswer { said, body: Vec::new() }),
                (Event::Body(piece), Some(answered)) if answered.body.len() + piece.len() <= BODY => {
                    answered.body.extend_from_slice(&piece);
                }
                // Nobody looks at more of it.
                (Event::Body(_) | Event::Trailers(_) | Event::End | Event::Upgraded, _) => break,
                (Event::Interim(_), _) => {}
            }
        }
        self.judge(&answered.ok_or("there is no answer")?)
    }

    fn judge(&self, answered: &CheckAnswer) -> Result<(), String> {
        let status = answered.said.head.status;
        let name = self.worker.parameters.check.expr.as_deref();
        let Some(condition) = name.and_then(|name| self.server.conf.proxy.condition(name)) else {
            return if (200..400).contains(&status) { Ok(()) } else { Err(format!("it answers {status}")) };
        };
        match condition.expr.test(answered, &mut Captures::default()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("{} does not hold of its answer ({status})", condition.name)),
            Err(why) => Err(format!("{} can't be evaluated: {why}", condition.name)),
        }
    }
}

async fn ping(connection: &mut Connection) -> Result<(), String> {
    connection.push(bytes::Bytes::from_static(&CPING));
    poll_fn(|context| connection.poll_flush(context)).await.map_err(|why| why.to_string())?;
    let mut answer = Vec::new();
    while answer.len() < CPONG.len() {
        let mut space = [0; CPONG.len()];
        let read = poll_fn(|context| connection.poll_read(context, &mut space)).await;
        match read.map_err(|why| why.to_string())? {
            0 => return Err("it closed the connection".to_owned()),
            read => answer.extend_from_slice(&space[..read]),
        }
    }
    if answer == CPONG { Ok(()) } else { Err("it does not answer a ping".to_owned()) }
}
