//! One request as a stream, and the connections that streams share.

use crate::load::plan::Target;
use crate::load::tally::{End, Failure, Tally};
use crate::load::tls::Tls;
use anyhow::{Context, Result};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::{Method, Request, Version};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

/// Clients that share a connection: about what a page's images and scripts make a browser ask for at a time.
const CLIENTS: u32 = 8;

/// Bytes that a stream, and a connection, may send before they are taken: browsers allow about as many.
const WINDOW: u32 = 4 << 20;

/// A connection, if there is one.
type Line = Rc<Mutex<Option<SendRequest<Bytes>>>>;

/// The connections to a target.
pub(super) struct Lines {
    pub(super) target: Target,
    tls: Option<Tls>,
    requests: Vec<Request<()>>,
    form: Option<Bytes>,
    keep_alive: bool,
    lines: RefCell<Vec<Line>>,
}

/// Why a request failed.
enum Fault {
    /// The server's fault.
    Failed(Failure),
    /// The connection was on its end before it took the request.
    NotTaken,
    /// The generator's.
    Own(anyhow::Error),
}

impl Lines {
    pub(super) fn new(target: &Target, keep_alive: bool) -> Result<Self> {
        let hosts = if target.hosts.is_empty() { std::slice::from_ref(&target.host) } else { &target.hosts };
        let requests = hosts.iter().map(|host| request(target, host)).collect::<Result<_>>()?;
        let form = target.form.clone().map(Bytes::from);
        let tls = Tls::of(target, &[b"h2"])?;
        Ok(Self { target: target.clone(), tls, requests, form, keep_alive, lines: RefCell::default() })
    }

    /// A request of a client's, on the connection that it has a part in.
    pub(super) async fn exchange(&self, number: u32, host: usize, tally: &RefCell<Tally>) -> Result<End> {
        let line = self.line(number);
        let mut retried = false;
        loop {
            let fault = match self.attempt(&line, host, tally).await {
                Ok(end) => return Ok(end),
                Err(fault) => fault,
            };
            match fault {
                // RFC 9113 §8.7: a request that the server did not take may be sent again.
                Fault::NotTaken if !retried => {
                    retried = true;
                    tally.borrow_mut().retried();
                }
                Fault::NotTaken => return Ok(End::Failed(Failure::Broken)),
                Fault::Failed(failure) => return Ok(End::Failed(failure)),
                Fault::Own(fault) => return Err(fault),
            }
        }
    }

    fn line(&self, number: u32) -> Line {
        if !self.keep_alive {
            return Line::default();
        }
        let index = (number / CLIENTS) as usize;
        let mut lines = self.lines.borrow_mut();
        if lines.len() <= index {
            lines.resize_with(index + 1, Line::default);
        }
        Rc::clone(&lines[index])
    }

    async fn attempt(&self, line: &Line, host: usize, tally: &RefCell<Tally>) -> Result<End, Fault> {
        let sender = {
            // Who comes first connects; the others wait for it.
            let mut line = line.lock().await;
            match line.as_ref() {
                Some(sender) => sender.clone(),
                None => line.insert(self.connect(tally).await?).clone(),
            }
        };
        let asked = self.ask(sender, host).await;
        if let Err(Fault::NotTaken | Fault::Failed(Failure::Broken | Failure::Wrong)) = asked {
            *line.lock().await = None;
        }
        asked
    }

    async fn connect(&self, tally: &RefCell<Tally>) -> Result<SendRequest<Bytes>, Fault> {
        tally.borrow_mut().connected();
        let socket =
            TcpStream::connect(self.target.address).await.map_err(|e| match Errno::from_io_error(&e) {
                Some(Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL) => Fault::Own(e.into()),
                _ => Fault::Failed(Failure::Connect),
            })?;
        let _ = socket.set_nodelay(true);
        let Some(tls) = &self.tls else { return over(socket).await };
        let connecting = TlsConnector::from(Arc::clone(&tls.config)).connect(tls.name.clone(), socket);
        let socket = connecting.await.map_err(|_| Fault::Failed(Failure::Broken))?;
        if socket.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(Fault::Failed(Failure::Wrong));
        }
        over(socket).await
    }

    async fn ask(&self, sender: SendRequest<Bytes>, host: usize) -> Result<End, Fault> {
        let mut sender = sender.ready().await.map_err(|_| Fault::NotTaken)?;
        let request = self.requests[host % self.requests.len()].clone();
        let (response, mut stream) =
            sender.send_request(request, self.form.is_none()).map_err(|_| Fault::NotTaken)?;
        if let Some(form) = &self.form {
            stream.send_data(form.clone(), true).map_err(|_| Fault::NotTaken)?;
        }
        let (head, mut body) = response.await.map_err(|e| fault(&e))?.into_parts();
        let mut bytes = 0;
        while let Some(data) = body.data().await {
            let length = data.map_err(|e| fault(&e))?.len();
            bytes += length as u64;
            let _ = body.flow_control().release_capacity(length);
        }
        Ok(End::Answered { status: head.status.as_u16(), bytes })
    }
}

/// HTTP/2 over a connection.
async fn over<T>(socket: T) -> Result<SendRequest<Bytes>, Fault>
where
    T: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let mut builder = Builder::new();
    builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).enable_push(false);
    let (sender, connection) = builder.handshake(socket).await.map_err(|e| fault(&e))?;
    tokio::task::spawn_local(async move { drop(connection.await) });
    Ok(sender)
}

fn request(target: &Target, host: &str) -> Result<Request<()>> {
    let method = if target.form.is_some() { Method::POST } else { Method::GET };
    let mut request = Request::builder()
        .method(method)
        .version(Version::HTTP_2)
        .uri(format!("{}://{host}{}", if target.tls { "https" } else { "http" }, target.path))
        .header("user-agent", "hostler-lab")
        .header("accept", "*/*");
    if let Some(form) = &target.form {
        request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .header("content-length", form.len());
    }
    request.body(()).with_context(|| format!("{host}{} cannot be asked for", target.path))
}

/// Classifies an error.
fn fault(error: &h2::Error) -> Fault {
    let refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if refused || error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR) {
        return Fault::NotTaken;
    }
    let io = error.get_io().map(std::io::Error::kind);
    match io {
        Some(ErrorKind::InvalidData) => Fault::Failed(Failure::Wrong),
        // What the library finds wrong in what the server sent.
        None if !error.is_remote() => Fault::Failed(Failure::Wrong),
        _ => Fault::Failed(Failure::Broken),
    }
}
