//! hostler-fuzz
