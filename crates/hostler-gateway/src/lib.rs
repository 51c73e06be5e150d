//! hostler-gateway
