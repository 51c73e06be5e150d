//! The arguments of a directive's function: the configuration being filled, and the place in it.

use crate::builder::Builder;
use crate::directives::auth::Alias;
use crate::directives::authz::Requirement;
use crate::section::{Kind, MethodSet, Section, Setting};
use crate::table::Directive;
use crate::{Decides, DirConfig, Facts, Node, Origin, ProcessConfig, Provider, ServerConfig};
use hostler_expr::{Expr, FileAccess, Flags, Kind as ExprKind, Regex, RegexOptions};
use std::sync::Arc;

/// The kind of file or block that the line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Outside of `<VirtualHost>`.
    Main,
    /// In `<VirtualHost>`.
    VirtualHost,
    /// In an .htaccess file.
    Htaccess,
}

/// The sections around the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// `<Directory>`, `<DirectoryMatch>`.
    pub directory: bool,
    /// `<Location>`, `<LocationMatch>`.
    pub location: bool,
    /// `<Files>`, `<FilesMatch>`.
    pub files: bool,
    /// `<Limit>`, `<LimitExcept>`.
    pub limit: bool,
    /// `<If>`, `<ElseIf>`, `<Else>`.
    pub condition: bool,
    /// `<Proxy>`, `<ProxyMatch>`.
    pub proxy: bool,
}

impl Inside {
    /// In any section that has a configuration of its own.
    #[must_use]
    pub fn any(self) -> bool {
        self.directory || self.location || self.files || self.condition || self.proxy
    }
}

/// The innermost section with a path, or the directory of the .htaccess file.
#[derive(Clone, Debug)]
pub struct Place {
    /// Family.
    pub kind: Kind,
    /// The path as written in the section (Apache's `cmd->path`): directory, location, file pattern.
    pub path: Box<str>,
    /// The section's regular expression, if it is a Match section.
    pub regex: Option<Regex>,
}

/// The arguments of a directive's function.
pub struct Command<'a> {
    /// The directory configuration being filled: of the section, the .htaccess file, or the server's defaults.
    pub dir: &'a mut DirConfig,
    /// The server's configuration. In .htaccess a scratch value that nobody reads.
    pub server: &'a mut ServerConfig,
    /// The process-wide settings.
    pub process: &'a mut ProcessConfig,
    /// The kind of file or block that the line belongs to.
    pub context: Context,
    /// The sections around it.
    pub inside: Inside,
    /// The innermost section with a path; `None` outside of sections.
    pub place: Option<&'a Place>,
    /// The methods of the enclosing Limit or LimitExcept.
    pub limited: Option<Arc<MethodSet>>,
    /// The directive's place.
    pub origin: Origin,
    /// The directive.
    pub directive: &'static Directive,
    pub(crate) directories: &'a mut Vec<Arc<Section>>,
    pub(crate) locations: &'a mut Vec<Arc<Section>>,
    pub(crate) builder: &'a mut Builder,
}

impl Command<'_> {
    /// Runs directives with this command's configuration. Errors are collected; the function goes on.
    pub fn run(&mut self, nodes: &[Node]) {
        (self.builder.language.run)(self, nodes);
    }

    /// Fills a configuration of its own with the contents of a section.
    pub(crate) fn fill(
        &mut self,
        place: Option<&Place>,
        inside: Inside,
        nodes: &[Node],
    ) -> (DirConfig, Vec<Setting>) {
        let mut dir = DirConfig::default();
        let outer = std::mem::take(&mut self.builder.trail);
        let mut inner = Command {
            dir: &mut dir,
            server: self.server,
            process: self.process,
            context: self.context,
            inside,
            place: place.or(self.place),
            limited: None,
            origin: self.origin,
            directive: self.directive,
            directories: self.directories,
            locations: self.locations,
            builder: self.builder,
        };
        inner.run(nodes);
        let settings = std::mem::replace(&mut self.builder.trail, outer);
        (dir, settings)
    }

    /// The directive of a name, without regard to case.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Directive> {
        (self.builder.language.find)(name)
    }

    /// Returns whether the line is in an .htaccess file.
    #[must_use]
    pub fn is_htaccess(&self) -> bool {
        self.context == Context::Htaccess
    }

    /// Returns whether it concerns a part of the site only: a section, or the directory of an .htaccess file.
    #[must_use]
    pub fn is_in_section(&self) -> bool {
        self.inside.any() || self.is_htaccess()
    }

    /// Says something to the operator; for .htaccess it goes to the error log.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.builder.warn(self.origin, message.into());
    }

    /// As [`Command::warn`], but only the first time that this key comes up.
    pub fn warn_once(&mut self, key: &str, message: impl Into<String>) {
        self.builder.warn_once(key, self.origin, message.into());
    }

    /// Compiles a regular expression with Apache's options and RegexDefaultOptions.
    ///
    /// # Errors
    /// PCRE2's reason, in a sentence.
    pub fn regex(&self, pattern: &str, ignore_case: bool) -> Result<Regex, String> {
        let mut options = self.regex_options();
        options.ignore_case |= ignore_case;
        let regex = Regex::new(pattern, options).map_err(|error| error.to_string())?;
        Ok(regex.at(self.line()))
    }

    /// The line that the directive is on.
    #[must_use]
    pub fn line(&self) -> hostler_expr::Place {
        hostler_expr::Place { file: self.builder.file(self.origin), line: self.origin.line }
    }

    /// RegexDefaultOptions as they are at this line.
    #[must_use]
    pub fn regex_options(&self) -> RegexOptions {
        self.builder.regex_options
    }

    /// Parses a condition (`<If>`, `Require expr`, `expr=`).
    ///
    /// # Errors
    /// The fault, and its place in the text.
    pub fn condition(&self, text: &str) -> Result<Expr, String> {
        self.expr(text, ExprKind::Boolean, Flags::default())
    }

    /// Parses a text with `%{...}` in it.
    ///
    /// # Errors
    /// The fault, and its place in the text.
    pub fn string_expr(&self, text: &str) -> Result<Expr, String> {
        self.expr(text, ExprKind::String, Flags::default())
    }

    /// Parses an expression with flags; RegexDefaultOptions are added.
    ///
    /// # Errors
    /// The fault, and its place in the text.
    pub fn expr(&self, text: &str, kind: ExprKind, mut flags: Flags) -> Result<Expr, String> {
        flags.regex = self.regex_options();
        if self.is_htaccess() && flags.files == FileAccess::Full {
            flags.files = FileAccess::TestsOnly;
        }
        let expr = Expr::parse(text, kind, flags).map_err(|error| format!("in the expression, {error}"))?;
        Ok(expr.at(self.line()))
    }

    /// A path made absolute: relative to ServerRoot.
    #[must_use]
    pub fn server_path(&self, path: &str) -> String {
        self.builder.server_path(path)
    }

    /// The addresses of a host name, as the reader resolved it; none if it has none.
    #[must_use]
    pub fn resolved(&self, host: &str) -> &[std::net::IpAddr] {
        self.builder.facts.hosts.get(host).map_or(&[], Vec::as_slice)
    }

    /// A variable of the environment in which the configuration was read. In .htaccess files, only those that
    /// the configuration itself names for the virtual host.
    #[must_use]
    pub fn environment(&self, name: &str) -> Option<String> {
        let facts = &self.builder.facts;
        match self.builder.host {
            Some(host) => facts.variable(name, host).map(str::to_owned),
            None => facts.environment.get(name).map(|kept| kept.value.clone()),
        }
    }

    /// The contents of a file that the reader attached to the tree (TypesConfig); the path is as in the
    /// directive.
    #[must_use]
    pub fn attached(&self, path: &str) -> Option<Arc<str>> {
        self.builder.attached(path)
    }

    /// Notes that the line names a handler. An access file is too late to tell of.
    pub(crate) fn name_handler(&mut self, name: &str) {
        if !self.is_htaccess() {
            let named = (self.origin, self.directive.name, name.to_ascii_lowercase());
            self.builder.handlers.push(named);
        }
    }

    /// The function of a program that is a provider of this name, as far as the virtual host knows it; its own come
    /// first.
    pub(crate) fn provider(&self, decides: Decides, name: &str) -> Option<&str> {
        let facts: &Facts = &self.builder.facts;
        let host = self.host();
        let named = |provider: &&Provider| provider.decides == decides && provider.name == name;
        let of = |host: Option<Origin>| facts.providers.iter().filter(named).rfind(|one| one.host == host);
        let own = host.and_then(|host| of(Some(host)));
        own.or_else(|| of(None)).map(|provider| provider.function.as_str())
    }

    /// Returns whether programs of mod_perl 1 may know a requirement that is not the server's own, as in Apache 1.3.
    pub(crate) fn may_leave_to_old_programs(&self) -> bool {
        let hosts = &self.builder.facts.old_programs;
        hosts.contains(&None) || self.host().is_some_and(|host| hosts.contains(&Some(host)))
    }

    /// Returns the `<AuthnProviderAlias>` of this name.
    pub(crate) fn authn_alias(&self, name: &str) -> Option<Arc<Alias>> {
        self.builder.aliases.authn.get(name).cloned()
    }

    pub(crate) fn add_authn_alias(&mut self, name: &str, alias: Alias) {
        Arc::make_mut(&mut self.builder.aliases).authn.insert(name.to_owned(), Arc::new(alias));
    }

    /// Returns the `<AuthzProviderAlias>` of this name.
    pub(crate) fn authz_alias(&self, name: &str) -> Option<&Requirement> {
        self.builder.aliases.authz.get(name)
    }

    pub(crate) fn add_authz_alias(&mut self, name: &str, requirement: Requirement) {
        Arc::make_mut(&mut self.builder.aliases).authz.insert(name.to_owned(), requirement);
    }

    /// Reads the lines of a section that is no place: nothing is merged with it by itself.
    pub(crate) fn aside(&mut self, nodes: &[Node]) -> DirConfig {
        let inside = Inside { directory: true, ..Inside::default() };
        self.fill(None, inside, nodes).0
    }

    /// Returns the first line of the virtual host that the line belongs to; `None`: the main server's.
    #[must_use]
    pub fn host(&self) -> Option<Origin> {
        self.builder.host.or(self.builder.filling)
    }
}
