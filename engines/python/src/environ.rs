//! An application's environment (PEP 3333): the CGI variables as Apache has them, and what is WSGI's and mod_wsgi's.

use crate::exchange;
use crate::metrics;
use crate::py::{self, Object, Outcome};
use crate::template::{Environment, copy, empty, tuple};
use crate::worker::{Directory, Server, Worker};
use hostler_cgi::{escape_html, script_name};
use hostler_wire::work::{RequestHead, protocol_name, request_flag};
use std::borrow::Cow;

/// The version of mod_wsgi's interface that applications find, and of the Apache that they are told of.
const MOD_WSGI: [u64; 3] = [4, 9, 4];
const APACHE: [u64; 3] = [2, 4, 55];

/// Returns the part of the environment that is the same for all requests of a directory.
pub(crate) fn template(worker: &mut Worker, server: &Server, directory: &Directory) -> Outcome {
    let (own, support) = (worker.own.clone(), worker.support.clone());
    let one_shot = worker.one_shot;
    let mut e = Environment { dictionary: empty()?, names: &mut worker.names };
    e.put("GATEWAY_INTERFACE", b"CGI/1.1")?;
    e.put("SERVER_SIGNATURE", directory.signature.as_bytes())?;
    e.put("SERVER_SOFTWARE", server.software.as_bytes())?;
    e.put("SERVER_ADMIN", server.admin.as_bytes())?;
    e.put("DOCUMENT_ROOT", server.document_root.as_bytes())?;
    e.set("wsgi.version", &tuple(&[1, 0])?)?;
    e.set("wsgi.multithread", &py::truth(false)?)?;
    e.set("wsgi.multiprocess", &py::truth(own.is_multiprocess || one_shot)?)?;
    e.set("wsgi.run_once", &py::truth(one_shot)?)?;
    e.set("wsgi.input_terminated", &py::truth(true)?)?;
    e.set("wsgi.file_wrapper", &support.name(c"FileWrapper")?)?;
    let errors = support.call(c"error_log", &[&py::text("<wsgi.errors>")?])?;
    e.set("wsgi.errors", &errors)?;
    e.set("mod_wsgi.version", &tuple(&MOD_WSGI)?)?;
    e.set("apache.version", &tuple(&APACHE)?)?;
    e.put("mod_wsgi.process_group", own.process_group.as_bytes())?;
    e.put("mod_wsgi.application_group", own.application_group.as_bytes())?;
    e.put("mod_wsgi.callable_object", directory.callable.as_bytes())?;
    let (script, handler) =
        directory.handler.as_ref().map_or(("", "wsgi-script"), |(script, name)| (script, name));
    e.put("mod_wsgi.handler_script", script.as_bytes())?;
    e.put("mod_wsgi.request_handler", handler.as_bytes())?;
    e.put("mod_wsgi.enable_sendfile", b"0")?;
    e.put("mod_wsgi.ignore_activity", b"0")?;
    e.set("mod_wsgi.thread_id", &py::number(0)?)?;
    e.put("mod_wsgi.script_reloading", if directory.reloading { b"1" } else { b"0" })?;
    Ok(e.dictionary)
}

/// The environment of a request. `serial`: its number, for its body.
pub(crate) fn of(
    worker: &mut Worker,
    template: &Object,
    head: &RequestHead<'_>,
    directory: &Directory,
    serial: &Object,
) -> Outcome {
    let (input, support) = (worker.input(head, serial)?, worker.support.clone());
    let mut e = Environment { dictionary: copy(template)?, names: &mut worker.names };
    // What the specification says that an application finds, no variable takes the place of.
    for (name, value) in head.subprocess_env.iter().filter(|(name, _)| !name.starts_with(b"wsgi.")) {
        e.put_any(name, value)?;
    }
    fields(&mut e, head, directory.pass_authorization)?;
    connection(&mut e, head)?;
    request(&mut e, head, directory)?;
    e.set("wsgi.input", &input)?;
    if let Some((fields, proxies)) = &directory.trusted {
        let (fields, proxies) = (py::text(fields)?, proxies.as_deref().map(py::text).transpose()?);
        let mut arguments = vec![&e.dictionary, &fields];
        arguments.extend(&proxies);
        support.call(c"forwarded", &arguments)?;
    }
    let tls = head.flags & request_flag::TLS != 0;
    // As mod_wsgi: programs in front of the server may say so by SetEnvIf.
    let https = e.names.of("HTTPS")?;
    let says = e.find(&https).and_then(|value| py::latin1_of(&value).ok());
    let is_secure = tls || says.is_some_and(|value| value.eq_ignore_ascii_case(b"on") || value == b"1");
    e.put("wsgi.url_scheme", if is_secure { b"https" } else { b"http" })?;
    // As mod_wsgi: the scheme is where applications are to look.
    e.remove(&https);
    Ok(e.dictionary)
}

/// Returns the environment of a script that guards: less than an application's, and as with mod_wsgi nothing about a
/// login.
pub(crate) fn of_guard(
    worker: &mut Worker,
    server: &Server,
    directory: &Directory,
    head: &RequestHead<'_>,
) -> Outcome {
    let (own, support) = (worker.own.clone(), worker.support.clone());
    let mut e = Environment { dictionary: empty()?, names: &mut worker.names };
    for (name, value) in &head.subprocess_env {
        e.put_any(name, value)?;
    }
    fields(&mut e, head, false)?;
    connection(&mut e, head)?;
    e.put("SERVER_SIGNATURE", directory.signature.as_bytes())?;
    e.put("SERVER_SOFTWARE", server.software.as_bytes())?;
    e.put("SERVER_ADMIN", server.admin.as_bytes())?;
    e.put("DOCUMENT_ROOT", server.document_root.as_bytes())?;
    let included = head.flags & request_flag::SUBREQUEST != 0;
    e.put("SERVER_PROTOCOL", protocol(head, included))?;
    e.put("REQUEST_METHOD", head.method)?;
    e.put("QUERY_STRING", head.args.unwrap_or_default())?;
    e.put("REQUEST_URI", head.unparsed_uri)?;
    e.put("SCRIPT_NAME", if included { head.uri } else { script_name(head.uri, head.path_info) })?;
    e.put("PATH_INFO", head.path_info)?;
    e.set("wsgi.errors", &support.call(c"error_log", &[&py::text("<wsgi.errors>")?])?)?;
    e.set("mod_wsgi.version", &tuple(&MOD_WSGI)?)?;
    e.set("apache.version", &tuple(&APACHE)?)?;
    e.put("mod_wsgi.process_group", own.process_group.as_bytes())?;
    e.put("mod_wsgi.application_group", own.application_group.as_bytes())?;
    e.set("mod_wsgi.script_reloading", &py::number(directory.reloading.into())?)?;
    Ok(e.dictionary)
}

/// Returns the environment of a script that chooses where applications run: the applications', without the parts that
/// are theirs alone.
pub(crate) fn of_dispatch(
    worker: &mut Worker,
    server: &Server,
    directory: &Directory,
    head: &RequestHead<'_>,
) -> Outcome {
    let template = template(worker, server, directory)?;
    let serial = py::number(0)?;
    let e = of(worker, &template, head, directory, &serial)?;
    let mut e = Environment { dictionary: e, names: &mut worker.names };
    for name in ["wsgi.input", "wsgi.file_wrapper", "mod_wsgi.callable_object"] {
        let name = e.names.of(name)?;
        e.remove(&name);
    }
    Ok(e.dictionary)
}

/// `HTTP_*`, joined where there are several of one name.
fn fields(e: &mut Environment<'_>, head: &RequestHead<'_>, pass_authorization: bool) -> Outcome<()> {
    for (at, (name, value)) in head.headers_in.iter().enumerate() {
        if name.eq_ignore_ascii_case(b"content-type") {
            e.put("CONTENT_TYPE", value)?;
            continue;
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            e.put("CONTENT_LENGTH", value)?;
            continue;
        }
        if is_withheld(name, pass_authorization)
            || head.headers_in[..at].iter().any(|other| same(other.0, name))
        {
            continue;
        }
        let Some(variable) = e.names.of_field(name)? else { continue };
        let mut further = head.headers_in[at + 1..].iter().filter(|other| same(other.0, name)).peekable();
        if further.peek().is_none() {
            py::set(&e.dictionary, &variable, &py::latin1(value)?)?;
            continue;
        }
        let separator: &[u8] = if name.eq_ignore_ascii_case(b"cookie") { b"; " } else { b", " };
        let joined = further.fold(value.to_vec(), |all, (_, value)| [&all, separator, value].concat());
        py::set(&e.dictionary, &variable, &py::latin1(&joined)?)?;
    }
    Ok(())
}

fn same(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// `Proxy` would be `HTTP_PROXY`, which programs take for their own; credentials are the server's unless
/// `WSGIPassAuthorization` says otherwise.
fn is_withheld(name: &[u8], pass_authorization: bool) -> bool {
    let is_credential =
        || [&b"authorization"[..], b"proxy-authorization"].iter().any(|field| same(field, name));
    same(name, b"proxy") || (!pass_authorization && is_credential())
}

fn connection(e: &mut Environment<'_>, head: &RequestHead<'_>) -> Outcome<()> {
    // It may come from a Host field, and programs print it into pages.
    if head.server_name.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&' | b'"')) {
        e.put("SERVER_NAME", &escape_html(head.server_name))?;
    } else {
        e.put("SERVER_NAME", head.server_name)?;
    }
    e.put("SERVER_ADDR", head.local_ip)?;
    decimal(e, "SERVER_PORT", head.server_port)?;
    e.put("REMOTE_ADDR", head.remote_ip)?;
    decimal(e, "REMOTE_PORT", head.remote_port)?;
    let tls = head.flags & request_flag::TLS != 0;
    let is_https = head.flags & request_flag::HTTPS_SCHEME != 0;
    e.put("REQUEST_SCHEME", if is_https { b"https" } else { b"http" })?;
    if tls {
        e.put("HTTPS", b"1")?;
    }
    e.put("mod_wsgi.listener_host", head.local_ip)?;
    decimal(e, "mod_wsgi.listener_port", head.local_port)?;
    e.put("mod_wsgi.request_start", head.time.to_string().as_bytes())?;
    e.put("mod_wsgi.request_id", head.log_id)
}

fn request(e: &mut Environment<'_>, head: &RequestHead<'_>, directory: &Directory) -> Outcome<()> {
    let included = head.flags & request_flag::SUBREQUEST != 0;
    e.put("CONTEXT_PREFIX", head.context_prefix)?;
    e.put("CONTEXT_DOCUMENT_ROOT", head.context_document_root)?;
    e.put("SCRIPT_FILENAME", head.filename)?;
    e.put_some("REMOTE_USER", head.user)?;
    e.put_some("AUTH_TYPE", head.ap_auth_type)?;
    e.put_some("REDIRECT_URL", head.redirect_url)?;
    e.put_some("REDIRECT_QUERY_STRING", head.redirect_query)?;
    e.put("SERVER_PROTOCOL", protocol(head, included))?;
    let is_get = directory.head_is_get && head.flags & request_flag::HEAD_ONLY != 0;
    e.put("REQUEST_METHOD", if is_get { b"GET" } else { head.method })?;
    e.put("QUERY_STRING", head.args.unwrap_or_default())?;
    e.put("REQUEST_URI", head.unparsed_uri)?;
    let script = merged(if included { head.uri } else { script_name(head.uri, head.path_info) });
    let script = &*script;
    e.put("SCRIPT_NAME", script)?;
    e.put("PATH_INFO", head.path_info)?;
    e.put_some("PATH_TRANSLATED", head.path_translated)?;
    counted(e)?;
    e.put("mod_wsgi.script_name", script)?;
    e.put("mod_wsgi.path_info", head.path_info)
}

/// Several slashes in a row are one.
fn merged(path: &[u8]) -> Cow<'_, [u8]> {
    if !path.windows(2).any(|two| two == b"//") {
        return path.into();
    }
    let mut merged = path.to_vec();
    merged.dedup_by(|next, before| (*next, *before) == (b'/', b'/'));
    merged.into()
}

/// When the application is called, and after how many others in this process.
fn counted(e: &mut Environment<'_>) -> Outcome<()> {
    e.put("mod_wsgi.script_start", metrics::called().to_string().as_bytes())?;
    let before = py::number(exchange::serial().saturating_sub(1))?;
    e.set("mod_wsgi.thread_requests", &before)?;
    e.set("mod_wsgi.total_requests", &before)
}

fn protocol(head: &RequestHead<'_>, included: bool) -> &'static [u8] {
    if included { b"INCLUDED" } else { protocol_name(head.protocol).as_bytes() }
}

fn decimal(e: &mut Environment<'_>, name: &'static str, number: u16) -> Outcome<()> {
    e.put(name, number.to_string().as_bytes())
}
