//! The sections that decide while reading: IfModule, IfDefine, IfVersion, IfFile, IfDirective, IfSection.

use super::expand::Reader;
use super::{modules, version};
use crate::lexer::words;
use crate::modules as table;
use crate::table::Action;
use std::collections::BTreeMap;

/// The way to find out whether a file exists.
#[derive(Clone, Debug, Default)]
pub enum Stands {
    /// By looking: whoever reads the configuration may.
    #[default]
    OnDisk,
    /// Not at all: it is an error to ask.
    Unknown,
    /// Another process looks, by absolute path; an unknown path is asked for.
    Known(BTreeMap<String, bool>),
}

/// Most files that an .htaccess file may ask for: each is looked for with each request.
const MOST_ASKED: usize = 16;

/// Returns whether the section's contents count; `None`: it is not one of these sections.
pub(super) fn test(reader: &mut Reader, name: &str, args: &str) -> Option<Result<bool, String>> {
    let test: fn(&mut Reader, &str) -> Result<bool, String> = match name.to_ascii_lowercase().as_str() {
        "ifversion" => return Some(version::holds(reader, &words(args))),
        "ifmodule" => |reader, name| Ok(modules::is_there(reader, name)),
        "ifdefine" => |reader, name| Ok(reader.facts.defines.contains_key(name)),
        "iffile" => if_file,
        "ifdirective" => |_, name| Ok(implemented(name, false)),
        "ifsection" => |_, name| Ok(implemented(name, true)),
        _ => return None,
    };
    Some(negatable(reader, args, test))
}

fn negatable(
    reader: &mut Reader,
    args: &str,
    test: impl FnOnce(&mut Reader, &str) -> Result<bool, String>,
) -> Result<bool, String> {
    // The ! may stand before the quotes or within them.
    let (outside, args) = args.trim_start().strip_prefix('!').map_or((false, args), |args| (true, args));
    let words = words(args);
    let [word] = &words[..] else { return Err(format!("takes one argument, not {}", words.len())) };
    let (negated, name) = match word.strip_prefix('!') {
        Some(name) if !outside => (true, name),
        _ => (outside, word.as_str()),
    };
    if name.is_empty() {
        return Err("needs a name".to_owned());
    }
    Ok(test(reader, name)? != negated)
}

fn if_file(reader: &mut Reader, name: &str) -> Result<bool, String> {
    let path = crate::builder::server_path(&reader.facts.server_root, name);
    match &reader.stands {
        Stands::OnDisk => Ok(std::fs::metadata(path).is_ok()),
        Stands::Unknown => Err("cannot look at files here".to_owned()),
        Stands::Known(known) => match known.get(&path) {
            Some(stands) => Ok(*stands),
            None if known.len() + reader.asks.len() >= MOST_ASKED => {
                Err(format!("is not supported for more than {MOST_ASKED} files"))
            }
            None => {
                reader.asks.push(path);
                Ok(false)
            }
        },
    }
}

/// Returns whether Hostler carries the directive out: one that it only knows by name does not count.
fn implemented(name: &str, section: bool) -> bool {
    match table::find(name.trim_start_matches('<')).map(|(_, directive)| directive.action) {
        Some(Action::Set(_)) => !section,
        Some(Action::Section(_)) => section,
        Some(Action::Read) => section == name.trim_start_matches('<').to_ascii_lowercase().starts_with("if"),
        _ => false,
    }
}
