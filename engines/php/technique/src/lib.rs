//! PHP's part of the table of techniques: its engine and its row. Values only: `hostler-php` runs scripts, and the
//! front handles their requests.

mod setup;

pub use setup::group;

use hostler_config::directives::php;
use hostler_config::directives::pool::Isolation;
use hostler_config::technique::{Engine, Groups, Phases, Sizes, Technique, Variables, Via};

/// The module's name in logs.
pub const LOG: &str = "php";

/// The engine: `hostler-php`.
pub static ENGINE: Engine = Engine {
    name: php::ENGINE,
    program: |server| server.conf.php.program(),
    language: "PHP",
    title: |server| server.conf.php.title(),
    log: LOG,
    generation: |_| 0,
    stands_alone: |main, own| own.id != 0 && setup::differs(main, own),
    has_say: |_| false,
    has_say_in_server: |_| false,
    setup: |config, servers, _, one_shot| setup::setup(config, servers, one_shot),
    groups: Some(&GROUPS),
};

/// Sections with administrator's settings of their own, which come with each request.
static GROUPS: Groups = Groups {
    setup: |_, _, _, setup| setup::of_group(setup),
    environment: |_, _, _| Variables::new(),
    sizes: |_, _, _| Sizes::default(),
    check: |_| Vec::new(),
    are_configured: true,
};

/// PHP, under mod_php's handlers.
pub static PHP: Technique = Technique {
    name: "php",
    is_there: php::is_installed,
    handlers: &php::HANDLERS,
    ways: &[(Isolation::Persistent, Via::Ring(&ENGINE)), (Isolation::Fork, Via::Ring(&ENGINE))],
    refused: &[(
        Isolation::Exec,
        "PHP's handlers cannot be started for each request by exec: use Isolation fork, or Action with php-cgi as a CGI \
         program",
    )],
    phases: Phases::Response,
    modules: &[&php::MODULE],
    plain: None,
    is_whole: |_| false,
    answers: |_, file| format!("PHP, in a warm worker: {file}"),
};
