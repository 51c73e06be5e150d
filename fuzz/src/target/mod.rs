//! The targets, one file for each parser.

macro_rules! targets {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub mod $name;)+

        /// Name and function of each target.
        pub const ALL: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::target)),+];
    };
}

targets! {
    ajp,
    asgi,
    authority,
    byte_range,
    cgi_header,
    cgi_request,
    charset,
    config,
    control,
    dbm,
    engine,
    expr,
    fastcgi,
    htaccess,
    http1_answer,
    http1_chunked,
    http1_head,
    legacy_expr,
    login_form,
    nph_header,
    ocsp,
    page,
    proxy_protocol,
    rewrite,
    ring,
    ssi,
    tree,
    uri,
    wire,
}

mod host;
