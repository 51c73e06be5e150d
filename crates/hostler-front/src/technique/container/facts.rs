//! A request as a servlet container is told of it (AJP's forward request).

use crate::request::connection::{Tls, Validity};
use crate::request::tls_facts;
use crate::request::{Request, variables};
use crate::technique::outgoing;
use bytes::Bytes;
use hostler_ajp::{Attribute, ForwardRequest, TooLong};
use hostler_gateway::backend::ajp::{self, Ask};
use hostler_gateway::backend::body::BodyLength;
use std::time::Duration;

/// Facts that the request itself does not have.
#[derive(Debug, Default)]
pub(crate) struct ContainerRequest<'a> {
    /// The target's path, encoded, without the query.
    pub(crate) path: &'a [u8],
    /// The server's name for the container; `None`: the one that the client used.
    pub(crate) server_name: Option<&'a [u8]>,
    /// Attributes beyond those that every container is told.
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// The longest packet, in bytes.
    pub(crate) packet: usize,
    /// The longest silence of the container; `None`: `Timeout`.
    pub(crate) timeout: Option<Duration>,
    /// mod_jk's differences from mod_proxy_ajp.
    pub(crate) as_jk: AsJk,
    /// The connection is closed behind the answer.
    pub(crate) is_last: bool,
}

/// mod_jk's differences from mod_proxy_ajp.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsJk {
    /// A request without a body has a length of zero.
    pub(crate) says_zero: bool,
    /// `JkExtractSSL Off`: nothing is told of TLS.
    pub(crate) hides_tls: bool,
    /// `JkOptions ForwardLocalAddress`: the server's address stands for the client's.
    pub(crate) local_address: bool,
}

/// The first packet of a request with such a body, and what has to be known of it further on.
///
/// # Errors
/// [`TooLong`]: its fields don't fit into a packet.
pub(crate) fn encode(
    request: &Request,
    told: &ContainerRequest<'_>,
    body: BodyLength,
) -> Result<(Bytes, Ask), TooLong> {
    let length = length_field(request, told.as_jk, body);
    let own = |name: &[u8]| name.eq_ignore_ascii_case(b"Content-Length");
    let fields = request.target.headers_in.iter();
    let mut headers: Vec<(&[u8], &[u8])> = fields
        .filter(|(name, _)| outgoing::container_has(name) && !own(name))
        .map(|(name, value)| (&**name, &**value))
        .collect();
    headers.extend(length.as_ref().map(|length| (&b"content-length"[..], length.as_bytes())));
    let texts = Texts::of(request, told.as_jk);
    let mut attributes = texts.attributes(request);
    attributes.extend_from_slice(&told.attributes);
    let forward = ForwardRequest {
        method: &request.target.method,
        protocol: variables::protocol(request).as_bytes(),
        req_uri: told.path,
        remote_addr: texts.remote.as_bytes(),
        remote_host: request.client.peer.names.client().map(str::as_bytes),
        server_name: told.server_name.unwrap_or(&texts.server_name),
        // Quirk(tomcat): it takes it for the port that was connected to; the one that the client has named stands in Host.
        server_port: request.client.peer.local.port(),
        is_ssl: request.client.peer.tls.is_some() && !told.as_jk.hides_tls,
        headers: &headers,
        attributes: &attributes,
    };
    Ok((
        ajp::head(&forward, told.packet)?,
        Ask { body, packet: told.packet, is_ping: false, is_last: told.is_last },
    ))
}

/// The length that a container is told in the fields. Without a body it would wait for one of any other length than zero, and a
/// length beside chunks is a lie about one of them.
fn length_field(request: &Request, as_jk: AsJk, body: BodyLength) -> Option<String> {
    match body {
        BodyLength::Known(length) => Some(length.to_string()),
        BodyLength::Nothing => (as_jk.says_zero || outgoing::says_zero(request)).then(|| "0".to_owned()),
        BodyLength::Unknown => None,
    }
}

/// Values made for a head, which only borrows.
struct Texts {
    remote: String,
    remote_port: String,
    local: String,
    server_name: Vec<u8>,
    certificate: Option<String>,
    hides_tls: bool,
}

impl Texts {
    fn of(request: &Request, as_jk: AsJk) -> Self {
        let local = request.client.peer.local.ip().to_string();
        let (remote, port) = match as_jk.local_address {
            true => (local.clone(), 0),
            false => (request.client.peer.remote.ip().to_string(), request.client.peer.remote.port()),
        };
        Self {
            remote,
            remote_port: port.to_string(),
            local,
            hides_tls: as_jk.hides_tls,
            server_name: variables::server_name(request),
            certificate: request.client.peer.tls.as_ref().and_then(certificate),
        }
    }

    /// Returns the attributes that AJP defines, and mod_proxy_ajp's names for the rest.
    fn attributes<'a>(&'a self, request: &'a Request) -> Vec<Attribute<'a>> {
        let mut all = vec![
            Attribute::Named(b"AJP_REMOTE_PORT", self.remote_port.as_bytes()),
            Attribute::Named(b"AJP_LOCAL_ADDR", self.local.as_bytes()),
        ];
        all.extend(request.user.as_deref().map(Attribute::RemoteUser));
        all.extend(request.auth_type.as_deref().map(Attribute::AuthType));
        all.extend(request.target.args.as_deref().map(Attribute::QueryString));
        if let Some(tls) = request.client.peer.tls.as_ref().filter(|_| !self.hides_tls) {
            all.push(Attribute::SslCipher(tls.cipher.as_bytes()));
            all.push(Attribute::Named(b"AJP_SSL_PROTOCOL", tls.protocol.as_bytes()));
            let bits = tls_facts::value(tls, "SSL_CIPHER_USEKEYSIZE");
            let bits = bits.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
            all.extend(bits.map(Attribute::SslKeySize));
            all.extend(self.certificate.as_ref().map(|pem| Attribute::SslCert(pem.as_bytes())));
        }
        all
    }
}

/// The client's certificate in PEM, for programs that take it as proof of an identity: one that was verified, or any where
/// the configuration accepts every issuer (`SSLVerifyClient optional_no_ca`).
pub(crate) fn certificate(tls: &Tls) -> Option<String> {
    let client = tls.client.as_ref()?;
    let is_wanted = match client.validity {
        Validity::Valid(_) => true,
        Validity::UnknownIssuer => client.any_issuer,
        Validity::Invalid(_) => false,
    };
    is_wanted.then(|| client.facts.pem())
}
