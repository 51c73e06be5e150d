//! Document roots by the name or address that a request came to (mod_vhost_alias).
//!
//! **Diagnostics**: a name that makes no directory's name is told of in the virtual host's ErrorLog under `vhost_alias`.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::settings::DocumentRoot;
use crate::request::variables;
use bytes::Bytes;
use hostler_config::directives::vhost_alias::Source;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Translate,
        after: &["alias"],
        before: &["core"],
        when: |request| request.server.conf.vhost_alias.rule(&request.target.uri).is_some(),
        effect: Effect::Decides,
        run: Run::Now(translate),
    }],
    // A path is remembered by its virtual host, and here the name counts too.
    ..Module::new("vhost_alias", |request| request.server.conf.vhost_alias.is_set())
};

fn translate(request: &mut Request) -> Outcome {
    let server = request.server.clone();
    let uri = request.target.uri.clone();
    let Some((rule, rest, is_script)) = server.conf.vhost_alias.rule(&uri) else { return Ok(Flow::Declined) };
    let name = match rule.source {
        Source::Name => variables::server_name(request),
        Source::Address => request.client.peer.local.ip().to_string().into_bytes(),
    };
    let Some(root) = rule.directory(&name, variables::server_port(request)) else {
        let message = format!(
            "\"{}\" makes no name of a directory (VirtualDocumentRoot, VirtualScriptAlias)",
            String::from_utf8_lossy(&name)
        );
        log::request(request, Severity::Error, "vhost_alias", &message);
        return Err(Halt::Status(404));
    };
    request.resource.filename = [&root[..], rest].concat();
    if is_script {
        request.notes.set("alias-forced-type", Bytes::from_static(b"cgi-script"));
    }
    request.resource.context_prefix = if is_script { b"/cgi-bin".to_vec() } else { Vec::new() };
    request.resource.context_document_root = Some(root.clone());
    request.slots.put(DocumentRoot(root));
    Ok(Flow::Ok)
}
