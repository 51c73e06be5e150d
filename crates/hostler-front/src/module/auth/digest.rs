//! Digest authentication (RFC 7616, with MD5 and `qop=auth`, as Apache): the password never comes, only what was signed with
//! it. What is signed has a nonce of ours, so that it is good for a while only, or once.
//!
//! A nonce is its time and a hash of the time, the realm and a secret, so none has to be remembered. Counts that were used
//! are, where AuthDigestNcCheck or a lifetime of 0 asks for it: in a table of bounded size, for all threads. When that is full
//! all nonces made before are stale: who has one is told, and signs anew without asking anybody.
//!
//! Each front has a secret of its own: after a reload nonces are stale in the same way.

mod nonce;

use super::{incomplete, providers, realm};
use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
use bytes::Bytes;
use hostler_config::directives::auth::AuthType;
use hostler_config::directives::auth::digest::{Digest, Field};
use hostler_rewrite::Function::Unescape;
use nonce::{Age, Use};

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::Authn,
            after: &["perl"],
            before: &["auth_basic"],
            when: |request| request.resource.dir.auth.kind == Some(AuthType::Digest),
            effect: Effect::Decides,
            run: Run::Later(|request| Box::pin(login(request))),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["auth_basic"],
            before: &[],
            when: |request| request.notes.contains(SIGNED),
            effect: Effect::Notes,
            run: Run::Now(|request| {
                if let Some(signed) = request.notes.find(SIGNED).cloned() {
                    request.reply.headers_out.set("Authentication-Info", signed);
                }
                Ok(Flow::Ok)
            }),
        },
    ],
    ..Module::new("auth_digest", |request| request.user.is_some())
};

/// The note of what the server signs in turn.
const SIGNED: &str = "digest-authentication-info";
/// Seconds before the end of a nonce when the client gets the next one.
const NEXT: i64 = 30;

fn lifetime(request: &Request) -> i64 {
    request.resource.dir.auth.digest.as_ref().and_then(|digest| digest.lifetime).unwrap_or(300)
}

/// Asks for a login; `stale`: what was signed is right, but its nonce is old.
pub(super) async fn challenge(request: &mut Request, stale: bool) -> Halt {
    let realm = match realm(request).await {
        Ok(Some(realm)) => realm,
        Ok(None) => return incomplete(request, "AuthName"),
        Err(halt) => return halt,
    };
    let dir = request.resource.dir.clone();
    let quoted = crate::request::expr_host::with_host(request, |host| dir.auth.quoted_realm(host)).await;
    let quoted = quoted.ok().flatten().unwrap_or_default();
    let mut field = [b"Digest realm=\"", &*quoted, b"\", nonce=\"", &*nonce::fresh(&realm)].concat();
    field.extend_from_slice(b"\", algorithm=MD5");
    let domain = dir.auth.digest.as_ref().map_or(&[][..], |digest| &digest.domain);
    if !domain.is_empty() {
        field.extend_from_slice(format!(", domain=\"{}\"", domain.join(" ")).as_bytes());
    }
    if stale {
        field.extend_from_slice(b", stale=true");
    }
    field.extend_from_slice(b", qop=\"auth\"");
    request.reply.err_headers_out.set("WWW-Authenticate", field);
    Halt::Status(401)
}

async fn login(request: &mut Request) -> Outcome {
    let Some(realm) = realm(request).await? else { return Err(incomplete(request, "AuthName")) };
    let field = request.header("Authorization").map(<[u8]>::to_vec);
    let uri = String::from_utf8_lossy(&request.target.uri).into_owned();
    let digest = match field.as_deref().map(Field::parse) {
        None => return Err(challenge(request, false).await),
        Some(Field::Whole(digest)) => digest,
        Some(Field::Other) => {
            return refuse(request, format!("AH01781: client used wrong authentication scheme: {uri}")).await;
        }
        Some(Field::Malformed) => {
            let what = "AH01782: missing user, realm, nonce, uri, digest, cnonce, or nonce_count in authorization header";
            return refuse(request, format!("{what}: {uri}")).await;
        }
    };
    // Known in the log even when the password is wrong.
    request.user = Some(Bytes::copy_from_slice(digest.user.as_bytes()));
    if !is_about(request, &digest) {
        let target = String::from_utf8_lossy(&request.original().client.target).into_owned();
        let message =
            format!("AH01786: uri mismatch - <{}> does not match request-uri <{target}>", digest.uri);
        log::request(request, Severity::Error, "auth_digest", &message);
        return Err(Halt::Status(400));
    }
    if let Some(why) = wrong(&digest, &realm) {
        return refuse(request, why).await;
    }
    let Ok(name) = std::str::from_utf8(&realm) else {
        return Err(incomplete(request, "an AuthName in UTF-8"));
    };
    let Some(stored) = providers::stored_digest(request, &digest.user, name).await? else {
        let message = format!("AH01790: user `{}' in realm `{name}' not found: {uri}", digest.user);
        return refuse(request, message).await;
    };
    if !digest.is_signed(&stored, &request.original().target.method.clone()) {
        return refuse(request, format!("AH01794: user {}: password mismatch: {uri}", digest.user)).await;
    }
    used(request, &digest, &realm).await?;
    let next = match lifetime(request) {
        lifetime
            if lifetime == 0
                || (lifetime > 0 && nonce::age(&digest.nonce, &realm).is_over(lifetime - NEXT)) =>
        {
            format!(", nextnonce=\"{}\"", String::from_utf8_lossy(&nonce::fresh(&realm)))
        }
        _ => String::new(),
    };
    let Digest { client_nonce, count, qop, .. } = &*digest;
    // What the client chose goes back into a field: what could end it, or its quotes, does not.
    if [client_nonce, count, qop]
        .iter()
        .all(|text| text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\'))
    {
        let signed = digest.countersigned(&stored);
        let info = format!("rspauth=\"{signed}\", cnonce=\"{client_nonce}\", nc={count}, qop={qop}{next}");
        request.notes.set(SIGNED, info);
    }
    request.auth_type = Some(Bytes::from_static(b"Digest"));
    Ok(Flow::Ok)
}

async fn refuse(request: &mut Request, why: String) -> Outcome {
    log::request(request, Severity::Error, "auth_digest", &why);
    Err(challenge(request, false).await)
}

/// Returns a fault of the digest that no password could repair.
fn wrong(digest: &Digest, realm: &[u8]) -> Option<String> {
    if digest.realm.as_bytes() != realm {
        let expected = String::from_utf8_lossy(realm);
        return Some(format!("AH01788: realm mismatch - got `{}' but expected `{expected}'", digest.realm));
    }
    let algorithm = digest.algorithm.as_deref().unwrap_or("MD5");
    if !algorithm.eq_ignore_ascii_case("MD5") {
        return Some(format!("AH01789: unknown algorithm `{algorithm}' received: {}", digest.uri));
    }
    let counted = digest.qop == "auth" && nonce::count(&digest.count).is_some();
    (!counted).then(|| format!("AH01773: invalid nc {} received - not a number", digest.count))
}

/// Returns whether the nonce is ours, not too old, and not used more often than it may be.
async fn used(request: &mut Request, digest: &Digest, realm: &[u8]) -> Result<(), Halt> {
    let (user, nonce, lifetime) = (&digest.user, &digest.nonce, lifetime(request));
    let counts = request.resource.dir.auth.digest.as_ref().is_some_and(|digest| digest.count);
    let age = nonce::age(nonce, realm);
    let why = match age {
        Age::Foreign => Some(format!("AH01776: invalid nonce {nonce} received - hash is not ours")),
        Age::Seconds(age) if age < 0 => {
            Some(format!("AH01777: invalid nonce {nonce} received - user attempted time travel"))
        }
        Age::Seconds(age) if lifetime > 0 && age > lifetime => Some(format!(
            "AH01778: user {user}: nonce expired ({age} seconds old - max lifetime {lifetime}) - sending new nonce"
        )),
        Age::Seconds(_) => None,
    };
    if let Some(why) = why {
        log::request(request, Severity::Info, "auth_digest", &why);
        return Err(challenge(request, true).await);
    }
    if lifetime != 0 && !counts {
        return Ok(());
    }
    match nonce::take(nonce, nonce::count(&digest.count).unwrap_or_default(), lifetime == 0) {
        Use::Fresh => Ok(()),
        Use::Forgotten => Err(challenge(request, true).await),
        Use::Again if lifetime == 0 => {
            let message =
                format!("AH01779: user {user}: one-time-nonce {nonce} already used - sending new nonce");
            log::request(request, Severity::Info, "auth_digest", &message);
            Err(challenge(request, true).await)
        }
        Use::Again => {
            let message = format!(
                "AH01774: Warning, possible replay attack: nonce-count check failed: {} is not new for nonce {nonce}",
                digest.count
            );
            log::request(request, Severity::Warn, "auth_digest", &message);
            Err(challenge(request, false).await)
        }
    }
}

/// Returns whether what was signed is about this request.
fn is_about(request: &Request, digest: &Digest) -> bool {
    let signed = digest.uri.as_bytes();
    let target = &request.original().client.target;
    if signed == &target[..] {
        return true;
    }
    let (host, path, query) = parts(signed);
    let (_, own_path, own_query) = parts(target);
    let own_host = request.original().header("Host").unwrap_or_default();
    host.is_none_or(|host| host.eq_ignore_ascii_case(own_host))
        && query == own_query
        && Unescape.apply(path) == Unescape.apply(own_path)
}

/// The authority, path and query of a target.
fn parts(target: &[u8]) -> (Option<&[u8]>, &[u8], Option<&[u8]>) {
    let (path, query) = match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    };
    let scheme = [&b"http://"[..], b"https://"]
        .into_iter()
        .find(|scheme| path.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else { return (None, path, query) };
    let rest = &path[scheme.len()..];
    let slash = memchr::memchr(b'/', rest).unwrap_or(rest.len());
    (Some(&rest[..slash]), &rest[slash..], query)
}
