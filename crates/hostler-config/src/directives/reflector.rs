//! Directives of mod_reflector: a request's body is its answer (the handler `reflector`).

use crate::{Arity, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "reflector_module",
    file: "mod_reflector.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[Directive::new(
    "ReflectorHeader",
    Arity::Take12,
    "field [field-of-the-answer]",
    "Copy a request header field to the response, optionally under another name",
    |command, args| {
        let (from, to) = (args.first(), args.word(1).unwrap_or(args.first()));
        if let Some(name) = [from, to].into_iter().find(|name| !is_name(name)) {
            return Err(format!("{name:?} is not the name of a header field"));
        }
        let headers = &mut command.dir.reflector.headers;
        headers.retain(|(known, _)| **known != *from);
        headers.push((from.into(), to.into()));
        Ok(())
    },
)
.allowed(Contexts::ANYWHERE, Overrides::OPTIONS)];

/// RFC 9110 §5.1
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// ReflectorHeader: names in requests, with those in answers.
    pub headers: Vec<(Box<str>, Box<str>)>,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        let mut headers = self.headers.clone();
        // Quirk(apache): names in other letters are other names here, and the same in a request.
        let is_over = |name: &str| over.headers.iter().any(|(known, _)| **known == *name);
        headers.retain(|(name, _)| !is_over(name));
        headers.extend(over.headers.iter().cloned());
        Self { headers }
    }

    unset_part!(Dir);
}

/// mod_reflector has nothing per server.
pub type Server = ();
