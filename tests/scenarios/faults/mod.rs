//! Bad input and faults: what is refused, what is survived, and who must not notice. docs/faults.md lists every
//! fault with its test; what the conformance table already compares with Apache is not repeated here.

pub(crate) mod frames;
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
use std::time::{Duration, Instant};

/// A program that sends its input back.
const CAT: &str = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec cat\n";

/// A site with these programs in its `cgi-bin`, and a page `x`.
fn site_with(programs: &[(&str, &str)]) -> Site {
    let config = "ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n<Directory \"@ROOT@/cgi-bin\">\nRequire all granted\n</Directory>";
    let site = Site::new().config(config).dir("cgi-bin").file("htdocs/x", "x");
    programs.iter().fold(site, |site, (name, text)| site.script(&format!("cgi-bin/{name}"), text))
}

/// Waits until there is something; how long does not matter, only that it comes.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until it is so.
pub(crate) fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}
