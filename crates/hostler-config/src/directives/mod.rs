//! The table of directives: one module of Apache's per file, found by name without regard to case.

pub mod access_compat;
pub mod actions;
pub mod alias;
pub mod auth;
pub mod authz;
pub mod autoindex;
pub mod cgi;
pub mod core;
pub mod dir;
pub mod env;
pub mod expires;
pub mod filter;
pub mod headers;
pub mod include;
mod known;
pub mod log_config;
pub mod mime;
pub mod setenvif;
pub mod ssl;

use crate::{Directive, Module};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The modules that Hostler implements, under the names of Apache's.
pub static MODULES: &[&Module] = &[
    &alias::MODULE,
    &dir::MODULE,
    &mime::MODULE,
    &env::MODULE,
    &setenvif::MODULE,
    &headers::MODULE,
    &authz::MODULE,
    &access_compat::MODULE,
    &auth::MODULE,
    &log_config::MODULE,
    &expires::MODULE,
    &autoindex::MODULE,
    &filter::MODULE,
    &actions::MODULE,
    &include::MODULE,
    &cgi::MODULE,
    &ssl::MODULE,
];

static BY_NAME: LazyLock<HashMap<String, (&'static Module, &'static Directive)>> = LazyLock::new(|| {
    let all =
        core::MODULES.iter().chain(MODULES).flat_map(|module| module.directives.iter().map(|d| (*module, d)));
    all.map(|(module, directive)| (directive.name.to_ascii_lowercase(), (module, directive))).collect()
});

/// The module and the entry of a directive.
#[must_use]
pub fn find(name: &str) -> Option<(&'static Module, &'static Directive)> {
    BY_NAME.get(&name.to_ascii_lowercase()).copied()
}
