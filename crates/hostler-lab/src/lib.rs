//! The lab: measures techniques of dynamic content, and servers, side by side on the user's machine.
//!
//! It sees servers over sockets only and links none of their code. A *scenario* says what is asked for and how
//! ([`scenario`]); *contestants* are the servers ([`contestant`]); the *generator* loads them ([`load`]); the *method*
//! takes rounds of all of them in turn and counts what they cost ([`method`]); a *run* is what came of it, in a folder
//! of its own ([`run`]); *reports* are made from runs only ([`report`]).

pub mod advice;
pub mod application;
pub mod command;
pub mod compare;
pub mod contestant;
pub mod load;
pub mod machine;
pub mod method;
pub mod own_site;
pub mod report;
pub mod run;
pub mod scenario;
