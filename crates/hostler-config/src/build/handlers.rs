//! Handlers that a configuration names: those that nothing answers for are told when it is read, not by a 500 to the
//! first visitor.

use crate::builder::Builder;
use crate::directives::reach;
use crate::technique;

/// The handlers that the front answers for itself; those of programs are the techniques'. A type of
/// `application/x-httpd-` that is no handler counts as one.
const HANDLERS: &[&str] = &[
    "default-handler",
    "server-parsed",
    "server-status",
    "balancer-manager",
    "hostler-metrics",
    "hostler-live",
    "hostler-ready",
    "send-as-is",
    "form-login-handler",
    "form-logout-handler",
    "form-redirect-handler",
    "imap-file",
    "application/x-httpd-imap",
    "server-info",
    "jakarta-servlet",
    "httpd/unix-directory",
    "none",
];

/// Warns of the handlers that nothing answers for, once all lines are known.
pub(crate) fn warn_of_missing(builder: &mut Builder) {
    let named = std::mem::take(&mut builder.handlers);
    for (origin, directive, name) in named {
        let answered = HANDLERS.contains(&name.as_str()) || technique::of_handler(name.as_bytes()).is_some();
        let proxied = reach::proxied(&name).is_some_and(|(_, scheme)| reach::SCHEMES.contains(&scheme));
        if answered || proxied || builder.actions.contains(&name) {
            continue;
        }
        let why = match name.strip_prefix("proxy:") {
            Some(_) => format!(
                "expected proxy:[unix:/path|]scheme://host[:port], where scheme is one of {}",
                reach::SCHEMES.join(", ")
            ),
            None => format!("unknown handler \"{name}\", and no Action for it"),
        };
        builder.warn(origin, format!("{directive}: {why}: every request for it gets 500"));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, read_text};

    fn warnings(text: &str) -> Vec<String> {
        let config = Config::build(&read_text(text, "/nowhere").unwrap()).unwrap();
        config.warnings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_nothing_answers_for_is_told() {
        for line in [
            "SetHandler \"proxy:gopher://127.0.0.1:9000\"",
            "AddHandler fcgid-script .fcgi",
            "SetHandler nonsense",
            "AddType application/x-httpd-php .php",
            "ForceType application/x-httpd-php",
        ] {
            let said = warnings(&format!("# one\n<Directory /x>\n{line}\n</Directory>"));
            assert!(said.len() == 1 && said[0].starts_with("configuration:3: "), "{line}: {said:?}");
        }
        for line in [
            "SetHandler None",
            "SetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"",
            "SetHandler PERL-SCRIPT",
            "AddHandler cgi-script .cgi",
            "AddType application/x-httpd-cgi .cgi",
            "AddType text/x .x",
            "SetHandler mine\nAction Mine /cgi-bin/x",
            "AddType application/x-httpd-php .php\nAction application/x-httpd-php /cgi-bin/php",
            "Options -MultiViews",
            "Options All",
            "SetHandler %{reqenv:X}",
        ] {
            assert_eq!(warnings(&format!("<Directory /x>\n{line}\n</Directory>")), [""; 0], "{line}");
        }
    }
}
