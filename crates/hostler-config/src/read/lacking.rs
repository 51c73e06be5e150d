//! Blocks that are skipped because Hostler lacks a module: `<IfModule mod_dav.c>` and its like. Apache, which has the
//! module, would carry them out, so they may be skipped only where that changes neither who may see what nor which
//! files are handed to programs; else they are an error. [`crate::modules::effect`] judges the lines.
//!
//! In the configuration a module counts that has been loaded. An .htaccess file can load none; its author expects those
//! that come with Apache, and mod_php. What stands in a block for a module that is *not* there is carried out as ever.
//!
//! mod_php of another version is lacking from Apache with PHP 8, too, so its blocks may also contain lines that hand files
//! to PHP. An access rule in one still is an error: the site may come from a server that applied it.

use super::expand::Reader;
use super::files::parsed;
use super::perl::BY_MOD_PERL;
use super::{modules, version};
use crate::lexer::words;
use crate::modules::{self as table, effect, known};
use crate::table::{Action, Effect};
use crate::{Node, Origin};

/// Blocks, files and macros inside one another that are looked into.
const MAX_LEVELS: u32 = 20;

/// Lines that are looked at, in all: macros can multiply.
const MAX_JUDGED: usize = 50_000;

/// A line that may not be left out.
struct Loss {
    name: String,
    at: Origin,
    hands_over: bool,
}

/// The rules by which a block's lines are judged.
#[derive(Clone, Copy)]
struct Judge {
    /// Blocks, files and macros around the line.
    level: u32,
    /// A line that hands files to a program may be skipped, too.
    spares_handlers: bool,
}

impl Judge {
    fn deeper(self) -> Self {
        Self { level: self.level + 1, ..self }
    }
}

impl Reader {
    /// A block whose condition does not hold.
    pub(super) fn left_out(&mut self, at: Origin, section: &str, args: &str, children: &[Node]) {
        self.tell_of_perl(at, section, args, children);
        let Some(module) = self.lacked_by(section, args) else { return };
        let judge = Judge { level: 0, spares_handlers: modules::is_of_other_version(&module) };
        let Some(loss) = self.loss(children, judge) else { return };
        let place = format!("{}:{}", self.file_name(loss.at), loss.at.line);
        let what = match loss.hands_over {
            true => {
                "decides which program answers for files, which would be sent as they are or refused instead"
            }
            false => "may restrict who sees what",
        };
        let advice = match self.htaccess {
            true => "write it with directives that Hostler has, outside of this block, and remove the block",
            false => {
                "write it with directives that Hostler has, outside of this block, and remove the block, or remove the \
                 LoadModule"
            }
        };
        let message = format!(
            "Hostler does not have {module}, so this block would be skipped, and {} ({place}) in it {what}; {advice}",
            loss.name
        );
        self.error_in_words(at, section, message);
    }

    /// Perl is built in, but its name is defined only where something asks for it: who counts on that should hear of it.
    fn tell_of_perl(&mut self, at: Origin, section: &str, args: &str, children: &[Node]) {
        let asks = section.eq_ignore_ascii_case("ifdefine") && words(args) == [BY_MOD_PERL];
        if asks && !children.is_empty() && !self.htaccess {
            let message = format!(
                "<IfDefine {BY_MOD_PERL}> is left out, since no line before it asks for Perl: a \"LoadModule perl_module \
                 modules/mod_perl.so\" or a Perl directive before it lets it count"
            );
            self.warn(at, message);
        }
    }

    /// The module that a condition asks for, if it is not there and would be in Apache.
    fn lacked_by(&self, section: &str, args: &str) -> Option<String> {
        let name = words(args).into_iter().next().filter(|name| !name.starts_with('!'))?;
        let module = match section.to_ascii_lowercase().as_str() {
            "ifmodule" => name,
            "ifdirective" | "ifsection" => {
                let (module, directive) = table::find(name.trim_start_matches('<'))?;
                let is_missing =
                    !matches!(directive.action, Action::Set(_) | Action::Section(_) | Action::Read);
                is_missing.then(|| module.name.to_owned())?
            }
            _ => return None,
        };
        self.lacks(&module).then_some(module)
    }

    /// Returns whether a module is missing here that Apache would have.
    fn lacks(&self, module: &str) -> bool {
        let is_loaded = self.facts.missing_modules.contains(module);
        let is_expected = self.htaccess && known::is_expected(module);
        !modules::is_built_in(module) && (is_loaded || is_expected)
    }

    /// The first line that may not be left out.
    fn loss(&mut self, nodes: &[Node], judge: Judge) -> Option<Loss> {
        nodes.iter().find_map(|node| self.loss_of(node, judge))
    }

    fn loss_of(&mut self, node: &Node, judge: Judge) -> Option<Loss> {
        let name = node.name.to_ascii_lowercase();
        let loss = |hands_over| Some(Loss { name: node.name.clone(), at: node.origin, hands_over });
        self.judged += 1;
        if judge.level == MAX_LEVELS || self.judged > MAX_JUDGED {
            return loss(false);
        }
        if let Some(children) = &node.children {
            let counts = match name.as_str() {
                "ifmodule" => self.would_hold(&node.args),
                "ifversion" => version::holds(self, &words(&node.args)).unwrap_or(true),
                "ifdefine" | "iffile" | "ifdirective" | "ifsection" | "macro" => true,
                _ => {
                    return match effect::of(&name, &node.args) {
                        Effect::AsItsLines => self.loss(children, judge.deeper()),
                        _ => loss(false),
                    };
                }
            };
            return if counts { self.loss(children, judge.deeper()) } else { None };
        }
        match name.as_str() {
            "include" | "includeoptional" if !self.htaccess => {
                let args = self.variables(&node.args, node.origin);
                match self.included(&args, name == "includeoptional") {
                    Ok(files) => files.iter().find_map(|nodes| self.loss(nodes, judge.deeper())),
                    Err(_) => loss(false),
                }
            }
            "use" => match self.macro_body(&node.args) {
                Some(body) => self.loss(&body, judge.deeper()),
                None => loss(false),
            },
            // What it loads may have blocks of its own further on.
            "loadmodule" => modules::load(self, node.origin, &node.args).err().and_then(|_| loss(false)),
            "error" | "warning" | "undefmacro" | "macroignoreemptyargs" | "macroignorebadnesting" => None,
            _ => match effect::of(&name, &node.args) {
                Effect::Harmless => None,
                Effect::HandsOver if judge.spares_handlers => None,
                effect => loss(matches!(effect, Effect::HandsOver)),
            },
        }
    }

    /// Returns whether an inner `<IfModule>` may hold in Apache.
    fn would_hold(&self, args: &str) -> bool {
        let words = words(args);
        let name = words.first().map_or("", String::as_str);
        let (negated, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
        if modules::is_built_in(name) || self.facts.missing_modules.contains(name) {
            return !negated;
        }
        // What is only expected may be there or not.
        negated || self.lacks(name)
    }

    /// The lines of each file that an Include names.
    fn included(&mut self, args: &str, optional: bool) -> Result<Vec<Vec<Node>>, String> {
        let files = self.included_files(args, optional)?;
        files.iter().map(|path| parsed(path, self.add_file(&path.to_string_lossy()))).collect()
    }
}
