//! Variables in which a proxy in front of the server says something of the client (`WSGITrustedProxyHeaders`). Workers know
//! what each means: `forwarded.py`.

/// All that mean something.
pub const VARIABLES: &[&str] = &[
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_CLIENT_IP",
    "HTTP_X_REAL_IP",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_HOST",
    "HTTP_X_FORWARDED_SERVER",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_SCRIPT_NAME",
    "HTTP_X_FORWARDED_SCRIPT_NAME",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_SCHEME",
    "HTTP_X_SCHEME",
    "HTTP_X_FORWARDED_HTTPS",
    "HTTP_X_FORWARDED_SSL",
    "HTTP_X_HTTPS",
];
