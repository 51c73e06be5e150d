//! Directives that are known and not implemented.
