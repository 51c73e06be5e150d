//! `<meta http-equiv>` as fields of the answer (ProxyHTMLMeta).

use lol_html::{MemorySettings, Settings, element};
use std::cell::RefCell;
use std::rc::Rc;

/// Most that is looked at, in bytes.
const MOST: usize = 64 << 10;

/// The fields that the beginning of a page names, as their values may be sent. Those of the content itself are the
/// server's to tell that has sent the page; which of the others may be taken from a page is for the caller to say.
#[must_use]
pub fn fields(page: &[u8]) -> Vec<(String, String)> {
    let found = Rc::new(RefCell::new(Vec::new()));
    let finds = found.clone();
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MOST);
    let finder = element!("meta[http-equiv][content]", move |element| {
        let word = |name: &str| element.get_attribute(name).unwrap_or_default();
        let (name, value) = (word("http-equiv"), word("content"));
        if is_field(&name, &value) {
            finds.borrow_mut().push((name, value));
        }
        Ok(())
    });
    let settings = Settings::new().with_memory_settings(memory).with_strict(false);
    let settings = settings.append_element_content_handler(finder);
    let mut rewriter = lol_html::HtmlRewriter::new(settings, |_: &[u8]| {});
    // What is cut off or too large is passed over: the page itself is read again.
    let _ = rewriter.write(&page[..page.len().min(MOST)]);
    found.take()
}

fn is_field(name: &str, value: &str) -> bool {
    let is_content = name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("content-"));
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_name && !is_content && !value.bytes().any(|byte| byte.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_meta_elements() {
        let page = "<html><head><META HTTP-EQUIV=Refresh content='5; url=/a'><meta http-equiv=Content-Type content=x>\
                    <meta name=a content=b><meta http-equiv='X Y' content=z><meta http-equiv=\"X-A\" content=\"b\nc\">";
        assert_eq!(fields(page.as_bytes()), [("Refresh".to_owned(), "5; url=/a".to_owned())]);
        assert!(fields(b"\xff<<<meta http-equiv=a").is_empty());
    }
}
