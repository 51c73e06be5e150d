//! Directives that Perl modules add (`PerlLoadModule`, `Apache2::Module::add`). Their names are known when the module was
//! run while the configuration was read; what their lines say is kept as calls of the module's functions, which the warm
//! parent of the site makes when it starts. Those of `.htaccess` are made by the worker that serves the request.
//!
//! A line belongs to a layer: what one section, or one server outside of sections, says. The worker merges the layers
//! that apply to a request (`Apache2::Module::get_config`). Layer 0 is the main server's.

use super::{load, quoted};
use crate::table::{Action, Contexts, Overrides};
use crate::{Args, Arity, Command, Context, Declared, Directive, Facts, Origin};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The settings that a section makes with modules' directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The number by which the warm parent knows it.
    Known(u32),
    /// The calls themselves, as Perl text: of an .htaccess file.
    Inline(Vec<Box<str>>),
}

/// Layers as Perl text: a list of numbers and lists of calls. Empty: none.
#[must_use]
pub fn layers_text(layers: &[Layer]) -> String {
    let one = |layer: &Layer| match layer {
        Layer::Known(number) => number.to_string(),
        Layer::Inline(calls) => format!("[{}]", calls.join(",")),
    };
    layers.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Directives that one module adds, most.
const MAX_DECLARED: usize = 500;

/// Parses the directives that modules declare: a line for each with the module, the name, `args_how`, `req_override`
/// and `errmsg`, separated by tabs.
///
/// # Errors
/// The definition is impossible, with the reason.
pub(crate) fn parse(text: &str, host: Option<Origin>) -> Result<Vec<Declared>, String> {
    let mut all = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(5, '\t').collect();
        let &[module, name, how, bits, form] = &words[..] else {
            return Err("adds what is not a directive".to_owned());
        };
        if name.starts_with('<') {
            return Err(format!("adds the section {name}>: sections in modules are not supported"));
        }
        let is_name = |word: &str, more: &str| {
            word.len() <= 100 && word.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let (Ok(args_how), Ok(req_override)) = (how.parse(), bits.parse()) else {
            return Err(format!("{name}: args_how and req_override are numbers, of Apache2::Const"));
        };
        if name.is_empty() || !is_name(name, "_-") || !is_name(module, "_:") || arity(args_how).is_none() {
            return Err(format!("{name}: invalid directive definition"));
        }
        let (name, module, form) = (name.to_owned(), module.to_owned(), form.chars().take(200).collect());
        all.push(Declared { name, module, args_how, req_override, form, host });
        if all.len() > MAX_DECLARED {
            return Err(format!("adds more than {MAX_DECLARED} directives"));
        }
    }
    Ok(all)
}

/// Apache's `cmd_how`.
fn arity(how: u8) -> Option<Arity> {
    use Arity::*;
    let all = [
        RawArgs, Take1, Take2, Iterate, Iterate2, Flag, NoArgs, Take12, Take3, Take23, Take123, Take13,
        TakeArgv,
    ];
    all.get(usize::from(how)).copied()
}

/// The bits of `req_override`.
mod bit {
    pub(super) const LIMIT: u16 = 1;
    pub(super) const OPTIONS: u16 = 2;
    pub(super) const FILE_INFO: u16 = 4;
    pub(super) const AUTH_CONFIG: u16 = 8;
    pub(super) const INDEXES: u16 = 16;
    pub(super) const ALL: u16 = 31;
    pub(super) const ACCESS_CONF: u16 = 64;
    pub(super) const RSRC_CONF: u16 = 128;
}

/// The contexts that Apache permits outside sections.
const IN_SERVER: u16 = bit::RSRC_CONF | bit::OPTIONS | bit::FILE_INFO | bit::INDEXES;
/// The contexts it permits in sections.
const IN_SECTIONS: u16 = bit::ALL | bit::ACCESS_CONF;

fn contexts(bits: u16) -> Contexts {
    let places = [
        (IN_SERVER, Contexts::MAIN_BIT | Contexts::VHOST_BIT),
        (IN_SECTIONS, Contexts::DIR_BIT),
        (bit::ALL, Contexts::HTACCESS_BIT),
    ];
    Contexts::of(
        places.into_iter().filter(|(needed, _)| bits & needed != 0).fold(0, |all, (_, bit)| all | bit),
    )
}

fn overrides(bits: u16) -> Overrides {
    let classes = [
        (bit::LIMIT, Overrides::LIMIT),
        (bit::OPTIONS, Overrides::OPTIONS),
        (bit::FILE_INFO, Overrides::FILE_INFO),
        (bit::AUTH_CONFIG, Overrides::AUTH_CONFIG),
        (bit::INDEXES, Overrides::INDEXES),
    ];
    classes
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(Overrides::NONE, |all, (_, class)| all | class)
}

/// The directive of this name that a module adds, as far as the virtual host knows it.
pub(crate) fn find(facts: &Facts, name: &str, host: Option<Origin>) -> Option<&'static Directive> {
    if facts.declared.is_empty() {
        return None;
    }
    let declared = facts.declared.get(&name.to_ascii_lowercase())?;
    (declared.host.is_none() || declared.host == host).then(|| table_entry(declared)).flatten()
}

/// Kept for ever, each once: a configuration names few of them.
fn table_entry(declared: &Declared) -> Option<&'static Directive> {
    type Key = (String, u8, u16, String);
    static ALL: LazyLock<Mutex<HashMap<Key, &'static Directive>>> = LazyLock::new(Mutex::default);
    let arity = arity(declared.args_how)?;
    let key = (declared.name.clone(), declared.args_how, declared.req_override, declared.form.clone());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = all.entry(key).or_insert_with(|| {
        let text = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let form = declared.form.strip_prefix(&declared.name).unwrap_or(&declared.form).trim_start();
        Box::leak(Box::new(Directive {
            name: text(&declared.name),
            arity,
            form: text(form),
            doc: "Added by a Perl module",
            contexts: contexts(declared.req_override),
            overrides: overrides(declared.req_override),
            action: Action::Set(call),
            effect: None,
        }))
    });
    Some(*entry)
}

/// Notes a call of the module's function.
fn call(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let Some(declared) = cmd.builder.facts.declared.get(&cmd.directive.name.to_ascii_lowercase()) else {
        return Err("is not known here".to_owned());
    };
    let (module, name) = (declared.module.clone(), declared.name.clone());
    let given = match cmd.directive.arity {
        Arity::RawArgs => vec![args.raw.clone()],
        Arity::Flag => vec![u8::from(args.flag()).to_string()],
        _ => args.words.clone(),
    };
    let part = super::dir(cmd);
    let path = part.location.as_deref().map_or("undef".to_owned(), quoted);
    let override_bits = match cmd.context {
        Context::Htaccess => bit::ALL,
        _ if cmd.inside.any() => IN_SECTIONS,
        _ => IN_SERVER,
    };
    let file = cmd.builder.file(cmd.origin);
    let given: Vec<String> = given.iter().map(|word| quoted(word)).collect();
    let text = format!(
        "[{},{},{path},{},{},{override_bits},{},[{}],{}]",
        quoted(&module),
        quoted(&name),
        quoted(&file),
        cmd.origin.line,
        quoted(&args.raw),
        given.join(","),
        place(cmd)
    );
    if cmd.is_htaccess() {
        inline(&mut super::dir(cmd).layers, text);
    } else {
        known(cmd, &text);
    }
    Ok(())
}

/// Returns the line's place in the bits of Apache's `check_cmd_context`.
fn place(cmd: &Command<'_>) -> u8 {
    let inside = cmd.inside;
    let bits = [
        (cmd.context == Context::VirtualHost, 1),
        (inside.limit, 2),
        (inside.directory, 4),
        (inside.location, 8),
        (inside.files, 16),
    ];
    bits.into_iter().filter(|(holds, _)| *holds).map(|(_, bit)| bit).sum()
}

fn inline(layers: &mut Vec<Layer>, call: String) {
    match layers.last_mut() {
        Some(Layer::Inline(calls)) => calls.push(call.into()),
        _ => layers.push(Layer::Inline(vec![call.into()])),
    }
}

/// The warm parent makes the call, in its place among the other things to load.
fn known(cmd: &mut Command<'_>, call: &str) {
    let is_main = cmd.context == Context::Main && !cmd.inside.any();
    let number = match super::dir(cmd).layers.last() {
        Some(Layer::Known(number)) => *number,
        _ => {
            let number = if is_main { 0 } else { cmd.builder.layer() };
            super::dir(cmd).layers.push(Layer::Known(number));
            number
        }
    };
    // Virtual hosts are numbered as they stand, behind the main server.
    let server = if cmd.context == Context::VirtualHost { cmd.builder.hosts.len() + 1 } else { 0 };
    load::add_call(
        cmd,
        &format!("require Apache2::Module; Apache2::Module::_said({number}, {server}, {call});"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_modules_say_is_checked() {
        let parsed = parse("My::Module\tMyWord\t1\t31\tMyWord value\n", None).unwrap();
        assert_eq!((parsed[0].name.as_str(), parsed[0].args_how), ("MyWord", 1));
        for (text, why) in [
            ("X", "not a directive"),
            ("M\t<Box\t0\t31\t", "sections"),
            ("M\tA\tone\t31\t", "numbers"),
            ("M\tA B\t1\t31\t", "invalid directive definition"),
            ("M');x\tA\t1\t31\t", "invalid directive definition"),
            ("M\tA\t13\t31\t", "invalid directive definition"),
            ("M\t\t1\t31\t", "invalid directive definition"),
        ] {
            assert!(parse(text, None).unwrap_err().contains(why), "{text}");
        }
        assert!(parse(&"M\tA\t1\t31\t\n".repeat(501), None).is_err());
    }

    #[test]
    fn texts_cannot_leave_their_quotes() {
        assert_eq!(quoted("a'b\\"), r"'a\'b\\'");
        let layers = [Layer::Known(0), Layer::Inline(vec!["['A']".into(), "['B']".into()])];
        assert_eq!(layers_text(&layers), "0,[['A'],['B']]");
    }
}
