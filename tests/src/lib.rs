//! hostler-tests
