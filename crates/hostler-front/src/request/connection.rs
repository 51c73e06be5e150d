//! Facts about a client's connection that hold as long as it lasts.

use crate::request::certificate_facts::CertificateFacts;
use crate::request::names::Names;
use crate::request::settings;
use crate::request::thread::Thread;
use crate::request::vhost::AddressHosts;
use hostler_config::Server;
use hostler_config::directives::ssl::client::Verify;
use hostler_http1::framing::{After, KeepAlive};
use hostler_http1::head::Limits;
use hostler_http1::response::{self, Connection};
use std::borrow::Cow;
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Timeouts of a connection; they come from the default virtual host of its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// `Timeout`.
    pub(crate) timeout: Duration,
    /// `RequestReadTimeout header=`: how long a request's head may take.
    pub(crate) header: Pace,
    /// `RequestReadTimeout body=`: how long a request's body may take.
    pub(crate) body: Pace,
    /// `KeepAliveTimeout`.
    pub(crate) keep_alive_timeout: Duration,
    /// `KeepAlive`.
    pub(crate) keep_alive: bool,
    /// `MaxKeepAliveRequests`; `None`: any number.
    pub(crate) max_requests: Option<u32>,
}

/// The time allowed for data that arrives at a certain rate (`RequestReadTimeout`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// So long at first; zero: no limit.
    pub(crate) first: Duration,
    /// So long at the most; `None`: no bound while it arrives fast enough.
    pub(crate) most: Option<Duration>,
    /// Bytes that earn another second; 0: nothing does.
    pub(crate) rate: u32,
}

impl Pace {
    /// When it is too late, for something that began at `started`; `silent`: when nothing more may be waited for.
    pub(crate) fn due(&self, started: Instant, received: u64, silent: Instant) -> Instant {
        if self.first.is_zero() {
            return silent;
        }
        let earned = received.checked_div(u64::from(self.rate)).unwrap_or(0);
        let allowed = self.first + Duration::from_secs(earned);
        silent.min(started + self.most.map_or(allowed, |most| allowed.min(most)))
    }

    /// The longest that may be waited for without a byte; `otherwise` where there is no limit.
    pub(crate) fn longest(&self, otherwise: Duration) -> Duration {
        if self.first.is_zero() { otherwise } else { self.most.unwrap_or(self.first) }
    }
}

/// The results of a TLS handshake.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    /// `SSL_PROTOCOL`: `TLSv1.3`.
    pub(crate) protocol: &'static str,
    /// `SSL_CIPHER`, in OpenSSL's naming where it has one.
    pub(crate) cipher: String,
    /// The same as TLS numbers it (RFC 8446 §B.4).
    pub(crate) cipher_suite: u16,
    /// The name the client asked for (SNI).
    pub(crate) server_name: Option<String>,
    /// The handshake resumed an earlier session.
    pub(crate) resumed: bool,
    /// The certificate of the virtual host that the handshake was for.
    pub(crate) certificate: Arc<CertificateFacts>,
    /// The handshake asked the client for a certificate.
    pub(crate) asked: bool,
    /// The certificate that the client has shown.
    pub(crate) client: Option<Arc<ClientCertificate>>,
}

/// A client's certificate.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    pub(crate) facts: CertificateFacts,
    /// The certificates that came with it.
    pub(crate) chain: Vec<CertificateFacts>,
    pub(crate) validity: Validity,
    /// Somewhere in the virtual host it does not matter who has signed it (`optional_no_ca`).
    pub(crate) any_issuer: bool,
}

/// The result of checking a client's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// Good; so many certificates stand above it.
    Valid(usize),
    /// No trusted authority has signed it.
    UnknownIssuer,
    /// It can't be relied upon, in OpenSSL's words.
    Invalid(String),
}

impl Validity {
    /// Why it is not good enough for this `SSLVerifyClient` and `SSLVerifyDepth`.
    pub(crate) fn refusal(&self, verify: Verify, depth: u8) -> Option<Cow<'_, str>> {
        match self {
            _ if verify == Verify::None => None,
            Self::Valid(above) if *above <= usize::from(depth) => None,
            Self::Valid(_) => Some("certificate chain too long (SSLVerifyDepth)".into()),
            Self::UnknownIssuer if verify == Verify::OptionalNoCa => None,
            Self::UnknownIssuer => Some("unable to get local issuer certificate".into()),
            Self::Invalid(why) => Some(why.into()),
        }
    }
}

/// The other side of a connection.
pub(crate) struct Peer {
    /// Unique within the front's life (`%L` is made of it).
    pub(crate) id: u64,
    pub(crate) local: SocketAddr,
    /// The client.
    pub(crate) remote: SocketAddr,
    /// The connecting peer: the client, or a trusted proxy.
    pub(crate) connected: SocketAddr,
    /// Virtual hosts that this address and port may reach.
    pub(crate) hosts: Arc<AddressHosts>,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<Tls>,
    pub(crate) names: Names,
    /// Requests answered so far (`%k`).
    pub(crate) requests: Rc<Cell<u32>>,
}

/// An IPv4 address that came in over an IPv6 socket is shown and compared as IPv4.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), address.port()),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

/// Returns the settings of an address's default virtual host.
fn settings(server: &Server) -> Settings {
    let (header, body) = settings::read_timeouts(server);
    Settings {
        timeout: settings::timeout(server),
        header,
        body,
        keep_alive_timeout: settings::keep_alive_timeout(server),
        keep_alive: settings::keep_alive(server),
        max_requests: settings::max_keep_alive_requests(server),
    }
}

impl Peer {
    /// Creates a connection from the facts known at its start.
    pub(crate) fn new(
        thread: &Rc<Thread>,
        local: SocketAddr,
        remote: SocketAddr,
        connected: SocketAddr,
        tls: Option<Tls>,
    ) -> Rc<Self> {
        let hosts = thread.hosts(local);
        let server = hosts.default_server();
        Rc::new(Self {
            id: u64::from(thread.shared.next_connection.fetch_add(1, Ordering::Relaxed)),
            local,
            remote,
            connected,
            settings: settings(server),
            limits: settings::head_limits(server),
            hosts: hosts.clone(),
            tls,
            names: Names::default(),
            requests: Rc::new(Cell::new(0)),
        })
    }

    /// The same connection, for a request that a proxy hands on for this client.
    pub(crate) fn of_client(known: &Self, client: IpAddr) -> Self {
        Self {
            id: known.id,
            local: known.local,
            remote: SocketAddr::new(client, known.remote.port()),
            connected: known.connected,
            hosts: known.hosts.clone(),
            settings: known.settings,
            limits: known.limits,
            tls: known.tls.clone(),
            names: Names::default(),
            requests: known.requests.clone(),
        }
    }

    /// Returns whether a further request may follow the one being answered. Quirk(apache): the limit is of those that
    /// follow the first.
    pub(crate) fn may_continue(&self) -> bool {
        self.settings.keep_alive && self.settings.max_requests.is_none_or(|max| self.requests.get() < max)
    }

    /// Returns the `Connection` field of a response, from the client's wish and whether the connection stays.
    pub(crate) fn connection(&self, wish: KeepAlive, stays: bool) -> Connection {
        if !stays {
            Connection::Close
        } else if wish.explicit {
            Connection::Tell(self.settings.keep_alive_timeout.as_secs(), self.requests_left())
        } else {
            Connection::Keep
        }
    }

    /// Tells what becomes of the connection with an answer made on a fast path: that is known before it is made.
    pub(crate) fn tell_connection(&self, wish: KeepAlive, is_draining: bool, out: &mut Vec<u8>) -> After {
        let stays = wish.persistent && !is_draining && self.may_continue();
        response::connection(out, self.connection(wish, stays));
        wish.after(stays)
    }

    /// Returns how many further requests may follow, for the Keep-Alive field.
    pub(crate) fn requests_left(&self) -> Option<u32> {
        self.settings.max_requests.map(|max| max.saturating_sub(self.requests.get()))
    }
}
