//! Variables of the reader's environment. Whoever serves requests runs with a clean environment, so that what the
//! operator's shell holds is never found by a tenant; only what the configuration names is kept for them.

use super::expand::Reader;

impl Reader {
    /// Keeps variables that PassEnv names: for the virtual host, or for all, or, in a section outside of virtual
    /// hosts, for that section alone.
    pub(super) fn keep_environment(&mut self, names: &str) {
        for name in crate::words(names) {
            self.keep_variable(&name, self.depth == 0);
        }
    }

    /// Keeps variables that expressions and rewrite rules in a directive's arguments name, as `osenv('NAME')`,
    /// `%{osenv:NAME}`, or with `env`, which falls back to this environment. A computed name finds nothing.
    pub(super) fn keep_named_variables(&mut self, args: &str) {
        if !self.htaccess && !self.made {
            // Which requests a section is about shows only when they come.
            named(args).for_each(|name| self.keep_variable(name, self.host.is_none()));
        }
    }

    fn keep_variable(&mut self, name: &str, everywhere: bool) {
        // `var` would panic at these.
        if name.is_empty() || name.contains(['=', '\0']) {
            return;
        }
        if let Some(value) = self.surrounding(name) {
            let kept = self.facts.environment.entry(name.to_owned()).or_default();
            kept.value = value;
            kept.everywhere |= everywhere;
            kept.hosts.extend(self.host);
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

    #[test]
    fn a_variable_belongs_to_those_who_name_it() {
        let inside = "<VirtualHost *>\n<Location /x>\nPassEnv PATH\n</Location>\n</VirtualHost>";
        let tree = crate::read_text(&format!("{inside}\n<VirtualHost *>\n</VirtualHost>"), "/srv").unwrap();
        let hosts = tree.nodes.iter().filter(|node| node.name == "VirtualHost");
        let hosts: Vec<_> = hosts.map(|node| node.origin).collect();
        assert!(tree.facts.variable("PATH", hosts[0]).is_some());
        assert_eq!(tree.facts.variable("PATH", hosts[1]), None);
        let visible = |text: &str| {
            let tree = crate::read_text(text, "/srv").unwrap();
            assert!(tree.facts.environment.contains_key("PATH"), "{text}");
            tree.facts.variable("PATH", crate::Origin { file: 0, line: 77 }).is_some()
        };
        assert!(visible("PassEnv PATH"));
        assert!(!visible("<Directory /srv/anna>\nPassEnv PATH\n</Directory>"));
        assert!(visible("<Location /x>\nHeader set X \"expr=%{osenv:PATH}\"\n</Location>"));
    }
}
