//! PHP's part of the table of techniques: its engine and its row. Values only: `hostler-php` runs scripts, and the
//! front handles their requests.

mod directives;
mod parts;
mod setup;
mod versions;

pub use directives::MODULE;
pub use parts::{DIR, Dir, SERVER, Server, Setting};
pub use setup::group;
pub use versions::{Version, install, is_installed};

use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Engine, Groups, Phases, Serve, Sizes, Technique, Variables, Via};

/// Handlers that the engine answers for, which are media types, too (`AddType application/x-httpd-php .php`).
pub const HANDLERS: [&str; 3] = ["application/x-httpd-php", "php-script", "application/x-httpd-php-source"];

/// The engine's name.
pub const ENGINE_NAME: &str = "php";

/// The module's name in logs.
pub const LOG: &str = "php";

/// The engine: `hostler-php`.
pub static ENGINE: Engine = Engine {
    name: ENGINE_NAME,
    program: |server| server.conf.part(&SERVER).program(),
    language: "PHP",
    title: |server| server.conf.part(&SERVER).title(),
    log: LOG,
    generation: |_| 0,
    stands_alone: |main, own| own.id != 0 && setup::differs(main, own),
    has_say: |_| false,
    has_say_in_server: |_| false,
    setup: |config, servers, _, one_shot| setup::setup(config, servers, one_shot),
    groups: Some(&GROUPS),
    versions: Some(&versions::VERSIONS),
};

/// Sections with administrator's settings of their own, which come with each request.
static GROUPS: Groups = Groups {
    setup: |_, _, _, setup| setup::of_group(setup),
    environment: |_, _, _| Variables::new(),
    sizes: |_, _, _| Sizes::default(),
    check: |_| Vec::new(),
    are_configured: true,
};

/// The lines with which `hostler serve` serves scripts.
const SERVED: &str = r#"DirectoryIndex index.html index.php index.shtml index.cgi index.pl
<FilesMatch ".+\.ph(?:ar|p|tml)$">
SetHandler application/x-httpd-php
</FilesMatch>
"#;

/// PHP, under mod_php's handlers.
pub static PHP: Technique = Technique {
    name: "php",
    is_there: is_installed,
    handlers: &HANDLERS,
    ways: &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(
        Isolation::Exec,
        "PHP's handlers cannot be started for each request by exec: use Isolation fork, or Action with php-cgi as a CGI \
         program",
    )],
    phases: Phases::Response,
    modules: &[&MODULE],
    is_other_version,
    plain: None,
    is_whole: |_| false,
    applications: None,
    serve: Serve { lines: SERVED, ..Serve::NOTHING },
    answers: |_, file| format!("PHP, in a warm worker: {file}"),
};

/// Returns whether a name is one of mod_php, of whatever version: `mod_php7.c`, `php7_module`.
fn is_other_version(name: &str) -> bool {
    name.strip_prefix("mod_php").map_or_else(
        || name.strip_prefix("php").is_some_and(|rest| rest.ends_with("_module")),
        |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()) == ".c",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_mod_php_are_known_by_either_name() {
        for name in ["mod_php.c", "mod_php5.c", "php7_module", "php_module"] {
            assert!(is_other_version(name), "{name}");
        }
        for name in ["mod_phpfoo.c", "phpx", "mod_proxy.c"] {
            assert!(!is_other_version(name), "{name}");
        }
    }
}
