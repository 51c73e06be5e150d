//! The messages to the Python engine beyond [`hostler_wire`], where they travel as bytes: the start of a pool's
//! interpreter, and the application of a directory.
//!
//! This crate moves no bytes; it only says what they mean.

pub mod asgi;
pub mod file;
pub mod forwarded;
pub mod guard;

use hostler_wire::codec::{Decoder, Encoder, Malformed};

/// The handler of WSGI scripts, as `SetHandler`, `AddHandler` and `WSGIScriptAlias` say it, and as a media type.
pub mod handler {
    /// Runs a script's application.
    pub const RUN: &str = "wsgi-script";
    /// The same as a media type.
    pub const TYPE: &str = "application/x-httpd-wsgi";
}

/// Variables by which the front tells the engine's program, before anything else, which interpreter to become.
pub mod variable {
    /// A virtual environment's folder, or another prefix of Python's.
    pub const HOME: &str = "HOSTLER_PYTHON_HOME";
    /// An interpreter's path.
    pub const INTERPRETER: &str = "HOSTLER_PYTHON";
    /// The configuration line of it, for messages.
    pub const PLACE: &str = "HOSTLER_PYTHON_PLACE";
}

/// True if applications are imported before workers are forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preload {
    /// If a trial shows that it can be done: it starts no threads, and connects to nobody.
    #[default]
    Auto,
    /// In any case.
    On,
    /// Never: each worker imports for itself.
    Off,
}

impl Preload {
    fn of(number: u8) -> Result<Self, Malformed> {
        [Self::Auto, Self::On, Self::Off].get(usize::from(number)).copied().ok_or(Malformed)
    }
}

/// A file whose application is known before any request for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its path.
    pub file: String,
    /// The application's name in it.
    pub callable: String,
}

impl Script {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.bytes(self.file.as_bytes());
        e.bytes(self.callable.as_bytes());
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self { file: d.string()?, callable: d.string()? })
    }
}

/// A request that an application answers before workers are forked, so that they find done what it does with its first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// The script of the application.
    pub script: Script,
    /// The name that the client has asked for.
    pub host: String,
    /// The application's mount point: a URL's path, without a slash at its end.
    pub mount: String,
    /// The rest of the path, with a query perhaps, as it is sent.
    pub rest: String,
}

/// The setup of a pool's parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// `WSGIProcessGroup`'s name; empty: none.
    pub process_group: String,
    /// `WSGIApplicationGroup`'s name, expanded.
    pub application_group: String,
    /// Folders that come first in `sys.path`.
    pub python_path: Vec<String>,
    /// The working directory; `None`: the user's home.
    pub directory: Option<String>,
    /// The mask of permissions.
    pub umask: Option<u32>,
    /// The title in `ps`.
    pub display_name: Option<String>,
    /// `HostlerPythonPreload`
    pub preload: Preload,
    /// Applications that can be imported ahead of requests.
    pub scripts: Vec<Script>,
    /// `HostlerPythonPreload`'s requests.
    pub warm_ups: Vec<WarmUp>,
    /// `WSGIImportScript`: files that are run ahead of requests.
    pub imports: Vec<String>,
    /// Programs can't take signals over (`WSGIRestrictSignal`).
    pub restrict_signal: bool,
    /// Printing is an error (`WSGIRestrictStdout`).
    pub restrict_stdout: bool,
    /// Reading the standard input is an error (`WSGIRestrictStdin`).
    pub restrict_stdin: bool,
    /// `.pyc` files are not written.
    pub dont_write_bytecode: bool,
    /// Most workers that there are at a time.
    pub workers: u32,
    /// Applications are told that there may be several processes: there are, or `processes=` says a number, be it 1.
    pub is_multiprocess: bool,
}

impl Setup {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.bytes(self.process_group.as_bytes());
        e.bytes(self.application_group.as_bytes());
        e.texts(&self.python_path);
        e.optional_text(self.directory.as_deref());
        e.u32(self.umask.unwrap_or(u32::MAX));
        e.optional_text(self.display_name.as_deref());
        e.u8(self.preload as u8);
        e.list(&self.scripts, |e, script| script.encode(e));
        e.list(&self.warm_ups, |e, warm_up| {
            warm_up.script.encode(e);
            for text in [&warm_up.host, &warm_up.mount, &warm_up.rest] {
                e.bytes(text.as_bytes());
            }
        });
        e.texts(&self.imports);
        for flag in
            [self.restrict_signal, self.restrict_stdout, self.restrict_stdin, self.dont_write_bytecode]
        {
            e.bool(flag);
        }
        e.u32(self.workers);
        e.bool(self.is_multiprocess);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let setup = Self {
            process_group: d.string()?,
            application_group: d.string()?,
            python_path: d.texts()?,
            directory: d.optional_text()?.map(str::to_owned),
            umask: Some(d.u32()?).filter(|mask| *mask != u32::MAX),
            display_name: d.optional_text()?.map(str::to_owned),
            preload: Preload::of(d.u8()?)?,
            scripts: d.list(8, Script::decode)?,
            warm_ups: d.list(20, |d| {
                let script = Script::decode(d)?;
                Ok(WarmUp { script, host: d.string()?, mount: d.string()?, rest: d.string()? })
            })?,
            imports: d.texts()?,
            restrict_signal: d.bool()?,
            restrict_stdout: d.bool()?,
            restrict_stdin: d.bool()?,
            dont_write_bytecode: d.bool()?,
            workers: d.u32()?,
            is_multiprocess: d.bool()?,
        };
        d.end().map(|()| setup)
    }
}

/// Python's part of a directory's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directory<'a> {
    /// The application's name in the script.
    pub callable: &'a str,
    /// Applications are told of Authorization (`WSGIPassAuthorization`).
    pub pass_authorization: bool,
    /// Error pages are the server's (`WSGIErrorOverride`).
    pub error_override: bool,
    /// HEAD is GET for applications (`WSGIMapHEADToGET`).
    pub head_is_get: bool,
    /// A newer script takes the place of the one that is loaded (`WSGIScriptReloading`).
    pub reloading: bool,
    /// Variables that are believed, of [`forwarded::VARIABLES`], with a space between; empty: none.
    pub trusted_headers: &'a str,
    /// From whom: networks, each as `4:address:mask` in hexadecimal, with a space between; `None`: from anybody.
    pub trusted_proxies: Option<&'a str>,
    /// The script that answers for the handler (`WSGIHandlerScript`), and the handler's name; `None`: the request's file answers.
    pub handler: Option<(&'a str, &'a str)>,
}

impl<'a> Directory<'a> {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.bytes(self.callable.as_bytes());
        for flag in [self.pass_authorization, self.error_override, self.head_is_get, self.reloading] {
            e.bool(flag);
        }
        e.bytes(self.trusted_headers.as_bytes());
        e.optional_text(self.trusted_proxies);
        e.optional_text(self.handler.map(|(script, _)| script));
        e.bytes(self.handler.map_or("", |(_, name)| name).as_bytes());
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let directory = Self {
            callable: d.text()?,
            pass_authorization: d.bool()?,
            error_override: d.bool()?,
            head_is_get: d.bool()?,
            reloading: d.bool()?,
            trusted_headers: d.text()?,
            trusted_proxies: d.optional_text()?,
            handler: None,
        };
        let (script, name) = (d.optional_text()?, d.text()?);
        d.end().map(|()| Self { handler: script.map(|script| (script, name)), ..directory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interpreter_begins_with_comes_back() {
        let setup = Setup {
            process_group: "site".into(),
            python_path: vec!["/srv/lib".into()],
            umask: Some(0o27),
            preload: Preload::Off,
            scripts: vec![Script { file: "/srv/a.wsgi".into(), callable: "application".into() }],
            warm_ups: vec![WarmUp { host: "www.example".into(), rest: "/?a".into(), ..WarmUp::default() }],
            restrict_signal: true,
            ..Setup::default()
        };
        let mut bytes = Vec::new();
        setup.encode(&mut Encoder(&mut bytes));
        assert_eq!(Setup::decode(&bytes), Ok(setup));
        assert_eq!(Setup::decode(&bytes[1..]), Err(Malformed));
    }

    #[test]
    fn a_directory_comes_back() {
        let directory = Directory {
            callable: "app",
            pass_authorization: true,
            trusted_headers: "HTTP_X_REAL_IP",
            trusted_proxies: Some(""),
            handler: Some(("/srv/handler.wsgi", "mine")),
            ..Directory::default()
        };
        let mut bytes = Vec::new();
        directory.encode(&mut Encoder(&mut bytes));
        assert_eq!(Directory::decode(&bytes), Ok(directory));
        bytes.push(0);
        assert_eq!(Directory::decode(&bytes), Err(Malformed));
    }
}
