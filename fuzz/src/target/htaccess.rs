//! An `.htaccess` file, with everything allowed.

use hostler_config::directives::core::{Allow, OptionBits};
use hostler_config::{Config, HtaccessScope, Overrides, lookup, parse_htaccess, read_text};
use std::sync::{Arc, OnceLock};

/// The input is the file.
pub fn target(data: &[u8]) {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        super::config::installed();
        let built = read_text("Define KNOWN value\nServerName x", "/nonexistent")
            .and_then(|tree| Config::build(&tree));
        built.unwrap_or_else(|errors| panic!("{errors:?}"))
    });
    let allow = Arc::new(Allow { classes: Overrides::ALL, options: OptionBits::EVERY, ..Allow::default() });
    let scope = HtaccessScope {
        config,
        host: config.main().origin,
        file: "/srv/www/.htaccess",
        directory: "/srv/www",
        allow,
    };
    match parse_htaccess(data, &scope) {
        Ok(parsed) => {
            let merged = config.main().defaults.merge(&parsed.conf);
            let _ = lookup::files(&merged, b"x.html.en");
        }
        Err(error) => drop(error.to_string()),
    }
}
