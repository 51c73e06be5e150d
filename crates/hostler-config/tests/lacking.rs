//! Blocks for modules that Hostler lacks: an error where leaving them out could show what they hide.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::{Config, HtaccessScope, Origin, parse_htaccess, read_text};
use std::fs;

const DUMPIO: &str = "LoadModule dumpio_module modules/mod_dumpio.so\n";

fn verdict(text: &str) -> Result<(), String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let all = |errors: Vec<hostler_config::ConfigError>| {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    read_text(text, "/nowhere").map(drop).map_err(all)
}

fn refused(text: &str, says: &[&str]) {
    let error = verdict(text).expect_err(text);
    assert!(says.iter().all(|word| error.contains(word)), "{text}: {error}");
    assert!(!error.contains("expected:"), "{error}");
}

#[test]
fn a_block_for_a_loaded_module_that_is_missing_may_not_be_left_out_if_it_guards() {
    let handler =
        "<FilesMatch \"\\.php$\">\nSetHandler \"proxy:unix:/run/x.sock|fcgi://localhost\"\n</FilesMatch>";
    refused(
        &format!("{DUMPIO}<IfModule dumpio_module>\n{handler}\n</IfModule>"),
        &["configuration:2: IfModule", "dumpio_module", "SetHandler (configuration:4)", "LoadModule"],
    );
    for (inside, named) in [
        ("<Files x.phps>\nRequire all denied\n</Files>", "Require"),
        ("<Directory /x>\n<Limit POST>\nDeny from all\n</Limit>\n</Directory>", "Deny"),
        ("NoSuchDirective", "NoSuchDirective"),
        ("<NoSuchSection>\n</NoSuchSection>", "NoSuchSection"),
        ("<VirtualHost *:80>\n</VirtualHost>", "VirtualHost"),
        ("Define HAS_DUMPIO", "Define"),
        ("Include /nowhere/at-all", "Include"),
        ("Use NoSuchMacro", "Use"),
        ("<IfModule mod_alias.c>\nRedirect /a /b\n</IfModule>", "Redirect"),
        ("<IfModule !mod_nothing.c>\nRedirect /a /b\n</IfModule>", "Redirect"),
        ("<IfVersion >= 2.4>\nRequire local\n</IfVersion>", "Require"),
        ("<IfDefine NOT>\nRequire local\n</IfDefine>", "Require"),
        ("LoadModule security2_module x.so", "LoadModule"),
        ("<Perl>\n1;\n</Perl>", "Perl"),
    ] {
        for module in ["dumpio_module", "mod_dumpio.c"] {
            refused(&format!("{DUMPIO}<IfModule {module}>\n{inside}\n</IfModule>"), &[module, named]);
        }
        // A macro's lines, where they are used; inside of another block; under a condition on a directive.
        let macros = format!("<Macro M>\n{inside}\n</Macro>\n");
        refused(&format!("{macros}{DUMPIO}<IfModule dumpio_module>\nUse M\n</IfModule>"), &[named]);
        refused(
            &format!(
                "{DUMPIO}<IfModule mod_alias.c>\n<IfModule dumpio_module>\n{inside}\n</IfModule>\n</IfModule>"
            ),
            &[named],
        );
        refused(&format!("{DUMPIO}<IfDirective DumpIOInput>\n{inside}\n</IfDirective>"), &[named]);
    }
    refused("LoadModule x_module modules/mod_xyz.so\n<IfModule mod_xyz.c>\nXOn\n</IfModule>", &["XOn"]);
    refused(
        "LoadModule mpm_event_module modules/mod_mpm_event.so\n<IfModule event.c>\nUser x\n</IfModule>",
        &["User"],
    );
    // What one block loads, another may depend on.
    refused(
        &format!(
            "{DUMPIO}<IfModule dumpio_module>\nLoadModule dav_module x.so\n</IfModule>\n\
             <IfModule mod_dav.c>\nDav On\n</IfModule>"
        ),
        &["Dav"],
    );
}

#[test]
fn what_is_harmless_to_leave_out_is_left_out() {
    for inside in [
        "",
        "DumpIOInput Off",
        "<Directory /x>\nExpiresActive On\nRewriteEngine off\n</Directory>",
        "<IfModule !mod_alias.c>\nRequire all denied\n</IfModule>",
        "<IfModule !mod_dumpio.c>\nRequire all denied\n</IfModule>",
        "<IfModule mod_nothing.c>\nRequire all denied\n</IfModule>",
        "<IfVersion < 2.4>\nRequire all denied\n</IfVersion>",
        "IncludeOptional /nowhere/*.conf",
        "Options -MultiViews",
    ] {
        let text = format!("{DUMPIO}<IfModule dumpio_module>\n{inside}\n</IfModule>");
        assert_eq!(verdict(&text), Ok(()), "{inside}");
    }
    // Loaded later, or not at all: Apache leaves the block out too. For want of the module: it is carried out.
    let guard = "<Directory /x>\nRequire all denied\n</Directory>";
    for text in [
        format!("<IfModule dumpio_module>\n{guard}\n</IfModule>\n{DUMPIO}"),
        format!("<IfModule mod_rewrite.c>\n{guard}\n</IfModule>"),
        format!("{DUMPIO}<IfModule !dumpio_module>\n{guard}\n</IfModule>"),
        format!("LoadModule alias_module x.so\n<IfModule !alias_module>\n{guard}\n</IfModule>"),
    ] {
        assert_eq!(verdict(&text), Ok(()), "{text}");
    }
}

#[test]
fn files_that_a_left_out_block_includes_are_looked_into() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("harmless.conf"), "ExpiresActive On\n").unwrap();
    fs::write(folder.path().join("guard.conf"), "# one\n<Files x>\nRequire local\n</Files>\n").unwrap();
    let block = |name: &str| {
        let file = folder.path().join(name);
        format!("{DUMPIO}<IfModule dumpio_module>\nIncludeOptional {}\n</IfModule>", file.display())
    };
    assert_eq!(verdict(&block("harmless.conf")), Ok(()));
    refused(&block("*.conf"), &["guard.conf:3"]);
}

fn htaccess(main: &str, text: &str) -> Result<(), String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let tree = read_text(main, "/etc/apache2").unwrap();
    let config = Config::build(&tree).unwrap();
    let allow = "<Directory /w>\nAllowOverride All\n</Directory>";
    let tree = read_text(allow, "/etc/apache2").unwrap();
    let all = Config::build(&tree).unwrap().main().directories[0].conf.core.allow();
    let scope = HtaccessScope {
        config: &config,
        host: Origin::default(),
        file: "/w/.htaccess",
        directory: "/w",
        allow: all.into(),
    };
    parse_htaccess(text.as_bytes(), &scope).map(drop).map_err(|error| error.to_string())
}

#[test]
fn in_htaccess_the_modules_that_come_with_apache_are_expected() {
    for module in
        ["mod_proxy_ftp.c", "proxy_ftp_module", "mod_php.c", "php7_module", "mod_cache.c", "mod_dav.c"]
    {
        let text = format!("# one\n<IfModule {module}>\nRewriteEngine On\nDeny from all\n</IfModule>");
        let error = htaccess("", &text).unwrap_err();
        assert!(error.starts_with("/w/.htaccess:2: IfModule:") && error.contains(module), "{error}");
        assert!(error.contains("RewriteEngine (/w/.htaccess:3)") && !error.contains("LoadModule"), "{error}");
    }
    // One of two fallbacks counts, whichever it would be.
    let text = "<IfModule mod_dav.c>\n<IfModule !mod_php.c>\nDeny from all\n</IfModule>\n</IfModule>";
    assert!(htaccess("", text).is_err());
    for harmless in [
        "<IfModule mod_php.c>\nphp_value x 1\nphp_flag engine off\n</IfModule>",
        "<IfModule mod_negotiation.c>\nOptions -MultiViews\n</IfModule>",
        "<IfModule mod_speling.c>\nCheckSpelling On\n</IfModule>",
        "<IfModule mod_rewrite.c>\nRewriteEngine Off\n</IfModule>",
        // Those of others nobody expects, unless they are loaded.
        "<IfModule mod_security2.c>\nSecRuleRemoveById 1\n</IfModule>",
        "<IfModule mod_nothing.c>\nRequire all denied\n</IfModule>",
        "<IfModule !mod_rewrite.c>\nRequire all denied\n</IfModule>",
        "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n\
         <IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>",
    ] {
        assert_eq!(htaccess("", harmless), Ok(()), "{harmless}");
    }
    let loaded = "LoadModule x_module modules/mod_xyz.so";
    for module in ["x_module", "mod_xyz.c"] {
        let text = format!("<IfModule {module}>\nXOn\n</IfModule>");
        assert!(htaccess(loaded, &text).is_err() && htaccess("", &text).is_ok(), "{module}");
    }
}

#[test]
fn macros_that_multiply_are_looked_into_only_so_far() {
    let mut text = "<Macro M0>\nExpiresActive On\n</Macro>\n".to_owned();
    for level in 1..19 {
        let below = format!("Use M{}\n", level - 1);
        text += &format!("<Macro M{level}>\n{}</Macro>\n", below.repeat(20));
    }
    let text = format!("{text}<IfModule mod_dav.c>\nUse M18\n</IfModule>");
    assert!(htaccess("", &text).unwrap_err().contains("mod_dav.c"));
}
