//! hostler-cgi
