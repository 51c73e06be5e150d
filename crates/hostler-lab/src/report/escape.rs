//! Text in HTML and SVG: nothing that servers or scenarios say becomes markup.

use hostler_cgi::escape_html;

/// Text as it may stand between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    // What is not allowed in HTML, and what turns the direction of text around.
    let is_strange = |char: char| {
        (char.is_control() && char != '\n' && char != '\t')
            || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let text = text.replace(is_strange, "\u{fffd}");
    String::from_utf8_lossy(&escape_html(text.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_is_text() {
        assert_eq!(super::escape("<b a='\"'>&\u{0}"), "&lt;b a='&quot;'&gt;&amp;\u{fffd}");
    }
}
