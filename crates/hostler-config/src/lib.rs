//! Apache's configuration language: from text to the values that the servers work with.
//!
//! Three steps. [`load`] reads the files (root, in the planner) and resolves everything that is about text:
//! Include, Define, IfModule, macros. The result is a [`Tree`], which travels to the front. [`Config::build`]
//! turns a tree into the [`Config`] without touching a file, driven by the table of directives
//! ([`directives`], by name in [`modules`]). [`lookup`] says which sections apply to a path, in merge order; the front and
//! `hostler explain` share it. [`parse_htaccess`] is the same machinery for one `.htaccess` file.
//!
//! Nothing here serves or opens anything at request time.

mod build;
mod builder;
mod command;
pub mod directives;
mod docs;
mod error;
mod htaccess;
mod lexer;
pub mod lookup;
mod model;
pub mod modules;
mod part;
pub mod pools;
mod raw;
mod read;
mod section;
mod slot;
mod table;
pub mod technique;
mod tree;

pub use builder::Aliases;
pub use command::{Command, Context, Inside, Place};
pub use docs::directives_markdown;
pub use error::{ConfigError, Warning, unknown};
pub use htaccess::{Htaccess, HtaccessScope, parse_htaccess, parse_htaccess_beside};
pub use lexer::{first_word, words};
pub use model::{
    Canonical, Config, DirConfig, Listen, ProcessConfig, Server, ServerConfig, TopLevel, VhostAddress,
};
pub use part::{Merge, Part, over};
pub use read::{
    Attempt, LoadOptions, Output, PerlRequest, RunAs, RunPerl, Stands, attempt, load, read, read_text,
};
pub use section::{Kind, MethodSet, Pattern, Section, Setting};
pub use slot::{Slot, Slots};
pub use table::{Action, Args, Arity, Contexts, Directive, Effect, Module, Overrides};
pub use tree::{Decides, Declared, EnvVariable, Facts, Foreign, Node, Origin, Provider, SystemUser, Tree};
