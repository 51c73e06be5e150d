//! hostler-wire
