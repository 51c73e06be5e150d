//! The origin of an unknown directive: by the start of its name, or by the loaded modules that are not part of a stock
//! Apache. Only for messages: an unknown directive is an error in any case.

use crate::Origin;
use crate::tree::Foreign;

/// The prefixes of third-party modules' directives. Those that [`super::known`] lists one by one are not here.
const FAMILIES: &[(&str, &str)] = &[
    ("addtileconfig", "mod_tile"),
    ("authexternal", "mod_authnz_external"),
    ("authmysql", "mod_auth_mysql"),
    ("authpam", "mod_authnz_pam"),
    ("authzsvn", "mod_authz_svn"),
    ("bandwidth", "mod_bw"),
    ("cas", "mod_auth_cas"),
    ("cband", "mod_cband"),
    ("cloudflare", "mod_cloudflare"),
    ("defineexternal", "mod_authnz_external"),
    ("dos", "mod_evasive"),
    ("fcgid", "mod_fcgid"),
    ("geoip", "mod_geoip"),
    ("gnutls", "mod_gnutls"),
    ("gssapi", "mod_auth_gssapi"),
    ("jk", "mod_jk"),
    ("krb", "mod_auth_kerb"),
    ("logsql", "mod_log_sql"),
    ("lua", "mod_lua"),
    ("maxminddb", "mod_maxminddb"),
    ("mellon", "mod_auth_mellon"),
    ("modpagespeed", "mod_pagespeed"),
    ("modtile", "mod_tile"),
    ("mono", "mod_mono"),
    ("nss", "mod_nss"),
    ("oidc", "mod_auth_openidc"),
    ("passenger", "Passenger"),
    ("php_", "mod_php"),
    ("python", "mod_python"),
    ("qs_", "mod_qos"),
    ("rpaf", "mod_rpaf"),
    ("rails", "Passenger"),
    ("ruby", "mod_ruby"),
    ("sec", "mod_security"),
    ("shib", "mod_shib"),
    ("svn", "mod_dav_svn"),
    ("tktauth", "mod_auth_pubtkt"),
    ("weblogic", "the WebLogic plug-in"),
    ("wsgi", "mod_wsgi"),
    ("xsendfile", "mod_xsendfile"),
];

/// Words in names of modules that say nothing of their directives.
const GENERAL: &[&str] = &["auth", "authn", "authnz", "authz", "log", "module", "mod", "proxy"];

/// A sentence on whose an unknown directive is, where that can be guessed. `place` gives `file:line`.
pub(crate) fn whose(name: &str, loaded: &[Foreign], place: impl Fn(Origin) -> String) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let of_name = |module: &&Foreign| {
        let words = module.name.split('_').filter(|word| word.len() > 1 && !GENERAL.contains(word));
        words.map(str::to_ascii_lowercase).any(|word| lower.starts_with(&word))
    };
    if let Some(module) = loaded.iter().find(of_name) {
        let place = place(module.origin);
        return Some(format!(
            "it seems to belong to {}, which {place} loads and Hostler does not support",
            module.name
        ));
    }
    let family = FAMILIES.iter().find(|(beginning, _)| lower.starts_with(beginning));
    if let Some((_, module)) = family {
        return Some(format!("it seems to belong to {module}, which Hostler does not support"));
    }
    let others: Vec<_> = loaded.iter().map(|module| module.name.as_str()).collect();
    (!others.is_empty()).then(|| {
        format!("it may belong to a loaded module that Hostler does not support: {}", others.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, loaded: &[&str]) -> Option<String> {
        let foreign = |name: &&str| Foreign { name: (*name).to_owned(), origin: Origin { file: 0, line: 7 } };
        let loaded: Vec<_> = loaded.iter().map(foreign).collect();
        whose(name, &loaded, |at| format!("httpd.conf:{}", at.line))
    }

    #[test]
    fn a_family_names_its_module() {
        assert!(told("MellonEnable", &[]).unwrap().contains("belong to mod_auth_mellon,"));
        assert!(told("QS_SrvMaxConn", &[]).unwrap().contains("mod_qos"));
        assert_eq!(told("Xyzzy", &[]), None);
    }

    #[test]
    fn a_module_that_is_loaded_comes_first() {
        let loaded = ["auth_foo_module", "xyzzy_module"];
        assert!(
            told("XyzzyOn", &loaded).unwrap().contains("belong to xyzzy_module, which httpd.conf:7 loads")
        );
        assert!(told("FooBar", &loaded).unwrap().contains("belong to auth_foo_module,"));
        assert!(
            told("AuthBar", &loaded)
                .unwrap()
                .ends_with("a loaded module that Hostler does not support: auth_foo_module, xyzzy_module")
        );
    }
}
