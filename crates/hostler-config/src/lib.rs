//! hostler-config
