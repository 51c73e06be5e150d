//! Directives of mod_actions: CGI programs that serve media types, handlers and methods.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "actions_module",
    file: "mod_actions.c",
    directives: DIRECTIVES,
    effect: Effect::HandsOver,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Action",
        Arity::Take23,
        "media-type|handler URL-path [virtual]",
        "Set the program that handles a media type or a handler name",
        action,
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
    Directive::new(
        "Script",
        Arity::Take2,
        "method URL-path",
        "Set the program that handles a request method",
        script,
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
];

/// An Action line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The media type or handler.
    pub name: Box<str>,
    /// The URL-path of the program.
    pub program: Box<str>,
    /// Also where the request leads to no file.
    pub is_virtual: bool,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    actions: Vec<Action>,
    /// Method and URL-path.
    scripts: Vec<(Box<str>, Box<str>)>,
}

impl Merge for Dir {
    fn merge(&self, over: &Self) -> Self {
        let mut merged = self.clone();
        for action in &over.actions {
            merged.set_action(action.clone());
        }
        for (method, program) in &over.scripts {
            merged.set_script(method, program);
        }
        merged
    }

    unset_part!(Dir);
}

/// mod_actions has nothing per server.
pub type Server = ();

/// The action of mod_actions for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Nothing.
    Declined,
    /// There is no file, and the Action is not `virtual`: 404.
    NotFound,
    /// An internal redirect to this URL-path followed by the request's own, escaped, and its query.
    Program {
        /// URL-path of the program.
        program: &'a str,
        /// To be set as the variable `HANDLER`.
        handler: Option<&'a str>,
    },
}

impl Dir {
    /// Returns the program that serves a request. `handler` is the request's handler or else its media type without
    /// parameters; `redirects` is the number of internal redirects so far, against loops.
    #[must_use]
    pub fn program_for(
        &self,
        method: &str,
        has_query: bool,
        handler: Option<&str>,
        file_exists: bool,
        redirects: u32,
    ) -> Outcome<'_> {
        let method = if method == "HEAD" { "GET" } else { method };
        let by_method =
            self.scripts.iter().find(|(known, _)| **known == *method && (method != "GET" || has_query));
        if by_method.is_some() && redirects > 1 {
            return Outcome::Declined;
        }
        let action = handler
            .and_then(|name| self.actions.iter().find(|action| action.name.eq_ignore_ascii_case(name)));
        match (action, by_method) {
            (Some(action), _) if !action.is_virtual && !file_exists => Outcome::NotFound,
            (Some(action), _) => Outcome::Program { program: &action.program, handler: Some(&action.name) },
            (None, Some((_, program))) => Outcome::Program { program, handler: None },
            (None, None) => Outcome::Declined,
        }
    }

    fn set_action(&mut self, action: Action) {
        match self.actions.iter_mut().find(|known| known.name.eq_ignore_ascii_case(&action.name)) {
            Some(known) => *known = action,
            None => self.actions.push(action),
        }
    }

    fn set_script(&mut self, method: &str, program: &str) {
        self.scripts.retain(|(known, _)| **known != *method);
        self.scripts.push((method.into(), program.into()));
    }
}

fn action(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let is_virtual = match args.word(2) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("virtual") => true,
        Some(word) => return Err(format!("the third word is \"{word}\", but can only be \"virtual\"")),
    };
    command.builder.actions.insert(args.first().to_ascii_lowercase());
    let program = args.word(1).unwrap_or_default().into();
    command.dir.actions.set_action(Action { name: args.first().into(), program, is_virtual });
    Ok(())
}

fn script(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let method = args.first();
    if method.eq_ignore_ascii_case("TRACE") {
        return Err("TRACE cannot be served by a program".into());
    }
    let method = if method == "HEAD" { "GET" } else { method };
    command.dir.actions.set_script(method, args.word(1).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_serves_what() {
        let mut dir = Dir::default();
        dir.set_action(Action { name: "my-handler".into(), program: "/cgi/h".into(), is_virtual: false });
        dir.set_action(Action { name: "virt".into(), program: "/cgi/v".into(), is_virtual: true });
        dir.set_script("GET", "/cgi/get");
        dir.set_script("PUT", "/cgi/put");
        let program = |program, handler| Outcome::Program { program, handler };
        let cases = [
            ("GET", false, Some("My-Handler"), true, 0, program("/cgi/h", Some("my-handler"))),
            ("GET", false, Some("my-handler"), false, 0, Outcome::NotFound),
            ("GET", false, Some("virt"), false, 0, program("/cgi/v", Some("virt"))),
            ("GET", false, Some("text/plain"), true, 0, Outcome::Declined),
            ("HEAD", true, Some("text/plain"), true, 0, program("/cgi/get", None)),
            ("GET", true, Some("virt"), true, 1, program("/cgi/v", Some("virt"))),
            ("PUT", false, None, false, 0, program("/cgi/put", None)),
            ("PUT", false, None, false, 2, Outcome::Declined),
            ("POST", true, None, true, 0, Outcome::Declined),
        ];
        for (method, query, handler, exists, redirects, expected) in cases {
            assert_eq!(
                dir.program_for(method, query, handler, exists, redirects),
                expected,
                "{method} {handler:?}"
            );
        }
    }
}
