//! The tree of directives: what is left of the configuration files when Include, Define, IfModule and macros
//! are resolved. It is what the planner hands to the front, so it contains everything that the front would
//! otherwise have to read: names resolved to addresses, and the files that directives refer to.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The place of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Index into [`Tree::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
}

/// A directive, or a section with its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// As it was written: `documentroot`, or `VirtualHost` for a section.
    pub name: String,
    /// The rest of the line, variables replaced, quotes and backslashes still in place.
    pub args: String,
    /// Its place.
    pub origin: Origin,
    /// The contents of a section; `None` for a plain directive.
    pub children: Option<Vec<Node>>,
}

/// Facts that the lines do not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// ServerRoot, absolute, without a slash at the end.
    pub server_root: String,
    /// Variables, from Define and `-D`, where they have one with their value: IfDefine and `${NAME}` in
    /// .htaccess look here.
    pub defines: BTreeMap<String, Option<String>>,
    /// Host names of VirtualHost and Listen, resolved when the configuration was read.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Contents of the files that directives name, by absolute path (TypesConfig).
    pub attached: BTreeMap<String, String>,
    /// Variables of the reader's environment that PassEnv and expressions name; one that is not set is missing.
    pub environment: BTreeMap<String, EnvVariable>,
    /// `<Perl>` sections, and directives that load code, which were run when the configuration was read: what they build
    /// stands behind them.
    pub configured: BTreeSet<Origin>,
    /// Directives that modules of `PerlLoadModule` add, by their names in lower case.
    pub declared: BTreeMap<String, Declared>,
    /// Providers that `PerlAddAuthnProvider` and `PerlAddAuthzProvider` add.
    pub providers: Vec<Provider>,
    /// Virtual hosts (`None`: the main server, and with it all) whose `PerlApiVersion` is 1: their programs may know requirements
    /// that nobody else does.
    pub old_programs: BTreeSet<Option<Origin>>,
    /// Lines of Hostler's own directives that a module has added, too, before them.
    pub also_declared: BTreeSet<Origin>,
    /// Modules that the configuration loads and that Hostler has: a few do something by being there alone.
    pub loaded_modules: BTreeSet<String>,
    /// Modules that the configuration loads and that are not there, under both of their names.
    pub missing_modules: BTreeSet<String>,
    /// Modules that are loaded, that Hostler lacks, and whose directives it does not know.
    pub foreign: Vec<Foreign>,
    /// Users of the system that UserDir may be about, by their names.
    pub users: BTreeMap<String, SystemUser>,
}

/// A user of the system, as it was known when the configuration was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemUser {
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Home directory, absolute.
    pub home: String,
}

/// A module from elsewhere that LoadModule names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// As LoadModule has it: `auth_mellon_module`.
    pub name: String,
    /// LoadModule.
    pub origin: Origin,
}

/// A directive that a Perl module adds (`Apache2::Module::add`). A directive of Hostler's own with the same name stays
/// what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// As the module writes it.
    pub name: String,
    /// The module.
    pub module: String,
    /// `args_how`: Apache's `cmd_how`.
    pub args_how: u8,
    /// `req_override`: Apache's bits.
    pub req_override: u16,
    /// `errmsg`: the accepted form.
    pub form: String,
    /// The virtual host in which it was loaded, and is known; `None`: everywhere.
    pub host: Option<Origin>,
}

/// The decision of an authentication or authorization provider that is a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decides {
    /// The identity of the user.
    Authn,
    /// The rights of the user.
    Authz,
}

/// A program that decides (`PerlAddAuthnProvider`, `PerlAddAuthzProvider`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Its decision.
    pub decides: Decides,
    /// As Require and AuthBasicProvider name it.
    pub name: String,
    /// The function to ask.
    pub function: String,
    /// The virtual host in which it was added, and is known; `None`: everywhere.
    pub host: Option<Origin>,
}

/// A variable of the environment in which the configuration was read. The configuration's own lines may use each;
/// .htaccess files and what is evaluated for requests only those that are meant for their virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvVariable {
    /// Its value.
    pub value: String,
    /// Named for the whole server.
    pub everywhere: bool,
    /// Virtual hosts that name it, by where they begin.
    pub hosts: BTreeSet<Origin>,
}

impl Facts {
    /// A variable of the reader's environment, as far as a virtual host may know it.
    #[must_use]
    pub fn variable(&self, name: &str, host: Origin) -> Option<&str> {
        let kept = self.environment.get(name)?;
        (kept.everywhere || kept.hosts.contains(&host)).then_some(kept.value.as_str())
    }
}

/// The configuration, resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Names of the files; [`Origin::file`] is an index.
    pub files: Vec<String>,
    /// The top level.
    pub nodes: Vec<Node>,
    /// Facts that the lines do not contain.
    pub facts: Facts,
    /// The warnings of reading: place and sentence.
    pub warnings: Vec<(Origin, String)>,
}

impl Tree {
    /// For the way to the front.
    ///
    /// # Errors
    /// Out of memory, in practice.
    pub fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(self)
    }

    /// # Errors
    /// When the bytes were not made by [`Tree::encode`] of the same release.
    pub fn decode(bytes: &[u8]) -> Result<Self, postcard::Error> {
        postcard::from_bytes(bytes)
    }
}
