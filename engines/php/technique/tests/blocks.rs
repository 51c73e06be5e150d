//! Blocks for modules that are not there, on a server with PHP: which lines may be skipped, and which close a directory.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::{Config, HtaccessScope, Origin, parse_htaccess, read_text};
use hostler_php_technique as php;

fn install() {
    php::install(vec![php::Version::of("php", "8.2.1").unwrap()]);
    assert_eq!(hostler_techniques::install(), Ok(()));
}

/// An .htaccess file below a main configuration.
fn htaccess(main: &str, text: &str) -> Result<(), String> {
    install();
    let build = |text: &str| Config::build(&read_text(text, "/etc/apache2").unwrap()).unwrap();
    let config = build(main);
    let all = build("<Directory /w>\nAllowOverride All\n</Directory>");
    let scope = HtaccessScope {
        config: &config,
        host: Origin::default(),
        file: "/w/.htaccess",
        directory: "/w",
        allow: all.main().directories[0].conf.core.allow().into(),
    };
    parse_htaccess(text.as_bytes(), &scope).map(drop).map_err(|error| error.to_string())
}

fn main_file(text: &str) -> Result<Config, String> {
    install();
    let all = |errors: Vec<hostler_config::ConfigError>| {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    Config::build(&read_text(text, "/etc/apache2").map_err(all)?).map_err(all)
}

/// Versions of mod_php that Apache with PHP 8 lacks, too.
const OTHER_PHP: &[&str] =
    &["mod_php4.c", "mod_php5.c", "mod_php7.c", "mod_php8.c", "php5_module", "php7_module", "php8_module"];

/// Modules that Apache usually has and Hostler lacks.
const LACKED: &[&str] = &["mod_dav.c", "mod_dav_fs.c", "mod_cache.c"];

#[test]
fn settings_of_php_guard_nothing() {
    for line in [
        "php_value memory_limit 300M",
        "php_flag display_errors off",
        "php_flag engine off",
        "php_value auto_prepend_file '/w/wordfence-waf.php'",
        "php_value open_basedir /w",
        "php_admin_value open_basedir /w",
        "php_admin_flag engine off",
    ] {
        for module in OTHER_PHP.iter().chain(LACKED) {
            let text = format!("<IfModule {module}>\n{line}\n</IfModule>");
            assert_eq!(htaccess("", &text), Ok(()), "{text}");
        }
    }
}

#[test]
fn only_php_of_another_version_may_take_handlers_with_it() {
    for line in [
        "AddHandler application/x-httpd-php5 .php .phtml",
        "AddType application/x-httpd-php .php",
        "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>",
    ] {
        for module in OTHER_PHP {
            let text = format!("<IfModule {module}>\n{line}\n</IfModule>");
            assert_eq!(htaccess("", &text), Ok(()), "{text}");
        }
        for module in LACKED {
            let error = htaccess("", &format!("<IfModule {module}>\n{line}\n</IfModule>")).unwrap_err();
            assert!(error.contains("decides which program answers for files"), "{error}");
        }
    }
}

#[test]
fn an_access_rule_closes_the_directory_whichever_module_is_lacked() {
    for line in [
        "Require all denied",
        "<Files x>\nRequire all denied\n</Files>",
        "Deny from all",
        "RewriteRule ^ - [F]",
        "RedirectMatch 403 ^",
        "Options -Indexes",
        "RemoveHandler .php",
        "SetEnvIf User-Agent x bad",
        "AuthUserFile /w/users",
        "IndexIgnore *.bak",
        "NoSuchDirective x",
        "<IfModule mod_alias.c>\nRedirect 403 /\n</IfModule>",
    ] {
        for module in OTHER_PHP.iter().chain(LACKED) {
            let error = htaccess("", &format!("<IfModule {module}>\n{line}\n</IfModule>")).unwrap_err();
            assert!(error.contains("may restrict who sees what"), "{line}: {error}");
            assert!(!error.contains("source would"), "{error}");
        }
    }
    // Blocks for present modules are applied, and blocks for modules that no user of Hostler expects are skipped.
    for text in [
        "<IfModule mod_php.c>\nphp_value x 1\nRequire all denied\n</IfModule>",
        "<IfModule !mod_php7.c>\nRequire all denied\n</IfModule>",
        "<IfModule mod_python.c>\nPythonHandler mod_python.publisher\nRequire all denied\n</IfModule>",
        "<IfModule mod_suexec.c>\nphp_value memory_limit 1M\n</IfModule>",
        "<IfModule mod_socache_shmcb.c>\nphp_value memory_limit 1M\n</IfModule>",
        "<IfModule mod_lsapi.c>\nRequire all denied\n</IfModule>",
    ] {
        assert_eq!(htaccess("", text), Ok(()), "{text}");
    }
}

#[test]
fn blocks_for_caches_and_slots_count_where_their_module_is_loaded() {
    for (name, file, lines) in [
        ("socache_shmcb", "mod_socache_shmcb.c", "SSLSessionCache shmcb:/run/scache(512000)"),
        ("socache_shmcb", "socache_shmcb_module", "AuthnCacheSOCache shmcb"),
        ("socache_dbm", "mod_socache_dbm.c", "SSLSessionCache dbm:/run/scache"),
        ("slotmem_shm", "slotmem_shm_module", "ProxyPass /a balancer://b"),
    ] {
        let load = format!("LoadModule {name}_module modules/mod_{name}.so\n");
        let block = format!("<IfModule {file}>\n{lines}\nServerName inside\n</IfModule>");
        let name =
            |config: Config| config.main().conf.core.server_name.as_ref().map(|name| name.host.clone());
        assert_eq!(main_file(&(load + &block)).map(name), Ok(Some("inside".into())), "{block}");
        assert_eq!(main_file(&block).map(name), Ok(None), "{block}");
    }
}

#[test]
fn mod_python_is_not_there() {
    let block = "<IfModule mod_python.c>\n<Location /trac>\nSetHandler mod_python\n\
                 PythonHandler trac.web.modpython_frontend\nPythonDebug On\n</Location>\n</IfModule>";
    assert_eq!(main_file(block).map(drop), Ok(()));
    let loaded = format!("LoadModule python_module modules/mod_python.so\n{block}");
    let error = main_file(&loaded).unwrap_err();
    assert!(error.contains("does not have mod_python.c") && error.contains("SetHandler"), "{error}");
    assert_eq!(main_file("LoadModule python_module modules/mod_python.so").map(drop), Ok(()));
}

#[test]
fn a_refused_directive_gives_its_reason_wherever_it_stands() {
    for text in [
        "PythonHandler mod_python.publisher",
        "<Directory /w>\nPythonHandler mod_python.publisher\n</Directory>",
        "<VirtualHost *:80>\n<Location /x>\nPythonHandler mod_python.publisher\n</Location>\n</VirtualHost>",
    ] {
        let error = main_file(text).unwrap_err();
        assert!(error.contains("WSGIScriptAlias") && !error.contains("not allowed"), "{error}");
    }
    let error = htaccess("", "PythonHandler mod_python.publisher").unwrap_err();
    assert!(error.contains("WSGIScriptAlias") && !error.contains("not allowed"), "{error}");
    let error =
        main_file("<Directory /w>\nJkWorkerProperty a=b\nProxyRemote * http://x/\n</Directory>").unwrap_err();
    assert!(error.contains("ProxyRemote: is not supported"), "{error}");
}

#[test]
fn an_unknown_directive_is_taken_for_a_misspelt_one_only_of_what_is_there() {
    let error = main_file("SecRuleUpdateById 1 2").unwrap_err();
    assert!(error.contains("mod_security") && !error.contains("did you mean"), "{error}");
    let error = main_file("DocumentRot /x").unwrap_err();
    assert!(error.contains("did you mean DocumentRoot?"), "{error}");
}

#[test]
fn another_php_is_named_as_such() {
    let error = main_file("LoadModule php7_module modules/libphp7.4.so").unwrap_err();
    assert!(error.contains("LoadModule php_module") && error.contains("<IfModule mod_php.c>"), "{error}");
}
