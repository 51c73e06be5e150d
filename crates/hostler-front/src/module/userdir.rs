//! `/~user/` (mod_userdir): a directory of a user of the system, whose files are opened and whose programs are run by that
//! user's own process. The request goes on as one for the server that stands for this user ([`Server::users`]); what it
//! leads to by other URLs is the virtual host's again.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::request::Request;
use crate::request::expr_host;
use crate::request::flow::{Flow, Halt, Outcome};
use hostler_config::directives::alias::push_escaped_path;
use hostler_config::directives::userdir::{self, Place};

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Translate,
        after: &["alias", "wsgi"],
        before: &["vhost_alias"],
        when: |request| request.target.uri.starts_with(b"/~") && request.server.conf.userdir.is_set(),
        effect: Effect::Decides,
        run: Run::Later(|request| Box::pin(translate(request))),
    }],
    // A path is remembered by its virtual host, and this one's files are a user's.
    ..Module::new("userdir", |request| request.server.user_of.is_some())
};

async fn translate(request: &mut Request) -> Outcome {
    let (base, uri) = (request.server.clone(), request.target.uri.clone());
    let Some((user, rest)) = userdir::Server::user_of(&uri) else { return Ok(Flow::Declined) };
    let config = request.thread.shared.config.clone();
    // Of a user of the system's own nothing is opened, by nobody.
    let known = base.users.get(user).and_then(|_| config.facts.users.get(user));
    let home = known.map(|user| user.home.as_str());
    let patterns = base.conf.userdir.of(user);
    for (n, pattern) in patterns.iter().enumerate() {
        let directory = match userdir::place(pattern, user, home) {
            None => continue,
            Some(Place::Url(_)) => return Err(sent_away(request, pattern, user, rest)),
            Some(Place::Directory(directory)) => directory,
        };
        if let Some(id) = base.users.get(user) {
            request.server = config.servers[*id as usize].clone();
        }
        let is_last = n + 1 == patterns.len();
        if is_last || expr_host::exists(request, directory.as_bytes()).await {
            request.budget.belongs(request);
            request.resource.filename = [directory.as_bytes(), rest].concat();
            request.resource.context_prefix = uri[..uri.len() - rest.len()].to_vec();
            request.resource.context_document_root = Some(directory.into_bytes());
            return Ok(Flow::Ok);
        }
        request.server = base.clone();
    }
    Ok(Flow::Declined)
}

/// Sends the client to another server.
fn sent_away(request: &mut Request, pattern: &str, user: &str, rest: &[u8]) -> Halt {
    let mut name = Vec::new();
    push_escaped_path(user.as_bytes(), &mut name);
    let name = String::from_utf8_lossy(&name).into_owned();
    let Some(Place::Url(url)) = userdir::place(pattern, &name, None) else { return Halt::Status(404) };
    let mut location = url.into_bytes();
    push_escaped_path(rest, &mut location);
    request.reply.headers_out.set("Location", location);
    Halt::Status(302)
}
