//! A worker's requests: from the messages of a trip to PHP and back.

use hostler_engine::{Next, Serve, process};
use hostler_wire::codec::Decoder;
use hostler_wire::engine::ServerFacts;
use hostler_wire::work::{self, FileFacts, Outcome, RequestHead};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::arena::Arena;
use crate::directory::Directory;
use crate::host::Exchange;
use crate::{ffi, php, request};

/// A request on its way.
pub(crate) type Trip = hostler_engine::Trip<Worker>;

/// The facts about a virtual host for programs.
pub(crate) struct Server {
    pub(crate) admin: String,
    pub(crate) document_root: String,
    pub(crate) software: String,
    /// `PATH` of this process.
    pub(crate) path: Vec<u8>,
}

impl Server {
    pub(crate) fn new(facts: &ServerFacts) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            admin: facts.admin.clone(),
            document_root: facts.document_root.clone(),
            software: compatible(&facts.software),
            path: path.into_encoded_bytes(),
        }
    }
}

/// Programs look for "Apache" in `SERVER_SOFTWARE` before they count on what a server of this kind does, above all on
/// `.htaccess`.
fn compatible(software: &str) -> String {
    if software.contains("Apache") {
        return software.to_owned();
    }
    let name = software.split_whitespace().next().unwrap_or("Hostler");
    format!("{name} (Apache-compatible)")
}

/// All that a worker keeps between and during requests, beside what a [`Trip`] keeps.
pub(crate) struct Worker {
    servers: Vec<Server>,
    /// The request's head, while the trip's own buffer takes what comes after it.
    head: Vec<u8>,
    texts: Arena,
    variables: Arena,
    fields: Arena,
    answered: Arena,
    /// The document root and the script of a request, where links in them are followed.
    real: RealPaths,
    one_shot: bool,
}

impl Serve for Worker {
    type Directory = std::rc::Rc<Directory>;

    fn define(directory: &work::Directory<'_>) -> Option<Self::Directory> {
        Directory::define(directory).map(std::rc::Rc::new)
    }

    fn serve(&mut self, trip: &mut Trip) {
        match trip.next() {
            Ok(Next::Request) => self.run(trip),
            Ok(Next::Own) => {
                trip.malformed();
            }
            Err(_) => {}
        }
    }

    fn end(&mut self) {
        if self.one_shot { php::leave() } else { php::unload() }
    }
}

impl Worker {
    pub(crate) fn new(servers: Vec<Server>, one_shot: bool) -> Self {
        let arena = Arena::default;
        Self {
            servers,
            one_shot,
            head: Vec::new(),
            texts: arena(),
            variables: arena(),
            fields: arena(),
            answered: arena(),
            real: RealPaths::default(),
        }
    }

    fn run(&mut self, trip: &mut Trip) {
        self.head.clear();
        self.head.extend_from_slice(trip.request());
        let Ok(mut head) = RequestHead::decode(&mut Decoder(&self.head)) else {
            trip.malformed();
            return;
        };
        let directory = trip.directory(head.directory).cloned();
        let server = self.servers.get(directory.as_ref().map_or(0, |directory| directory.server as usize));
        let (Some(directory), Some(server)) = (directory, server) else {
            trip.malformed();
            return;
        };
        if directory.real_paths {
            self.real.follow(head.filename, &server.document_root);
            self.real.apply(&mut head);
        }
        let document_root = self.real.document_root(&directory, server);
        let request = request::convert(&mut self.texts, &head, document_root, &directory);
        self.variables.clear();
        self.fields.clear();
        let mut exchange = Exchange {
            trip,
            head: &head,
            server,
            directory: &directory,
            variables: &mut self.variables,
            fields: &mut self.fields,
            answered: &mut self.answered,
            included: None,
            document_root,
            broke_off: false,
        };
        // SAFETY: the request's texts stay as they are until it has been served; the exchange is what the host's
        // functions take it for.
        let served = unsafe { ffi::hostler_php_serve((&raw mut exchange).cast(), &raw const request) };
        if process::is_forked_away() {
            // The script has forked this process; the worker it was forked from ends the request, or has ended it long ago.
            process::exit_now(0);
        }
        let trip = exchange.trip;
        if served.terminate {
            trip.exit_afterwards();
        }
        let outcome = match u16::try_from(served.failed) {
            Ok(0) => Outcome::Done,
            Ok(status) => Outcome::Status(status),
            Err(_) => Outcome::Status(500),
        };
        trip.finish(&outcome);
    }
}

/// The real paths of files (`HostlerPHPRealpath`): a release that a link leads to keeps its own name in PHP's caches.
#[derive(Default)]
struct RealPaths {
    script: Option<Vec<u8>>,
    document_root: Option<String>,
}

impl RealPaths {
    /// Follows the links now. What can't be followed stays what it is.
    fn follow(&mut self, script: &[u8], document_root: &str) {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        self.script =
            real(Path::new(OsStr::from_bytes(script))).map(|path| path.into_os_string().into_encoded_bytes());
        self.document_root = real(Path::new(document_root)).and_then(|path| path.to_str().map(str::to_owned));
    }

    fn apply<'a>(&'a self, head: &mut RequestHead<'a>) {
        if let Some(script) = &self.script {
            head.filename = script;
            // They are those of what the link led to when the front has looked.
            head.finfo = FileFacts::default();
        }
    }

    fn document_root<'a>(&'a self, directory: &Directory, server: &'a Server) -> &'a str {
        let real = self.document_root.as_deref().filter(|_| directory.real_paths);
        real.unwrap_or(&server.document_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_what_they_look_for_in_the_server_s_name() {
        assert_eq!(compatible("Hostler/0.1 (Unix)"), "Hostler/0.1 (Apache-compatible)");
        assert_eq!(compatible("Hostler"), "Hostler (Apache-compatible)");
        assert_eq!(compatible("Apache/2.4"), "Apache/2.4");
    }
}
