//! A program's environment, built as Apache builds it (`ap_add_common_vars`, `ap_add_cgi_vars`,
//! `ap_create_environment`).
//!
//! Names are compared without regard to case, as in Apache's tables: `SetEnv foo` and `SetEnv FOO` are one.

use crate::html::escape_html;
use crate::variable::{MetaVariable as Meta, http_variable, script_name};

/// A request's facts for a program. Everything is borrowed; paths and the URI are decoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Method.
    pub method: &'a [u8],
    /// `HTTP/1.1`, `HTTP/2.0`; `INCLUDED` for a program run from an SSI page.
    pub protocol: &'a str,
    /// Path of this request, decoded, after rewriting (Apache's `r->uri`).
    pub uri: &'a [u8],
    /// The client's request target, undecoded, with its query; it survives internal redirects.
    pub request_uri: &'a [u8],
    /// Query without its `?`.
    pub query: &'a [u8],
    /// Rest of the path behind the program, with its slash; empty if there is none.
    pub path_info: &'a [u8],
    /// The path info as a path of its own, mapped to a file name; only used with a path info.
    pub path_translated: Option<&'a [u8]>,
    /// Path of the program or document.
    pub script_filename: &'a [u8],
    /// `Alias` prefix in use, and its directory.
    pub context_prefix: &'a [u8],
    /// Directory of the context; the document root where there is no alias.
    pub context_document_root: &'a [u8],
    /// `DocumentRoot`.
    pub document_root: &'a [u8],
    /// `AuthType` by which the user has been authenticated.
    pub auth_type: Option<&'a [u8]>,
    /// The authenticated user.
    pub user: Option<&'a [u8]>,
    /// `CGIPassAuth`.
    pub pass_authorization: bool,
    /// The server.
    pub server: Server<'a>,
    /// The client.
    pub client: Client<'a>,
    /// The request that was redirected here internally, if one was.
    pub redirected: Option<Redirected<'a>>,
}

/// The server's part of [`Request`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Server<'a> {
    /// Host name for URLs (`UseCanonicalName` has been applied).
    pub name: &'a [u8],
    /// Its port in URLs.
    pub port: u16,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Own address of this connection.
    pub address: &'a str,
    /// `ServerAdmin`.
    pub admin: &'a [u8],
    /// `ServerSignature`'s line, perhaps empty.
    pub signature: &'a [u8],
    /// Banner (`ServerTokens`).
    pub software: &'a [u8],
    /// `PATH`, unless the request's variables have one.
    pub path: &'a [u8],
}

/// The client's part of [`Request`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Client<'a> {
    /// Address.
    pub address: &'a str,
    /// Port.
    pub port: u16,
    /// Host name, where it has been looked up.
    pub host: Option<&'a [u8]>,
    /// Name by the ident protocol (RFC 1413), where it has been asked for.
    pub ident: Option<&'a [u8]>,
}

/// The request before an internal redirect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redirected<'a> {
    /// Its path, decoded (with `QualifyRedirectURL On` its whole URL).
    pub url: &'a [u8],
    /// Its query.
    pub query: Option<&'a [u8]>,
    /// The user of the nearest earlier request that had one.
    pub user: Option<&'a [u8]>,
}

/// Variables of a request, in the order in which they were first set.
#[derive(Clone, Default)]
pub struct Environment {
    /// All names and values, and values that were replaced: a request has some forty variables.
    text: Vec<u8>,
    variables: Vec<Variable>,
}

/// The position of a variable in the text.
#[derive(Clone, Copy)]
struct Variable {
    name: Span,
    value: Span,
}

#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Environment {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self { text: Vec::with_capacity(2048), variables: Vec::with_capacity(64) }
    }

    /// Sets a variable, replacing what it was.
    pub fn set(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (name, value) = (name.as_ref(), value.as_ref());
        match self.position(name) {
            Some(at) => self.variables[at].value = self.append(value),
            None => {
                self.add(name, value);
            }
        }
    }

    /// Adds one that is not there; its position.
    fn add(&mut self, name: &[u8], value: &[u8]) -> usize {
        let (name, value) = (self.append(name), self.append(value));
        self.variables.push(Variable { name, value });
        self.variables.len() - 1
    }

    fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        Span { start, end: self.text.len() }
    }

    fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.start..span.end]
    }

    /// Removes a variable.
    pub fn unset(&mut self, name: impl AsRef<[u8]>) {
        if let Some(at) = self.position(name.as_ref()) {
            self.variables.remove(at);
        }
    }

    /// A variable's value.
    #[must_use]
    pub fn value(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.position(name.as_ref()).map(|at| self.bytes(self.variables[at].value))
    }

    /// All variables.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.variables.iter().map(|variable| (self.bytes(variable.name), self.bytes(variable.value)))
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        self.variables.iter().position(|known| self.bytes(known.name).eq_ignore_ascii_case(name))
    }

    fn put(&mut self, name: Meta, value: impl AsRef<[u8]>) {
        self.set(name.name(), value);
    }

    fn put_some(&mut self, name: Meta, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// The variables that a request starts with after an internal redirect: each one of the request before it
    /// with `REDIRECT_` in front, and `REDIRECT_STATUS`.
    #[must_use]
    pub fn redirected(&self, status: u16) -> Self {
        let mut environment = Self::new();
        for (name, value) in self.iter() {
            environment.add(&[b"REDIRECT_", name].concat(), value);
        }
        environment.put(Meta::RedirectStatus, status.to_string());
        environment
    }

    /// Adds what SSI pages and programs alike see: request headers, server, client.
    /// It replaces variables of the same name that the configuration has set, but for `PATH`.
    pub fn add_common<'h>(
        &mut self,
        request: &Request<'_>,
        headers: impl IntoIterator<Item = (&'h [u8], &'h [u8])>,
    ) {
        self.add_headers(request.pass_authorization, headers);
        if self.value(Meta::Path.name()).is_none() {
            self.put(Meta::Path, request.server.path);
        }
        self.add_server(&request.server);
        self.put_some(Meta::RemoteHost, request.client.host);
        self.put(Meta::RemoteAddr, request.client.address);
        self.put(Meta::DocumentRoot, request.document_root);
        self.put(Meta::RequestScheme, request.server.scheme);
        self.put(Meta::ContextPrefix, request.context_prefix);
        self.put(Meta::ContextDocumentRoot, request.context_document_root);
        self.put(Meta::ServerAdmin, request.server.admin);
        self.put(Meta::ScriptFilename, request.script_filename);
        self.put(Meta::RemotePort, request.client.port.to_string());
        self.put_some(Meta::RemoteUser, request.user);
        self.put_some(Meta::AuthType, request.auth_type);
        self.put_some(Meta::RemoteIdent, request.client.ident);
        if let Some(before) = &request.redirected {
            if request.user.is_none() {
                self.put_some(Meta::RedirectRemoteUser, before.user);
            }
            self.put(Meta::RedirectUrl, before.url);
            self.put_some(Meta::RedirectQueryString, before.query);
        }
    }

    fn add_server(&mut self, server: &Server<'_>) {
        self.put(Meta::ServerSignature, server.signature);
        self.put(Meta::ServerSoftware, server.software);
        // It may come from a Host header, and programs print it into pages.
        self.put(Meta::ServerName, escape_html(server.name));
        self.put(Meta::ServerAddr, server.address);
        self.put(Meta::ServerPort, server.port.to_string());
    }

    /// Several headers of one name become one variable: joined with ", ", `Cookie` with "; " (RFC 9113 §8.2.3).
    fn add_headers<'h>(
        &mut self,
        pass_authorization: bool,
        headers: impl IntoIterator<Item = (&'h [u8], &'h [u8])>,
    ) {
        let mut exported = Vec::with_capacity(32);
        for (name, value) in headers {
            let Some(name) = http_variable(name, pass_authorization) else { continue };
            let at = match self.position(name.as_bytes()) {
                Some(at) if exported.contains(&at) => {
                    let separator: &[u8] = if name == "HTTP_COOKIE" { b"; " } else { b", " };
                    let joined = [self.bytes(self.variables[at].value), separator, value].concat();
                    self.variables[at].value = self.append(&joined);
                    continue;
                }
                Some(at) => {
                    self.variables[at].value = self.append(value);
                    at
                }
                None => self.add(name.as_bytes(), value),
            };
            exported.push(at);
        }
    }

    /// Adds what only programs see (RFC 3875 §4.1).
    pub fn add_cgi(&mut self, request: &Request<'_>) {
        self.put(Meta::GatewayInterface, "CGI/1.1");
        self.put(Meta::ServerProtocol, request.protocol);
        self.put(Meta::RequestMethod, request.method);
        self.put(Meta::QueryString, request.query);
        self.put(Meta::RequestUri, request.request_uri);
        // Quirk(apache): a program included in a page has the page's path info, which is not part of its URI.
        let included = request.protocol == "INCLUDED";
        let script = if included { request.uri } else { script_name(request.uri, request.path_info) };
        self.put(Meta::ScriptName, script);
        if !request.path_info.is_empty() {
            self.put(Meta::PathInfo, request.path_info);
            self.put_some(Meta::PathTranslated, request.path_translated);
        }
    }

    /// `NAME=value` entries for `execve`. In names everything but letters, digits and `_` becomes `_`, a digit
    /// at the beginning too. A variable without a name is left out, and one that would become another's namesake (programs
    /// would see one of both); a value ends at its first NUL.
    #[must_use]
    pub fn into_entries(self) -> Vec<Vec<u8>> {
        let entries = self.iter().filter_map(|(name, value)| {
            let shown = shown(name);
            let is_namesake = shown != name && self.value(&shown).is_some();
            (!name.is_empty() && !is_namesake).then(|| entry(shown, value))
        });
        entries.collect()
    }
}

impl PartialEq for Environment {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Environment {}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (name.escape_ascii(), value.escape_ascii())))
            .finish()
    }
}

/// A name as programs see it.
fn shown(name: &[u8]) -> Vec<u8> {
    let is_part =
        |(at, byte): (usize, &u8)| byte.is_ascii_alphanumeric() && (at > 0 || !byte.is_ascii_digit());
    name.iter().enumerate().map(|(at, byte)| if is_part((at, byte)) { *byte } else { b'_' }).collect()
}

fn entry(mut name: Vec<u8>, value: &[u8]) -> Vec<u8> {
    name.push(b'=');
    name.extend(value.iter().take_while(|byte| **byte != 0));
    name
}

#[cfg(test)]
mod tests;
