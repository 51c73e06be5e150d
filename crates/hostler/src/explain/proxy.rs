//! The URLs that another server answers, for `hostler explain`.

use super::steps;
use super::url::Url;
use hostler_config::Server;
use hostler_config::directives::proxy::Pass;
use hostler_config::directives::proxy::pass::{Mapping, RequestUrl, Verdict};
use hostler_rewrite::Translation;

/// Returns the other server that answers under `ProxyPass` or related directives.
pub(super) fn answer(server: &Server, rewritten: Option<&Translation>, url: &Url) -> Option<String> {
    // What rules have come to is not translated again.
    if !matches!(rewritten, None | Some(Translation::Declined | Translation::PassThrough(_))) {
        return None;
    }
    let dir = steps::with_locations(server, &url.path).ok()?;
    let asked = RequestUrl { path: url.path.as_bytes(), raw: url.path.as_bytes(), variable: &|_| None };
    // Those that compare undecoded paths come first.
    let passes = || dir.proxy.pass.iter().chain(&server.conf.proxy.passes);
    let is_early = |pass: &Pass| pass.mapping != Mapping::Decoded;
    let early = passes().filter(|pass| is_early(pass));
    for pass in early.chain(passes().filter(|pass| !is_early(pass))) {
        match pass.apply(&dir.proxy, asked) {
            Ok(Verdict::No) => {}
            Ok(Verdict::Never) => return None,
            Ok(Verdict::To { url, .. }) => {
                let by = if pass.regex.is_some() { "ProxyPassMatch" } else { "ProxyPass" };
                return Some(format!(
                    "another server, as {}, by {by} {}",
                    String::from_utf8_lossy(&url),
                    pass.prefix
                ));
            }
            Err(error) => return Some(format!("500: a pattern of ProxyPassMatch gave up: {error}")),
        }
    }
    None
}
