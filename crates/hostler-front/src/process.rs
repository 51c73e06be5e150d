//! The front as a process: its start and end, its sockets, what it is confined to, and who watches it.

pub(crate) mod confine;
pub(crate) mod listen;
pub(crate) mod preface;
pub(crate) mod start;
pub(crate) mod started;
pub(crate) mod stop;
pub(crate) mod watchdog;
