//! A page whose links are changed as it comes.

use crate::charset::charset_of;
use encoding_rs::{Encoding, WINDOWS_1252};
use hostler_config::DirConfig;
use hostler_config::directives::proxy_html::{Part, Rules};
use lol_html::html_content::{ContentType, Element};
use lol_html::{
    AsciiCompatibleEncoding, HandlerResult, HtmlRewriter, MemorySettings, OutputSink, Settings, doc_comments,
    doctype, element, text,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Most that is held of a page at a time: a tag, a script; in bytes.
const MOST: usize = 1 << 20;

/// The rewritten part of the page that has not been taken yet.
#[derive(Clone, Default)]
struct Output(Rc<RefCell<Vec<u8>>>);

impl OutputSink for Output {
    fn handle_chunk(&mut self, chunk: &[u8]) {
        self.0.borrow_mut().extend_from_slice(chunk);
    }
}

/// A page on its way.
pub struct Page {
    rewriter: Option<HtmlRewriter<'static, Output>>,
    made: Output,
}

impl Page {
    /// `kind`: its media type, with its character set or without.
    #[must_use]
    pub fn new(dir: Arc<DirConfig>, rules: Rules, kind: Option<&[u8]>) -> Self {
        let made = Output::default();
        if let Some(doctype) = &dir.proxy_html.doctype {
            made.0.borrow_mut().extend_from_slice(doctype.as_bytes());
        }
        let rewriter = Some(rewriter(dir, Rc::new(rules), encoding(kind.unwrap_or_default()), made.clone()));
        Self { rewriter, made }
    }

    /// Rewrites the next piece. `last`: no further piece follows.
    ///
    /// # Errors
    /// Why the page can't be changed. Nothing of it may be pushed any more.
    pub fn push(&mut self, piece: &[u8], last: bool) -> Result<Vec<u8>, String> {
        if let Some(rewriter) = &mut self.rewriter {
            rewriter.write(piece).map_err(|error| error.to_string())?;
        }
        if last && let Some(rewriter) = self.rewriter.take() {
            rewriter.end().map_err(|error| error.to_string())?;
        }
        Ok(self.made.0.take())
    }
}

/// The character set in which links are read; where none is told bytes stay what they are.
fn encoding(kind: &[u8]) -> AsciiCompatibleEncoding {
    let label = charset_of(kind);
    let named =
        label.and_then(|label| Encoding::for_label(label.as_bytes())).and_then(AsciiCompatibleEncoding::new);
    named
        .or_else(|| AsciiCompatibleEncoding::new(WINDOWS_1252))
        .unwrap_or_else(AsciiCompatibleEncoding::utf_8)
}

fn rewriter(
    dir: Arc<DirConfig>,
    rules: Rc<Rules>,
    encoding: AsciiCompatibleEncoding,
    made: Output,
) -> HtmlRewriter<'static, Output> {
    let config = &dir.proxy_html;
    let extended = config.extended == Some(true);
    let (strips, replaces) = (config.strips_comments == Some(true), config.doctype.is_some());
    let (of_elements, of_comments) = (rules.clone(), rules.clone());
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MOST);
    let mut settings =
        Settings::new().with_encoding(encoding).with_memory_settings(memory).with_strict(false);
    let links = element!("*", move |element: &mut Element<'_, '_>| attributes(element, &dir, &of_elements));
    settings = settings.append_element_content_handler(links);
    if extended {
        let mut kept = String::new();
        settings = settings.append_element_content_handler(text!("script, style", move |chunk| {
            kept.push_str(chunk.as_str());
            if kept.len() > MOST {
                return Err("a script or style sheet is too long".into());
            }
            if !chunk.last_in_text_node() {
                chunk.remove();
                return Ok(());
            }
            let text = rules.changed(Part::Text, std::mem::take(&mut kept).as_bytes())?;
            chunk.replace(&String::from_utf8_lossy(&text), ContentType::Html);
            Ok(())
        }));
    }
    if strips || extended {
        settings = settings.append_document_content_handler(doc_comments!(move |comment| {
            if strips {
                comment.remove();
                return Ok(());
            }
            let text = comment.text();
            let changed = of_comments.changed(Part::Text, text.as_bytes())?;
            if changed != text.as_bytes() {
                comment.set_text(&String::from_utf8_lossy(&changed))?;
            }
            Ok(())
        }));
    }
    if replaces {
        settings = settings.append_document_content_handler(doctype!(|found| {
            found.remove();
            Ok(())
        }));
    }
    HtmlRewriter::new(settings, made)
}

fn attributes(element: &mut Element<'_, '_>, dir: &DirConfig, rules: &Rules) -> HandlerResult {
    let config = &dir.proxy_html;
    let links = config.links.as_ref().and_then(|links| links.get(element.tag_name().as_str()));
    let events = config.events.as_ref().filter(|_| config.extended == Some(true));
    let mut changes = Vec::new();
    for attribute in element.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        let is_in = |names: &[Box<str>]| names.iter().any(|known| **known == *name);
        let part = if links.is_some_and(|links| is_in(links)) {
            Some(Part::Link)
        } else if events.is_some_and(|events| is_in(events)) {
            Some(Part::Event)
        } else {
            None
        };
        let Some(part) = part else { continue };
        let mut changed = rules.changed(part, value.as_bytes())?;
        if config.lowercase {
            changed.make_ascii_lowercase();
        }
        if config.dospath {
            changed.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
        if changed != value.as_bytes() {
            changes.push((name, String::from_utf8_lossy(&changed).into_owned()));
        }
    }
    for (name, value) in changes {
        element.set_attribute(&name, &value)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use hostler_config::{Config, read_text};

    const LINKS: &str = "ProxyHTMLLinks a href\nProxyHTMLLinks img src longdesc\nProxyHTMLEvents onclick\nProxyHTMLURLMap http://b.example/ /b/\n";

    fn changed(lines: &str, kind: &str, text: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let text_of = format!("<Location /x>\n{LINKS}{lines}\n</Location>");
        let config = Config::build(&read_text(&text_of, "/etc").unwrap()).unwrap();
        let dir = config.main().locations[0].conf.clone();
        let rules = Rules::of(&dir.proxy_html, &|_| None, &[]).unwrap();
        let (mut page, mut out) = (Page::new(dir, rules, Some(kind.as_bytes())), Vec::new());
        for piece in text.chunks(size) {
            out.extend(page.push(piece, false)?);
        }
        out.extend(page.push(b"", true)?);
        Ok(out)
    }

    fn both(lines: &str, text: &str, expected: &str) {
        for size in [1, 7, 10_000] {
            let out = changed(lines, "text/html; charset=utf-8", text.as_bytes(), size).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{lines} {size}");
        }
    }

    #[test]
    fn links_are_changed_and_nothing_else_is() {
        let page = "<!DOCTYPE html>\n<P class=x>caf\u{e9} & <A HREF='http://b.example/x?a=1&amp;b' title=\"http://b.example/\">x</A>\
                    <img src=http://b.example/i alt=''><img longdesc=\"HTTP://B.example/d\"><b href=\"http://b.example/\"><br/>\n<!-- http://b.example/ -->";
        let expected = page
            .replace("HREF='http://b.example/x?a=1&amp;b'", "HREF=\"/b/x?a=1&amp;b\"")
            .replace("src=http://b.example/i", "src=\"/b/i\"")
            .replace("HTTP://B.example/d", "/b/d");
        both("", page, &expected);
    }

    #[test]
    fn scripts_are_changed_where_that_is_wanted() {
        let page = "<a onclick=\"go('http://b.example/')\">x</a><script>\nif (a < b) go('http://b.example/');</script>\
                    <style>a { b: url(http://b.example/) }</style>http://b.example/<!-- http://b.example/ -->";
        both("", page, page);
        let all = page.replace("http://b.example/", "/b/").replace("style>/b/<", "style>http://b.example/<");
        both("ProxyHTMLExtended On", page, &all);
        both("ProxyHTMLStripComments On", "a<!-- b -->c", "ac");
        both("ProxyHTMLDoctype HTML5", "<!DOCTYPE html PUBLIC \"x\"><p>", "<!DOCTYPE html>\n<p>");
        both(
            "ProxyHTMLFixups lowercase dospath",
            "<a href=\"\\A\\B\" title=\"C\">",
            "<a href=\"/a/b\" title=\"C\">",
        );
    }

    #[test]
    fn bytes_of_any_character_set_stay_what_they_are() {
        let page = b"<p title=\"\xe9\x81\">\xff<a title='\xe9' href=\"http://b.example/\xe9\">".as_slice();
        let expected = b"<p title=\"\xe9\x81\">\xff<a title='\xe9' href=\"/b/\xe9\">".as_slice();
        assert_eq!(changed("", "text/html", page, 3).unwrap(), expected);
    }

    #[test]
    fn a_tag_without_end_takes_no_memory_without_end() {
        let mut page = b"<a href=\"".to_vec();
        page.resize(4 << 20, b'x');
        assert!(changed("", "text/html", &page, 8192).is_err());
    }
}
