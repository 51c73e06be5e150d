//! mod_php's directives where the engine is there. A file of its own: that is said once for a process.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::pools::{pools, uses};
use hostler_config::{Config, read_text};
use hostler_php_frames as frames;
use hostler_php_technique::ENGINE;
use hostler_php_technique::{self as php, DIR};

fn build(text: &str) -> Result<Config, String> {
    php::install(vec![
        php::Version::of("php", "8.2.1").unwrap(),
        php::Version::of("php8.4", "8.4.0").unwrap(),
    ]);
    hostler_techniques::install()?;
    let all = |errors: Vec<hostler_config::ConfigError>| {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let tree = read_text(text, "/etc/server").map_err(all)?;
    Config::build(&tree).map_err(all)
}

fn settings(text: &str) -> Vec<(String, String, bool)> {
    let config = build(text).unwrap();
    let of = |setting: &php::Setting| (setting.name.to_string(), setting.value.to_string(), setting.admin);
    config.main().defaults.part(&DIR).settings.iter().map(of).collect()
}

fn setting(name: &str, value: &str, admin: bool) -> (String, String, bool) {
    (name.to_owned(), value.to_owned(), admin)
}

#[test]
fn settings_are_read_as_mod_php_reads_them() {
    let text = "php_value a one\nphp_value b NONE\nphp_flag c On\nphp_flag d yes\nphp_admin_value e \"x y\"\n\
                php_admin_flag f 1\nphp_value a two";
    let expected = [
        setting("a", "two", false),
        setting("b", "", false),
        setting("c", "1", false),
        setting("d", "0", false),
        setting("e", "x y", true),
        setting("f", "1", true),
    ];
    assert_eq!(settings(text), expected);
}

#[test]
fn the_module_is_there_under_mod_php_s_names() {
    let text = "<IfModule mod_php.c>\nphp_value a 1\n</IfModule>\n<IfModule php_module>\nphp_value b 1\n</IfModule>\n\
                <IfModule mod_php7.c>\nphp_value c 1\n</IfModule>\nLoadModule php_module modules/libphp.so";
    assert_eq!(settings(text), [setting("a", "1", false), setting("b", "1", false)]);
}

#[test]
fn a_setting_that_php_reads_only_at_its_start_is_a_warning() {
    for line in ["php_value opcache.preload /x", "php_admin_value extension x.so"] {
        let warnings = build(line).unwrap().warnings;
        let text = warnings.first().map(ToString::to_string).unwrap_or_default();
        assert!(text.contains("has no effect") && text.contains("php.ini"), "{line}: {text}");
    }
    assert!(build("<Directory /x>\nPHPINIDir /y\n</Directory>").is_err());
}

#[test]
fn handlers_of_php_are_there_and_cannot_be_executed() {
    let config = build("<FilesMatch x>\nSetHandler application/x-httpd-php\n</FilesMatch>").unwrap();
    assert_eq!(config.warnings.len(), 0);
    assert!(uses(config.main(), &ENGINE));
    assert_eq!(build("AddType application/x-httpd-php .php").unwrap().warnings.len(), 0);
    assert!(build("<Location /x>\nIsolation exec\nSetHandler php-script\n</Location>").is_err());
}

#[test]
fn debian_s_own_configuration_is_understood() {
    let text = r#"
        <FilesMatch ".+\.ph(?:ar|p|tml)$">
            SetHandler application/x-httpd-php
        </FilesMatch>
        <FilesMatch ".+\.phps$">
            SetHandler application/x-httpd-php-source
            Require all denied
        </FilesMatch>
        <FilesMatch "^\.ph(?:ar|p|ps|tml)$">
            Require all denied
        </FilesMatch>
        <IfModule mod_userdir.c>
            <Directory /home/*/public_html>
                php_admin_flag engine Off
            </Directory>
        </IfModule>"#;
    assert_eq!(build(text).unwrap().warnings.len(), 0);
}

#[test]
fn a_host_with_settings_of_the_administrator_s_has_a_pool_of_its_own() {
    let host = |lines: &str| format!("<VirtualHost *:80>\n{lines}\n</VirtualHost>\n");
    let text = [
        host("php_value precision 5"),
        host("php_admin_value open_basedir /srv/a"),
        host("<Directory /srv>\nphp_admin_flag log_errors off\nphp_admin_flag engine off\n</Directory>"),
        host("PHPINIDir /etc/own\nPHPINIDir /etc/second"),
    ];
    let config = build(&text.concat()).unwrap();
    let pools = pools(&config, &[0; 5]);
    let pool_of = |server: u32| &pools.all[pools.share(server, &ENGINE).unwrap().pool as usize];
    let groups: Vec<_> = (0..5).map(|server| pool_of(server).key.group).collect();
    assert_eq!(groups, [0, 0, 2, 3, 4]);
    let setup = (ENGINE.setup)(&config, &pool_of(4).servers, 0, false);
    assert_eq!(frames::Setup::decode(&setup.own).unwrap().ini.as_deref(), Some("/etc/own"));
    assert_eq!(setup.servers.len(), 2);
}

#[test]
fn a_host_with_a_version_of_its_own_has_a_pool_and_a_program_of_its_own() {
    let host = |lines: &str| format!("<VirtualHost *:80>\n{lines}\n</VirtualHost>\n");
    let text = [host("PHPVersion 8.4"), host(""), host("PHPVersion 8.2")].concat();
    let config = build(&text).unwrap();
    let pools = pools(&config, &[0; 4]);
    let pool_of = |server: u32| &pools.all[pools.share(server, &ENGINE).unwrap().pool as usize];
    let groups: Vec<_> = (0..4).map(|server| pool_of(server).key.group).collect();
    assert_eq!(groups, [0, 1, 0, 0]);
    let programs: Vec<_> = config.servers.iter().map(|server| (ENGINE.program)(server)).collect();
    assert_eq!(programs, ["php", "php8.4", "php", "php"]);
    let said = build("PHPVersion 9.9").unwrap_err();
    assert!(said.contains("hostler-php9.9") && said.contains("8.2, 8.4"), "{said}");
    assert!(build("<Directory /x>\nPHPVersion 8.4\n</Directory>").is_err());
}
