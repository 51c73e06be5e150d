//! The effect of leaving a line out, from the table of directives; a directive that the table does not know counts as
//! guarding. Not here: which lines are left out (`read::lacking`).

use super::find;
use crate::lexer::words;
use crate::table::{Action, Effect};

/// The effect of a line; never [`Effect::HarmlessIf`] or [`Effect::HandsOverUnless`].
pub(crate) fn of(name: &str, args: &str) -> Effect {
    let Some((module, directive)) = find(name) else { return Effect::Guards };
    match directive.action {
        Action::Ignored(_) => Effect::Harmless,
        Action::Refused(_) => Effect::Guards,
        Action::RefusedUnless(word, _) => {
            let turns_off = words(args).iter().map(|word| word.to_ascii_lowercase()).eq([word]);
            if turns_off { Effect::Harmless } else { Effect::Guards }
        }
        Action::Set(_) | Action::Section(_) | Action::Read => {
            settled(directive.effect.unwrap_or(module.effect), args)
        }
    }
}

fn settled(effect: Effect, args: &str) -> Effect {
    match effect {
        Effect::HarmlessIf(is_harmless) | Effect::HandsOverUnless(is_harmless)
            if is_harmless(&words(args)) =>
        {
            Effect::Harmless
        }
        Effect::HarmlessIf(_) => Effect::Guards,
        Effect::HandsOverUnless(_) => Effect::HandsOver,
        effect => effect,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_harmless(name: &str, args: &str) -> bool {
        matches!(of(name, args), Effect::Harmless)
    }

    #[test]
    fn who_may_see_what_is_told_apart_from_the_rest() {
        for (name, args) in [
            ("Require", "all denied"),
            ("Deny", "from all"),
            ("satisfy", "any"),
            ("RewriteRule", "^ - [F]"),
            ("RewriteEngine", "On"),
            ("Options", "-Indexes"),
            ("Options", "MultiViews"),
            ("Redirect", "/a /b"),
            ("SetEnvIf", "User-Agent x bad"),
            ("RemoveHandler", ".php"),
            ("AddOutputFilterByType", "INCLUDES text/html"),
            ("SetOutputFilter", "DEFLATE;INCLUDES"),
            ("VirtualHost", "*:80"),
            ("SuexecUserGroup", "joe users"),
            ("NoSuchDirective", "x"),
            ("Define", "X"),
            ("IndexIgnore", "*.bak"),
        ] {
            assert!(matches!(of(name, args), Effect::Guards), "{name} {args}");
        }
        for (name, args) in [
            ("SetHandler", "x"),
            ("AddHandler", "fcgid-script .php"),
            ("AddType", "application/x-httpd-php .php"),
            ("Action", "a /b"),
        ] {
            assert!(matches!(of(name, args), Effect::HandsOver), "{name} {args}");
        }
        for (name, args) in [
            ("RewriteEngine", "off"),
            ("RewriteBase", "/"),
            ("Options", "-MultiViews"),
            ("AddType", "text/x-a .a"),
            ("AddEncoding", "gzip .gz"),
            ("AddOutputFilterByType", "DEFLATE text/html text/css"),
            ("SetOutputFilter", "BROTLI_COMPRESS;DEFLATE"),
            ("ExpiresActive", "On"),
            ("php_flag", "engine off"),
            ("php_value", "auto_prepend_file /srv/waf.php"),
            ("php_admin_flag", "engine off"),
            ("php_admin_value", "open_basedir /srv"),
            ("SSLSessionCache", "shmcb:/run/cache(512000)"),
            ("MaxRequestWorkers", "10"),
            ("CustomLog", "logs/a common"),
            ("LanguagePriority", "en"),
        ] {
            assert!(is_harmless(name, args), "{name} {args}");
        }
        assert!(matches!(of("FilesMatch", "x"), Effect::AsItsLines));
    }
}
