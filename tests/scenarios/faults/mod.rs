//! Bad input and faults: what is refused, what is survived, and who must not notice. docs/faults.md lists every
//! fault with its test; what the conformance table already compares with Apache is not repeated here.

pub(crate) mod frames;
mod handover;
mod http1;
mod http2;
mod isolation;
mod listed;
mod mapping;
mod overload;
pub(crate) mod process;
mod repair;
mod watchdog;
mod workers;

use hostler_tests::Site;
pub(crate) use hostler_tests::{await_that, until};

/// A program that sends its input back.
const CAT: &str = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec cat\n";

/// A site with these programs in its `cgi-bin`, and a page `x`.
fn site_with(programs: &[(&str, &str)]) -> Site {
    let config = "ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n<Directory \"@ROOT@/cgi-bin\">\nRequire all granted\n</Directory>";
    let site = Site::new().config(config).dir("cgi-bin").file("htdocs/x", "x");
    programs.iter().fold(site, |site, (name, text)| site.script(&format!("cgi-bin/{name}"), text))
}
