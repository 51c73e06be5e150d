//! The type of a file: media type, encoding, language, handler, filters, from its name and from sections.

use crate::request::{FileEntry, Request};
use bytes::Bytes;
use hostler_config::directives::core::Setting;
use hostler_config::directives::mime;

/// The handler and type of directories.
pub(crate) const DIRECTORY: &[u8] = DIRECTORY_NAME.as_bytes();

/// The same, as the table of handlers has it.
pub(crate) const DIRECTORY_NAME: &str = "httpd/unix-directory";

/// Fills type, encoding, languages, handler and filters.
pub(crate) fn check(request: &mut Request) {
    let (server, dir) = (request.server.clone(), request.resource.dir.clone());
    aliased(request);
    if request.resource.found.is_directory() {
        request.resource.content_type = Some(Bytes::from_static(DIRECTORY));
    } else {
        from_name(request, &server.conf.mime, &dir.mime);
    }
    force(request);
}

/// The same once more, as configuration was added; `named`: a function has said what it is, so that only what sections
/// say of it counts more.
pub(crate) fn check_again(request: &mut Request, named: bool) {
    if !named {
        check(request);
        return;
    }
    if request.resource.handler.is_none() {
        aliased(request);
    }
    force(request);
}

/// The handler of the alias that has led here (`ScriptAlias`). What names say of handlers (`AddHandler`) counts more.
fn aliased(request: &mut Request) {
    if let Some(handler) = request.notes.find("alias-forced-type").cloned() {
        request.resource.handler = Some(handler);
    }
}

/// Applies the sections' settings, whatever the file is.
fn force(request: &mut Request) {
    let dir = request.resource.dir.clone();
    if let Some(forced) = dir.core.force_type.as_ref().and_then(|setting| word(request, setting)) {
        request.resource.content_type = Some(forced);
    }
    if let Some(handler) = dir.core.handler.as_ref().and_then(|setting| word(request, setting)) {
        request.resource.handler = Some(handler);
    }
}

/// The changes of [`check`], to undo them for a request whose phases run in another way.
pub(crate) struct SavedTypes {
    content_type: Option<Bytes>,
    content_encoding: Option<Bytes>,
    content_languages: Vec<Bytes>,
    handler: Option<Bytes>,
    filters: Vec<Bytes>,
}

impl SavedTypes {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            content_type: request.resource.content_type.clone(),
            content_encoding: request.resource.content_encoding.clone(),
            content_languages: request.resource.content_languages.clone(),
            handler: request.resource.handler.clone(),
            filters: request.reply.filters.clone(),
        }
    }

    pub(crate) fn restore(self, request: &mut Request) {
        request.resource.content_type = self.content_type;
        request.resource.content_encoding = self.content_encoding;
        request.resource.content_languages = self.content_languages;
        request.resource.handler = self.handler;
        request.reply.filters = self.filters;
    }
}

fn from_name(request: &mut Request, server: &mime::Server, dir: &mime::Dir) {
    let name = request.basename().to_vec();
    let facts = mime::check(&name, &request.resource.path_info, dir, server.types());
    if let Some(content_type) = facts.content_type {
        request.resource.content_type = Some(Bytes::copy_from_slice(content_type.as_bytes()));
    }
    if let Some(encoding) = facts.encoding {
        request.resource.content_encoding = Some(Bytes::copy_from_slice(encoding.as_bytes()));
    }
    request.resource.content_languages =
        facts.languages.iter().map(|l| Bytes::copy_from_slice(l.as_bytes())).collect();
    if request.resource.content_languages.is_empty()
        && let Some(language) = &dir.default_language
    {
        request.resource.content_languages.push(Bytes::copy_from_slice(language.as_bytes()));
    }
    if let Some(handler) = facts.handler {
        request.resource.handler = Some(Bytes::copy_from_slice(handler.as_bytes()));
    }
    request.reply.filters =
        facts.output_filters.iter().map(|f| Bytes::from(f.to_ascii_lowercase())).collect();
    if matches!(request.resource.found, FileEntry::Nothing) && request.resource.handler.is_none() {
        // Nothing is served from here; a type would only decide about filters of the error page.
        request.reply.filters.clear();
    }
}

/// A setting's word; `None` leaves what the name says.
fn word(request: &Request, setting: &Setting) -> Option<Bytes> {
    let computed;
    let setting = match setting {
        Setting::Expr(expr) => {
            let host = crate::request::expr_host::RequestHost::new(request);
            let text = expr.string(&host, &hostler_expr::Captures::new()).ok()?;
            computed = Setting::word(&String::from_utf8_lossy(&text));
            &computed
        }
        other => other,
    };
    match setting {
        Setting::Word(word) if !word.is_empty() => Some(Bytes::copy_from_slice(word.as_bytes())),
        _ => None,
    }
}
