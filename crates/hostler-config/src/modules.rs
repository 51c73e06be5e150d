//! The list of modules, and their directives by name, without regard to case. A technique of another crate brings its
//! own ([`crate::technique`]).

pub(crate) mod effect;
pub(crate) mod foreign;
pub(crate) mod known;

use crate::directives::{
    access_compat, actions, alias, auth, authz, autoindex, cern_meta, cgi, charset_lite, core, dir, env,
    expires, fcgid, filter, headers, imagemap, include, info, jk, log_config, log_debug, log_forensic, mime,
    negotiation, peruser, pool, proxy, proxy_fcgi, proxy_html, reach, reading, reflector, remoteip, rewrite,
    sed, session, setenvif, speling, ssl, substitute, suexec, userdir, usertrack, vhost_alias, xml2enc,
};
use crate::{Directive, Module, technique};
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// The modules that Hostler implements, under the names of Apache's, but for the core's and the techniques'.
static MODULES: &[&Module] = &[
    &rewrite::MODULE,
    &alias::MODULE,
    &dir::MODULE,
    &mime::MODULE,
    &env::MODULE,
    &setenvif::MODULE,
    &headers::MODULE,
    &authz::MODULE,
    &authz::HOST,
    &authz::USER,
    &access_compat::MODULE,
    &auth::MODULE,
    &auth::AUTHN_CORE,
    &auth::AUTHN_FILE,
    &auth::AUTHZ_GROUPFILE,
    &auth::SOCACHE,
    &auth::anon::MODULE,
    &auth::dbm::AUTHN,
    &auth::dbm::AUTHZ,
    &auth::digest::MODULE,
    &auth::form::MODULE,
    &session::MODULE,
    &session::COOKIE,
    &session::CRYPTO,
    &authz::OWNER,
    &log_config::MODULE,
    &log_config::LOGIO,
    &log_debug::MODULE,
    &log_forensic::MODULE,
    &imagemap::MODULE,
    &info::MODULE,
    &cern_meta::MODULE,
    &expires::MODULE,
    &autoindex::MODULE,
    &filter::MODULE,
    &filter::DEFLATE,
    &filter::BROTLI,
    &filter::BUFFER,
    &filter::EXT_FILTER,
    &negotiation::MODULE,
    &reflector::MODULE,
    &remoteip::MODULE,
    &speling::MODULE,
    &userdir::MODULE,
    &usertrack::MODULE,
    &vhost_alias::MODULE,
    &actions::MODULE,
    &include::MODULE,
    &cgi::MODULE,
    &cgi::CGID,
    &ssl::MODULE,
    &proxy::MODULE,
    &proxy::HTTP,
    &proxy::HTTP2,
    &proxy::BALANCER,
    &proxy::WSTUNNEL,
    &proxy::checks::MODULE,
    &proxy::METHODS[0],
    &proxy::METHODS[1],
    &proxy::METHODS[2],
    &charset_lite::MODULE,
    &proxy_html::MODULE,
    &xml2enc::MODULE,
    &substitute::MODULE,
    &sed::MODULE,
    &ssl::CLIENTS,
    &ssl::LOOKUP,
    &ssl::STAPLING,
    &ssl::BACKENDS,
    &peruser::MODULE,
    &suexec::MODULE,
    &pool::MODULE,
    &pool::HOSTLER,
    &reach::MODULE,
    &proxy_fcgi::MODULE,
    &fcgid::MODULE,
    &fcgid::MOD_FASTCGI,
    &proxy_fcgi::SCGI,
    &proxy_fcgi::AJP,
    &proxy_fcgi::UWSGI,
    &jk::MODULE,
];

/// Modules that are built in and have no directives of their own here, or share them with another.
pub static MORE_NAMES: &[(&str, &str)] = &[
    ("http_module", "http_core.c"),
    ("unixd_module", "mod_unixd.c"),
    ("mpm_itk_module", "mpm_itk.c"),
    // Apache2::Request and Apache2::Cookie.
    ("apreq_module", "mod_apreq2.c"),
    // The filter RATE_LIMIT, which variables tell how fast to be.
    ("ratelimit_module", "mod_ratelimit.c"),
    // The filter DATA.
    ("data_module", "mod_data.c"),
    // The handler send-as-is.
    ("asis_module", "mod_asis.c"),
    // The variable UNIQUE_ID, where the module is loaded.
    ("unique_id_module", "mod_unique_id.c"),
    // The handler server-status.
    ("status_module", "mod_status.c"),
    // Shared caches and slots, which the front keeps in its own memory.
    ("socache_shmcb_module", "mod_socache_shmcb.c"),
    ("socache_dbm_module", "mod_socache_dbm.c"),
    ("socache_memcache_module", "mod_socache_memcache.c"),
    ("socache_redis_module", "mod_socache_redis.c"),
    ("slotmem_shm_module", "mod_slotmem_shm.c"),
    ("slotmem_plain_module", "mod_slotmem_plain.c"),
];

/// All modules that Hostler implements.
pub fn all_modules() -> impl Iterator<Item = &'static Module> {
    let of_techniques =
        technique::all().iter().filter(|row| (row.is_there)()).flat_map(|row| row.modules.iter().copied());
    [&reading::MODULE]
        .into_iter()
        .chain(core::MODULES.iter().copied())
        .chain(MODULES.iter().copied())
        .chain(of_techniques)
}

/// Modules that count only where the configuration loads them, as under Apache: their presence changes what a server does,
/// or which of two blocks is read.
pub(crate) const WHERE_LOADED: &[(&str, &str)] = &[
    ("unique_id_module", "mod_unique_id.c"),
    ("suexec_module", "mod_suexec.c"),
    ("socache_shmcb_module", "mod_socache_shmcb.c"),
    ("socache_dbm_module", "mod_socache_dbm.c"),
    ("socache_memcache_module", "mod_socache_memcache.c"),
    ("socache_redis_module", "mod_socache_redis.c"),
    ("slotmem_shm_module", "mod_slotmem_shm.c"),
    ("slotmem_plain_module", "mod_slotmem_plain.c"),
];

/// The source files of all modules that are there, by which a block may depend on one: `mod_alias.c`. `loaded`: the names of
/// those that the configuration loads.
pub fn sources(loaded: &BTreeSet<String>) -> impl Iterator<Item = &'static str> {
    let there = all_modules().filter(|module| module.is_there());
    let all = there.map(|module| module.file).chain(MORE_NAMES.iter().map(|(_, file)| *file));
    let is_there = |file: &str| {
        let by_loading = WHERE_LOADED.iter().find(|(_, source)| *source == file);
        by_loading.is_none_or(|(module, _)| loaded.contains(*module))
    };
    all.filter(move |file| is_there(file))
}

type Entry = (&'static Module, &'static Directive);

/// Later entries win, so what is implemented comes last.
static BY_NAME: LazyLock<HashMap<String, Entry>> = LazyLock::new(|| {
    let all = known::modules().iter().copied().chain(all_modules());
    let all = all.flat_map(|module| module.directives.iter().map(move |directive| (module, directive)));
    let mut by_name: HashMap<String, Entry> =
        all.map(|(module, directive)| (directive.name.to_ascii_lowercase(), (module, directive))).collect();
    for (former, name) in fcgid::FORMER_NAMES {
        if let Some(entry) = by_name.get(&name.to_ascii_lowercase()).copied() {
            by_name.insert(former.to_ascii_lowercase(), entry);
        }
    }
    by_name
});

/// The module and the entry of a directive.
#[must_use]
pub fn find(name: &str) -> Option<Entry> {
    BY_NAME.get(&name.to_ascii_lowercase()).copied()
}

/// The name that was probably meant.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if name.len() > 60 {
        return None;
    }
    let distances = BY_NAME.iter().map(|(known, (_, directive))| (distance(&name, known), directive.name));
    let (distance, found) = distances.min()?;
    (distance <= 1 + name.len() / 5).then_some(found)
}

/// Letters to insert, remove or change (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_misspelled_names() {
        assert_eq!(nearest("DocumentRot"), Some("DocumentRoot"));
        assert_eq!(nearest("allowoveride"), Some("AllowOverride"));
        assert_eq!(nearest("Xyzzyplugh"), None);
    }

    /// The directives that configurations in the wild use most; each must at least be known.
    const USED: &str = "ServerRoot Listen ServerName ServerAlias ServerAdmin DocumentRoot User Group PidFile Timeout \
        KeepAlive KeepAliveTimeout MaxKeepAliveRequests ErrorLog LogLevel LogFormat CustomLog TransferLog Include \
        IncludeOptional Define LoadModule IfModule IfDefine IfVersion IfFile IfDirective VirtualHost Directory \
        DirectoryMatch Files FilesMatch Location LocationMatch If ElseIf Else Limit LimitExcept AccessFileName \
        AllowOverride AllowOverrideList Options Require RequireAll RequireAny RequireNone Order Allow Deny Satisfy \
        AuthType AuthName AuthUserFile AuthGroupFile AuthBasicProvider Alias AliasMatch ScriptAlias ScriptAliasMatch \
        Redirect RedirectMatch RedirectTemp RedirectPermanent RewriteEngine RewriteRule RewriteCond RewriteBase \
        RewriteMap RewriteOptions DirectoryIndex DirectorySlash FallbackResource AcceptPathInfo ErrorDocument Action \
        Script AddHandler SetHandler RemoveHandler AddType RemoveType ForceType TypesConfig AddEncoding AddCharset \
        AddLanguage AddDefaultCharset AddOutputFilter SetOutputFilter AddOutputFilterByType SetEnv PassEnv UnsetEnv \
        SetEnvIf SetEnvIfNoCase SetEnvIfExpr BrowserMatch BrowserMatchNoCase Header RequestHeader ExpiresActive \
        ExpiresByType ExpiresDefault FileETag XBitHack SSIErrorMsg SSITimeFormat SSIUndefinedEcho SSIStartTag \
        SSIEndTag SSILegacyExprParser SSILastModified SSIETag ScriptLog ScriptLogLength ScriptLogBuffer Proxy \
        ProxyPass ProxyPassMatch ProxyPassReverse ProxyFCGIBackendType ProxyFCGISetEnvIf CGIPassAuth Perl PerlHandler \
        PerlResponseHandler PerlModule PerlRequire PerlSetVar PerlAddVar PerlSetEnv PerlHeaderParserHandler \
        PerlOutputFilterHandler php_value php_flag php_admin_value php_admin_flag AssignUserID AssignUserIDExpr \
        AssignGroupIDExpr MaxClientsVHost NiceValue LimitUIDRange LimitGIDRange EnableCapabilities \
        HttpProtocolOptions LimitRequestLine LimitRequestFields LimitRequestFieldSize LimitRequestBody MergeSlashes \
        UseCanonicalName VirtualDocumentRoot UserDir AllowMethods MaxRanges AuthDigestProvider FcgidInitialEnv \
        FcgidMaxRequestLen FastCgiServer FastCgiExternalServer WSGIScriptAlias WSGIDaemonProcess JkMount \
        JkWorkersFile Processor ServerEnvironment RemoteIPHeader SSLEngine SSLCertificateFile SSLCertificateKeyFile \
        SSLProtocol Protocols CheckSpelling Substitute SecRule IndexOptions AddIcon AddDescription LanguagePriority";

    #[test]
    fn what_is_used_is_known() {
        let unknown: Vec<_> = USED.split_whitespace().filter(|name| find(name).is_none()).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn former_names_are_those_of_directives_that_are_there() {
        for (former, name) in fcgid::FORMER_NAMES {
            let (module, directive) = find(former).unwrap();
            assert_eq!((module.name, directive.name), ("fcgid_module", *name));
        }
    }

    #[test]
    fn blocks_may_depend_on_modules_without_directives() {
        for file in ["mod_proxy_ajp.c", "mod_proxy_http.c", "mod_proxy_uwsgi.c"] {
            assert!(sources(&BTreeSet::new()).any(|source| source == file), "{file}");
        }
    }

    #[test]
    fn no_directive_is_implemented_twice() {
        let mut seen = std::collections::HashSet::new();
        for directive in all_modules().flat_map(|module| module.directives) {
            assert!(seen.insert(directive.name.to_ascii_lowercase()), "{}", directive.name);
        }
    }
}
