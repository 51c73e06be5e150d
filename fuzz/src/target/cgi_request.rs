//! A program's view of a request: arguments from the query, variables from field names and paths.

use hostler_cgi::{Environment, Redirected, Request, arguments, http_variable, script_name};

/// Lines: query, path, path info, and then field names.
pub fn target(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let query = lines.next().unwrap_or_default();
    for argument in arguments(query) {
        assert!(!argument.contains(&0), "an argument can't have a NUL");
    }
    let uri = lines.next().unwrap_or_default();
    let path_info = lines.next().unwrap_or_default();
    assert!(uri.starts_with(script_name(uri, path_info)));
    let names: Vec<&[u8]> = lines.collect();
    for name in &names {
        let Some(variable) = http_variable(name, false) else { continue };
        let own = ["CONTENT_LENGTH", "CONTENT_TYPE"].contains(&variable.as_str());
        assert!(own || variable.starts_with("HTTP_"), "{variable}");
        assert_ne!(variable, "HTTP_PROXY", "httpoxy");
        assert_ne!(variable, "HTTP_AUTHORIZATION");
    }
    let mut environment = Environment::new();
    let request = Request {
        method: b"GET",
        uri,
        path_info,
        query,
        redirected: Some(Redirected { url: uri, query: Some(query), user: None }),
        ..Request::default()
    };
    environment.add_common(&request, names.iter().map(|name| (*name, uri)));
    environment.add_cgi(&request);
    let redirected = environment.redirected(404);
    for entry in environment.into_entries().into_iter().chain(redirected.into_entries()) {
        assert!(entry.contains(&b'='), "{entry:?}");
    }
}
