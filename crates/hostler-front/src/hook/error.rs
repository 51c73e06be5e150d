//! Error answers: ErrorDocument, or a page of our own. A page for a 5xx carries the id under which the error log
//! tells the cause.

use crate::io::body::Body;
use crate::request::Request;
use crate::request::id;
use crate::request::methods;
use crate::request::slots::{Relation, State};
use crate::request::variables;
use crate::values::status;
use bytes::Bytes;
use hostler_cgi::escape_html;
use hostler_config::directives::core::ErrorDocument;
use hostler_expr::{Captures, Expr};

/// The way an error is answered.
pub(crate) enum Answer {
    /// With this body; the request's fields are set.
    Page(Body),
    /// By another URL of this server.
    Redirect(Vec<u8>),
}

/// The URL of an error's document, for an error that a filter has come to: the request goes on there once it is filtered.
pub(crate) struct Onward(pub(crate) Vec<u8>);

impl State for Onward {
    fn copy(&self) -> Box<dyn State> {
        Box::new(Self(self.0.clone()))
    }

    fn related(&self, _: &Request, _: Relation) -> Option<Box<dyn State>> {
        None
    }
}

/// Returns whether the request continues as one for a URL of this server if its status is `status`.
pub(crate) fn is_followed(request: &Request, status: u16) -> bool {
    if status < 300 || request.is_sub() || nested_status(request).is_some() {
        return false;
    }
    match request.reply.custom_responses.iter().find(|(known, _)| *known == status) {
        Some((_, text)) => text.starts_with(b"/"),
        None => {
            matches!(request.resource.dir.core.error_documents.get(&status), Some(ErrorDocument::Local(_)))
        }
    }
}

/// Decides how to answer `status`.
pub(crate) fn document(request: &mut Request, status: u16) -> Answer {
    if request.reply.status != status {
        // The words are of another answer.
        request.reply.reason = None;
    }
    request.reply.status = status;
    if matches!(status, 405 | 501) {
        methods::allow(request);
    }
    // An error while the error's document was made: the first error is answered, plainly.
    let nested = nested_status(request);
    if let Some(original) = nested {
        request.reply.status = original;
        let also = (original != status).then_some(status);
        return Answer::Page(page(request, also));
    }
    let configured = request.resource.dir.core.error_documents.get(&status).cloned();
    let sub = request.is_sub();
    let own = request
        .reply
        .custom_responses
        .iter()
        .find(|(known, _)| *known == status)
        .map(|(_, text)| text.clone());
    if let Some(answer) = own.filter(|_| !sub).and_then(|text| custom(request, status, &text)) {
        return answer;
    }
    match configured {
        Some(ErrorDocument::Local(target)) if !sub => {
            let target = text(request, &target);
            request.env.set("REQUEST_METHOD", request.target.method.clone());
            if let Some(why) = request.notes.find("error-notes").cloned() {
                request.env.set("ERROR_NOTES", why);
            }
            Answer::Redirect(target)
        }
        Some(ErrorDocument::Remote(target)) if status != 401 && !sub => {
            let target = text(request, &target);
            request.reply.status = 302;
            request.reply.headers_out.set("Location", target);
            Answer::Page(page(request, None))
        }
        Some(ErrorDocument::Text(message)) => {
            let message = text(request, &message);
            clear(request);
            request
                .reply
                .headers_out
                .set("Content-Type", Bytes::from_static(b"text/html; charset=iso-8859-1"));
            Answer::Page(Body::Bytes(message.into()))
        }
        _ => Answer::Page(page(request, None)),
    }
}

/// Returns the response that a program has set for a status (`ap_custom_response`): a URL, or a text.
fn custom(request: &mut Request, status: u16, text: &[u8]) -> Option<Answer> {
    if text.starts_with(b"/") {
        request.env.set("REQUEST_METHOD", request.target.method.clone());
        return Some(Answer::Redirect(text.to_vec()));
    }
    if is_absolute(text) {
        if status == 401 {
            return None;
        }
        request.reply.status = 302;
        request.reply.headers_out.set("Location", text.to_vec());
        return Some(Answer::Page(page(request, None)));
    }
    let message = Bytes::copy_from_slice(text.strip_prefix(b"\"").unwrap_or(text));
    clear(request);
    request.reply.headers_out.set("Content-Type", Bytes::from_static(b"text/html; charset=iso-8859-1"));
    Some(Answer::Page(Body::Bytes(message)))
}

/// Returns whether it begins as `http://` does.
fn is_absolute(text: &[u8]) -> bool {
    let scheme = text.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    scheme > 0 && text[scheme..].starts_with(b"://")
}

/// The status of the first error, when this request is itself an error's document.
fn nested_status(request: &Request) -> Option<u16> {
    request.chain().skip(1).map(|prev| prev.reply.status).filter(|status| *status >= 300).last()
}

fn text(request: &Request, expr: &Expr) -> Vec<u8> {
    let host = crate::request::expr_host::RequestHost::new(request);
    expr.string(&host, &Captures::new()).unwrap_or_default()
}

/// Fields of a content that is not sent must not describe the page; a few belong to the status.
fn clear(request: &mut Request) {
    let keep: Vec<(&str, Bytes)> = ["Location", "Allow", "Retry-After", "Content-Range", "ETag"]
        .into_iter()
        // A failed condition tells what it was compared with (RFC 9110 §15.5.13).
        .filter(|name| *name != "ETag" || request.reply.status == 412)
        .filter_map(|name| Some((name, request.reply.headers_out.find(name)?.clone())))
        // An empty one leads nowhere.
        .filter(|(name, value)| *name != "Location" || !value.is_empty())
        .collect();
    request.reply.headers_out.clear();
    for (name, value) in keep {
        request.reply.headers_out.set(name, value);
    }
    request.resource.content_type = None;
    request.resource.content_encoding = None;
    request.resource.content_languages.clear();
    request.reply.filters.clear();
}

/// Our own page for a status, whatever the site's own documents are.
pub(crate) fn plain(request: &mut Request, status: u16) -> Body {
    request.reply.status = status;
    page(request, None)
}

/// Our own page.
fn page(request: &mut Request, also: Option<u16>) -> Body {
    clear(request);
    if request.reply.status == 204 || request.reply.status == 304 {
        return Body::Empty;
    }
    request.reply.headers_out.set("Content-Type", Bytes::from_static(b"text/html; charset=utf-8"));
    let code = request.reply.status;
    let title = format!("{code} {}", status::reason(code));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n\
         <body><main><h1>{title}</h1>\n<p>{}</p>\n",
        explanation(request)
    );
    if let Some(also) = also {
        let reason = status::reason(also);
        out.push_str(&format!(
            "<p>The page for this error could not be sent either ({also} {reason}).</p>\n"
        ));
    }
    if code >= 500 {
        let id = id::error_id(request);
        out.push_str(&format!("<p>The server's error log tells the cause under <code>{id}</code>.</p>\n"));
    }
    if let Some(list) = request.notes.find("variant-list").filter(|_| matches!(code, 300 | 406)) {
        out.push_str(&String::from_utf8_lossy(list));
    }
    signature(request, &mut out);
    out.push_str("</main></body></html>\n");
    Body::Bytes(out.into())
}

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;margin:0;color-scheme:light dark}\
                     main{max-width:40rem;margin:12vh auto;padding:0 1rem}h1{font-size:1.6rem}\
                     address{margin-top:2rem;opacity:.6;font-size:.85rem}";

fn signature(request: &Request, out: &mut String) {
    use hostler_config::directives::core::Signature;
    if request.resource.dir.core.server_signature.unwrap_or_default() == Signature::Off {
        return;
    }
    let product = crate::request::settings::product(&request.server);
    let name = variables::server_name(request);
    let name = String::from_utf8_lossy(&escape_html(&name)).into_owned();
    let port = variables::server_port(request);
    out.push_str(&format!("<address>{product} at {name} port {port}</address>\n"));
}

/// One sentence for the reader, who is a visitor of the site and not its operator.
fn explanation(request: &Request) -> String {
    let url = || String::from_utf8_lossy(&escape_html(&request.original().target.uri)).into_owned();
    let location = || {
        [&request.reply.headers_out, &request.reply.err_headers_out]
            .into_iter()
            .find_map(|all| all.find("Location"))
    };
    match request.reply.status {
        300 => "Several documents could be meant. Please choose one.".into(),
        301..400 => match location() {
            Some(location) => {
                let location = String::from_utf8_lossy(&escape_html(location)).into_owned();
                format!("It is now <a href=\"{location}\">here</a>.")
            }
            None => "It is somewhere else now.".into(),
        },
        400 => match request.notes.find("error-notes") {
            Some(why) => format!(
                "The server did not understand what the browser sent.<br>\n{}",
                String::from_utf8_lossy(why)
            ),
            None => "The server did not understand what the browser sent.".into(),
        },
        401 => "This page needs a name and a password, and these were not right.".into(),
        403 => format!("You may not see {}.", url()),
        404 => format!("Nothing is at {}.", url()),
        405 => format!("{} can't be asked for like this.", url()),
        406 => format!("{} is here, but in no version that the browser accepts.", url()),
        408 => "The browser took too long to send its request.".into(),
        410 => format!("{} was here once, and is gone for good.", url()),
        412 => "The condition that came with the request does not hold.".into(),
        413 => "What was sent is larger than this server takes.".into(),
        414 => "The address is longer than this server takes.".into(),
        416 => "The requested part of the file does not exist.".into(),
        421 => "The request came over a connection that was made for another site.".into(),
        429 => "Too many requests came at once. Please try again in a moment.".into(),
        501 => "This server can't do what was asked.".into(),
        503 if request.thread.shared.is_stopping() => {
            "This server is stopping. Please try again in a moment.".into()
        }
        503 if request.is_refused => {
            "There are too many requests at the moment. Please try again later.".into()
        }
        503 => "What answers for this page is not available at the moment. Please try again later.".into(),
        504 => "The program behind this page took too long to answer.".into(),
        500.. => "There was an internal error while this page was made.".into(),
        _ => "The request could not be answered.".into(),
    }
}
