//! The virtual hosts that have programs for an engine at all.

use crate::directives::core::Setting;
use crate::technique::{self, Engine, Technique};
use crate::{DirConfig, Section, Server};
use std::sync::Arc;

/// Returns whether some section of the virtual host, its own or inherited, names a program for the engine. What
/// .htaccess files say is not known here.
#[must_use]
pub fn uses(server: &Server, engine: &Engine) -> bool {
    (engine.has_say_in_server)(&server.conf)
        || in_dir(&server.defaults, engine)
        || in_sections(&server.directories, engine)
        || in_sections(&server.locations, engine)
}

/// Returns whether it names one for any engine.
#[must_use]
pub fn uses_any(server: &Server) -> bool {
    technique::engines().iter().any(|engine| uses(server, engine))
}

fn in_dir(conf: &DirConfig, engine: &Engine) -> bool {
    let answers =
        |handler: &str| technique::of_handler(handler.as_bytes()).and_then(Technique::engine) == Some(engine);
    let set = matches!(&conf.core.handler, Some(Setting::Word(word)) if answers(word));
    set || (engine.has_say)(conf)
        || in_sections(&conf.core.files, engine)
        || in_sections(&conf.core.ifs, engine)
}

fn in_sections(sections: &[Arc<Section>], engine: &Engine) -> bool {
    sections.iter().any(|section| in_dir(&section.conf, engine))
}
