//! hostler-sys
