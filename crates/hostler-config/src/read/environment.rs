//! Variables of the reader's environment. Whoever serves requests runs with a clean environment, so that what the
//! operator's shell holds is never found by a tenant; only what the configuration names is kept for them.

use super::expand::Reader;

impl Reader {
    /// Keeps variables that PassEnv names.
    pub(super) fn keep_environment(&mut self, names: &str) {
        for name in crate::words(names) {
            self.keep_variable(&name);
        }
    }

    /// Keeps variables that expressions and rewrite rules in a directive's arguments name, as `osenv('NAME')`,
    /// `%{osenv:NAME}`, or with `env`, which falls back to this environment. A computed name finds nothing.
    pub(super) fn keep_named_variables(&mut self, args: &str) {
        if !self.htaccess {
            named(args).for_each(|name| self.keep_variable(name));
        }
    }

    fn keep_variable(&mut self, name: &str) {
        // `var` would panic at these.
        if name.is_empty() || name.contains(['=', '\0']) {
            return;
        }
        if let Ok(value) = std::env::var(name) {
            self.facts.environment.insert(name.to_owned(), value);
        }
    }
}

/// The names after `osenv` and `env` in a text, quotes still in place.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(['(', ':']).filter_map(move |(at, _)| {
        let before = text[..at].trim_end();
        let word = &before[before.trim_end_matches(is_word).len()..];
        if !["osenv", "env"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
            return None;
        }
        let after =
            text[at + 1..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\\' | '\'' | '"'));
        after.split(|c: char| c.is_whitespace() || matches!(c, '\\' | '\'' | '"' | ')' | '}')).next()
    })
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn names_in_expressions_and_rules() {
        for (text, expected) in [
            ("X-R yes \"expr=osenv('A_1') == 'x' && OSENV( 'B' )\"", &["A_1", "B"][..]),
            (r#"X-R yes "expr=osenv(\"A\") == \"x\"""#, &["A"]),
            ("%{osenv:A} %{ENV:B}", &["A", "B"]),
            ("reqenv('A') someosenv('B') %{HTTP:C} x:y (z)", &[]),
            ("é(x) osenv(", &[""]),
        ] {
            assert_eq!(named(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn only_what_is_named_is_kept() {
        let text = "<Location /x>\n Header set X yes \"expr=osenv('PATH') != ''\"\n</Location>";
        let tree = crate::read_text(text, "/etc/apache2").unwrap();
        assert_eq!(tree.facts.environment.keys().collect::<Vec<_>>(), ["PATH"]);
        let tree = crate::read_text("<If \"osenv('PATH') == ''\">\n</If>", "/etc/apache2").unwrap();
        assert_eq!(tree.facts.environment.len(), 1);
        let tree = crate::read_text("Header set X PATH", "/etc/apache2").unwrap();
        assert!(tree.facts.environment.is_empty());
    }
}
