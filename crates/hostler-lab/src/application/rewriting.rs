//! One static page, reached without rules, by a front controller's rules, past sixty rules of a content system, and by the
//! last of two thousand rules of a virtual host.

use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::Result;
use std::fmt::Write as _;
use std::path::Path;

const SOURCES: Files = files!["rewriting": "front.htaccess", "guarded.htaccess"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/rewriting/site.conf");

/// 64 bytes.
const LINE: &str = "Sixty-four bytes of text in each line make four kilobytes of it\n";

pub(super) fn techniques() -> Vec<Technique> {
    vec![probe::technique("static", None)]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    for folder in ["plain", "front", "guarded"] {
        files::write(root, &format!("htdocs/{folder}/page.html"), LINE.repeat(4096 / LINE.len()).as_bytes())?;
    }
    for (name, text) in SOURCES {
        let folder = name.trim_end_matches(".htaccess");
        files::write(root, &format!("htdocs/{folder}/.htaccess"), text.as_bytes())?;
    }
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.replace("@PREFIXES@", &prefixes()),
        ..Site::default()
    })
}

/// Rules that each begin with a name of their own.
fn prefixes() -> String {
    (0..2000).fold(String::new(), |mut rules, n| {
        let _ = writeln!(rules, "    RewriteRule ^/section-{n:04}/(.*)$ /plain/$1 [L]");
        rules
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_have_as_many_rules_as_is_said() {
        let [_, (_, guarded)] = SOURCES else { panic!("two files") };
        assert_eq!(guarded.lines().filter(|line| line.starts_with("RewriteRule")).count(), 60);
        assert_eq!(prefixes().lines().count(), 2000);
    }
}
