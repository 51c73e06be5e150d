//! Text in HTML and SVG: nothing that servers or scenarios say becomes markup.

/// Text as it may stand between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(char),
            // Not allowed in HTML; and what turns the direction of text around.
            _ if char.is_control() => escaped.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_is_text() {
        assert_eq!(super::escape("<b a='\"'>&\u{0}"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\u{fffd}");
    }
}
