//! Active checks of balancers' members (mod_proxy_hcheck): how each is asked, how often, and what is an answer.

use super::Server;
use crate::directives::core::values::{choice, milliseconds, number};
use crate::{Args, Arity, Command, Directive, Effect, Module};
use hostler_expr::{Expr, Flags, Kind};
use std::sync::Arc;
use std::time::Duration;

/// The module.
pub static MODULE: Module = Module {
    name: "proxy_hcheck_module",
    file: "mod_proxy_hcheck.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ProxyHCExpr",
        Arity::RawArgs,
        "name {expression}",
        "Define a condition for health check responses",
        expression,
    ),
    Directive::new(
        "ProxyHCTemplate",
        Arity::RawArgs,
        "name parameter=value ...",
        "Define a named set of health check parameters",
        template,
    ),
    Directive::new(
        "ProxyHCTPsize",
        Arity::Take1,
        "number",
        "No effect: health checks do not use a thread pool",
        |_, args| number(args.first(), 0..=1000_u32).map(drop),
    ),
];

/// The method of a check (`hcmethod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMethod {
    /// Not at all.
    None,
    /// It is connected to.
    Tcp,
    /// A ping of AJP13.
    Cping,
    /// A request; whether it is one of HTTP/1.1.
    Http(&'static str, bool),
}

/// `hc...` of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// `hcmethod`; unset means that nothing is checked.
    pub method: Option<CheckMethod>,
    /// `hcuri`: what the path of the request has behind the server's own.
    pub uri: Option<Box<str>>,
    /// `hcinterval` (default 30 s).
    pub interval: Option<Duration>,
    /// `hcpasses`: checks in a row after which a failed server is asked again (default 1).
    pub passes: Option<u32>,
    /// `hcfails`: failed checks in a row after which a server is not asked (default 1).
    pub fails: Option<u32>,
    /// `hcexpr`: the name of a condition.
    pub expr: Option<Box<str>>,
    /// `hctemplate`
    pub template: Option<Box<str>>,
}

/// The default interval.
pub const INTERVAL: Duration = Duration::from_secs(30);

impl Check {
    /// Sets a parameter. `true`: it is one of a check's.
    ///
    /// # Errors
    /// The fault in the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let methods = [
            ("none", CheckMethod::None),
            ("tcp", CheckMethod::Tcp),
            ("cping", CheckMethod::Cping),
            ("options", CheckMethod::Http("OPTIONS", false)),
            ("head", CheckMethod::Http("HEAD", false)),
            ("get", CheckMethod::Http("GET", false)),
            ("options11", CheckMethod::Http("OPTIONS", true)),
            ("head11", CheckMethod::Http("HEAD", true)),
            ("get11", CheckMethod::Http("GET", true)),
        ];
        match name {
            "hcmethod" => self.method = Some(choice(&value.to_ascii_lowercase(), &methods)?),
            "hcuri" if value.bytes().any(|b| b <= b' ' || b == 0x7f) => {
                return Err(format!("\"{value}\" has blanks or control characters in it"));
            }
            "hcuri" => self.uri = Some(value.into()),
            "hcinterval" => match milliseconds(value, 1000)? {
                0..100 => return Err("must be a tenth of a second at least".to_owned()),
                interval => self.interval = Some(Duration::from_millis(interval)),
            },
            "hcpasses" => self.passes = Some(number(value, 1..=1_000_000)?),
            "hcfails" => self.fails = Some(number(value, 1..=1_000_000)?),
            "hcexpr" => self.expr = Some(value.into()),
            "hctemplate" => self.template = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns these parameters with unset ones taken from a template.
    fn over(&self, template: &Self) -> Self {
        Self {
            method: self.method.or(template.method),
            uri: self.uri.clone().or_else(|| template.uri.clone()),
            interval: self.interval.or(template.interval),
            passes: self.passes.or(template.passes),
            fails: self.fails.or(template.fails),
            expr: self.expr.clone().or_else(|| template.expr.clone()),
            template: None,
        }
    }
}

/// A condition with its name.
#[derive(Clone, Debug)]
pub struct Condition {
    /// `hcexpr`
    pub name: Box<str>,
    /// The condition on the response.
    pub expr: Expr,
}

fn name_and_rest(raw: &str) -> Result<(String, &str), String> {
    let raw = raw.trim();
    let (name, rest) = raw.split_once(char::is_whitespace).ok_or("needs a name and what it stands for")?;
    Ok((name.trim_matches('"').to_owned(), rest.trim()))
}

fn expression(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (name, rest) = name_and_rest(&args.raw)?;
    let quoted = [('{', '}'), ('"', '"'), ('\'', '\'')];
    let inner = quoted.iter().find_map(|(open, close)| rest.strip_prefix(*open)?.strip_suffix(*close));
    let flags = Flags { dont_vary: true, ..Flags::default() };
    let expr = command.expr(inner.unwrap_or(rest), Kind::Boolean, flags)?;
    command.server.proxy.conditions.push(Arc::new(Condition { name: name.into(), expr }));
    Ok(())
}

fn template(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (name, rest) = name_and_rest(&args.raw)?;
    let mut check = Check::default();
    for word in crate::lexer::words(rest) {
        let (parameter, value) = super::workers::split(&word)?;
        match check.set(&parameter, value) {
            Ok(true) if parameter != "hctemplate" => {}
            Ok(_) => return Err(crate::unknown("health check parameter", &parameter, &[])),
            Err(why) => return Err(format!("{parameter}: {why}")),
        }
    }
    known(&command.server.proxy, &check)?;
    command.server.proxy.templates.push((name.into(), check));
    Ok(())
}

fn known(server: &Server, check: &Check) -> Result<(), String> {
    match &check.expr {
        Some(name) if server.condition(name).is_none() => {
            Err(format!("hcexpr: no ProxyHCExpr before this line is called {name}"))
        }
        _ => Ok(()),
    }
}

impl Server {
    /// The condition of a name.
    #[must_use]
    pub fn condition(&self, name: &str) -> Option<&Arc<Condition>> {
        self.conditions.iter().rfind(|condition| *condition.name == *name)
    }

    /// Puts a template's words in, and looks whether what a check names is there, and whether it can be done.
    pub(super) fn resolved(&self, check: &Check, is_ajp: bool, is_program: bool) -> Result<Check, String> {
        let check = match &check.template {
            None => check.clone(),
            Some(name) => {
                let found = self.templates.iter().rfind(|(own, _)| own == name);
                let (_, template) = found.ok_or_else(|| {
                    format!("hctemplate: no ProxyHCTemplate before this line is called {name}")
                })?;
                check.over(template)
            }
        };
        known(self, &check)?;
        match check.method {
            Some(CheckMethod::Cping) if !is_ajp => Err("hcmethod=CPING is for ajp:// only".to_owned()),
            Some(CheckMethod::Http(..)) if is_program => {
                Err("hcmethod: the backend does not speak HTTP: use TCP, or CPING for ajp://".to_owned())
            }
            _ => Ok(check),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, read_text};

    fn config(text: &str) -> Result<Config, String> {
        let tree = read_text(text, "/nowhere").map_err(|errors| errors[0].to_string())?;
        Config::build(&tree).map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn a_template_says_what_the_member_does_not() {
        let text = "ProxyHCExpr fine {%{REQUEST_STATUS} =~ /^[234]/}\nProxyHCExpr open {hc('body') !~ /Under maintenance/}\n\
            ProxyHCTemplate slow hcmethod=GET hcinterval=10 hcexpr=fine hcuri=/up\n\
            BalancerMember balancer://a http://one hctemplate=slow hcinterval=500ms\n\
            BalancerMember balancer://a http://two hcmethod=TCP hcfails=3 hcpasses=2\nProxyHCTPsize 16";
        let config = config(text).unwrap();
        let balancer = config.main().conf.proxy.balancer("a").unwrap();
        let [one, two] = [0, 1].map(|at| balancer.members[at].worker.parameters.check.clone());
        assert_eq!(one.method, Some(CheckMethod::Http("GET", false)));
        assert_eq!(one.interval, Some(Duration::from_millis(500)));
        assert_eq!((one.uri.as_deref(), one.expr.as_deref()), (Some("/up"), Some("fine")));
        assert_eq!((two.method, two.fails, two.passes), (Some(CheckMethod::Tcp), Some(3), Some(2)));
    }

    #[test]
    fn slips_are_refused() {
        for (text, why) in [
            ("BalancerMember balancer://a http://one hctemplate=none", "no ProxyHCTemplate"),
            ("BalancerMember balancer://a http://one hcexpr=none", "no ProxyHCExpr"),
            ("BalancerMember balancer://a http://one hcmethod=POST", "hcmethod"),
            ("BalancerMember balancer://a http://one hcmethod=CPING", "CPING"),
            ("BalancerMember balancer://a fcgi://one hcmethod=GET", "does not speak HTTP"),
            ("BalancerMember balancer://a http://one hcinterval=0", "tenth"),
            ("ProxyHCTemplate x retry=1", "unknown health check parameter \"retry\""),
            ("ProxyHCExpr x", "needs a name"),
        ] {
            let said = config(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
