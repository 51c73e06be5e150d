//! The library that the interpreter of a pool loads: the engine's parent and workers ([`hostler_engine`]) inside the
//! tenant's own Python, and WSGI (PEP 3333) between requests and applications. One build serves all versions of CPython
//! from 3.9 (its stable interface), and nothing of it is installed where that Python is: `hostler-python` carries it.
//!
//! **Runs as** the site's user. **Diagnostics**: see [`hostler_engine`]. What an application raises goes to its virtual
//! host's ErrorLog with its traceback; what it prints, too.

mod answer;
mod cycle;
mod engine;
mod environ;
mod exchange;
mod file;
mod guard;
mod metrics;
mod module;
mod py;
mod response;
mod support;
mod template;
mod worker;

pub use cycle::PyInit__hostler_cycle;
pub use module::PyInit__hostler;
