//! hostler-conformance
