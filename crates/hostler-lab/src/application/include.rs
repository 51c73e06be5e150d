//! E2: a static page and an SSI page, the same for everybody who is asked.

use super::files::{self, Files, files};
use super::{Technique, probe};
use crate::contestant::Site;
use anyhow::Result;
use std::path::Path;

/// The number of times the SSI page repeats its five elements.
const REPEATS: u32 = 20;

const SOURCES: Files = files!["include": "page.part", "nginx.part"];
const CONFIGURATION: &str = include_str!("../../../../lab/applications/include/site.conf");
const NGINX: &str = include_str!("../../../../lab/applications/include/nginx.conf");

/// 64 bytes.
const LINE: &str = "Sixty-four bytes of text in each line make four kilobytes of it\n";

pub(super) fn techniques() -> Vec<Technique> {
    vec![probe::technique("static", None), probe::technique("ssi", None)]
}

pub(super) fn lay_out(root: &Path) -> Result<Site> {
    let [(_, elements), (_, in_nginx)] = SOURCES else { anyhow::bail!("two forms of the page") };
    for (folder, elements) in [("htdocs", elements), ("nginx-htdocs", in_nginx)] {
        let write = |name: &str, content: &[u8]| files::write(root, &format!("{folder}/{name}"), content);
        write("small.html", LINE.repeat(4096 / LINE.len()).as_bytes())?;
        write("large.bin", &vec![b'x'; 10 << 20])?;
        write("part.html", b"<p>A part of the page</p>\n")?;
        write("page.shtml", page(elements).as_bytes())?;
    }
    Ok(Site {
        root: root.to_owned(),
        configuration: CONFIGURATION.to_owned(),
        own: [("nginx".to_owned(), NGINX.to_owned())].into(),
        ..Site::default()
    })
}

/// The SSI page. Its date shows only the year, so that two answers can be compared.
fn page(elements: &str) -> String {
    let head = "<!DOCTYPE html>\n<title>SSI</title>\n<!--#config timefmt=\"%Y\" -->\n".to_owned();
    (1..=REPEATS).fold(head, |page, n| page + &elements.replace("@N@", &n.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_page_has_four_kilobytes() {
        assert_eq!(LINE.len(), 64);
    }

    #[test]
    fn the_page_has_each_element_twenty_times_in_both_languages() {
        for (name, elements) in SOURCES {
            let page = page(elements);
            for element in
                ["#set", "#echo var=\"n\"", "#echo var=\"DATE_LOCAL\"", "#include virtual", "#if", "#endif"]
            {
                assert_eq!(page.matches(element).count(), 20, "{name}: {element}");
            }
        }
    }
}
