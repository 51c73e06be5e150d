//! hostler-ssi
