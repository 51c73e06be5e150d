//! The title of an HTML file (ScanHTMLTitles).

use crate::request::Request;
use crate::site::files::AccessFiles;

/// As far into a file a title is looked for, in bytes.
const FAR: usize = 8191;

/// The title of the HTML file at `path`.
pub(super) async fn of_file(request: &Request, path: &[u8]) -> Option<Vec<u8>> {
    let site = request.thread.site(&request.server);
    let facts = site.walk(path, &AccessFiles::none()).await.ok()?;
    of_text(&facts.file.as_ref()?.read(0, FAR).ok()?)
}

/// Returns the text between `<title>` and the next tag, in one line.
fn of_text(html: &[u8]) -> Option<Vec<u8>> {
    const TAG: &[u8] = b"<title>";
    let start = TAG.len() + html.windows(TAG.len()).position(|part| part.eq_ignore_ascii_case(TAG))?;
    let html = &html[start..];
    let title = &html[..memchr::memchr(b'<', html).unwrap_or(html.len())];
    // Titles are text: whatever comes after a NUL is not.
    let title = &title[..memchr::memchr(0, title).unwrap_or(title.len())];
    let line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let title = title.iter().skip_while(|byte| line_end(byte));
    Some(title.map(|byte| if line_end(byte) { b' ' } else { *byte }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (html, expected) in [
            ("<html><TITLE>A &amp; b</title>", Some("A &amp; b")),
            ("<title>\r\n two\nlines\n</title>", Some(" two lines ")),
            ("<title>open", Some("open")),
            ("<title></title>", Some("")),
            ("<title >x</title>", None),
            ("no", None),
            ("", None),
        ] {
            let found = of_text(html.as_bytes()).map(|title| String::from_utf8(title).unwrap());
            assert_eq!(found.as_deref(), expected, "{html}");
        }
    }
}
