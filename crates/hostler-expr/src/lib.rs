//! hostler-expr
