//! The directives, one by one.

use super::checks::Check;
use super::parameters::Parameters;
use super::parameters::buffer;
use super::pass::Mapping;
use super::section::{open, say, warn_of_ping};
use super::url::Url;
use super::{BadHeader, ErrorOverride, Pass, Reverse, StatusLine, Via, Worker};
use crate::directives::core::values::{choice, milliseconds, number};
use crate::section::Kind;
use crate::{Action, Args, Arity, Command, Contexts, Directive, Effect, Overrides};
use std::sync::Arc;
use std::time::Duration;

const NO_FORWARD_PROXY: &str = "Hostler is not a forward proxy: it answers for its own sites only";

/// One that matters to forward proxies alone.
const fn forward(name: &'static str) -> Directive {
    let directive = Directive::new(name, Arity::RawArgs, "", "No effect", |_, _| Ok(()));
    Directive { action: Action::Ignored(NO_FORWARD_PROXY), ..directive }
}

const fn refused(name: &'static str, why: &'static str) -> Directive {
    Directive::refused(name, "Not possible", why)
}

const fn config(directive: Directive) -> Directive {
    directive.allowed(Contexts::CONFIG, Overrides::NONE)
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::section("Proxy", "<Proxy URL|* [name=value ...]>", "Apply directives to proxied URLs", open),
    Directive::section(
        "ProxyMatch",
        "<ProxyMatch regex>",
        "Apply directives to proxied URLs that match a regular expression",
        open,
    ),
    config(Directive::new(
        "ProxyPass",
        Arity::RawArgs,
        "[~] URL-path !|URL [name=value ...] [nocanon] [interpolate] [noquery] [mapping=encoded|servlet] (~: a regex; in <Location>: without URL-path)",
        "Map URLs to a backend",
        |command, args| pass(command, args, false),
    )),
    config(Directive::new(
        "ProxyPassMatch",
        Arity::RawArgs,
        "regex !|URL (with $1 ... $9) [name=value ...] [nocanon] [interpolate] [noquery] [mapping=encoded] (in <Location>: without regex)",
        "Map URLs that match a regular expression to a backend",
        |command, args| pass(command, args, true),
    )),
    config(
        Directive::new(
            "ProxyPassReverse",
            Arity::Take123,
            "URL-path URL [interpolate] (in <Location>: without URL-path)",
            "Rewrite backend URLs in response header fields to URLs of this server",
            reverse,
        )
        .with_effect(Effect::Harmless),
    ),
    config(
        Directive::new(
            "ProxyPassReverseCookiePath",
            Arity::Take23,
            "path-there path-here [interpolate]",
            "Rewrite the path of backend cookies",
            |command, args| {
                let reverse = cookie(args)?;
                command.dir.proxy.cookie_paths.push(reverse);
                Ok(())
            },
        )
        .with_effect(Effect::Harmless),
    ),
    config(
        Directive::new(
            "ProxyPassReverseCookieDomain",
            Arity::Take23,
            "domain-there domain-here [interpolate]",
            "Rewrite the domain of backend cookies",
            |command, args| {
                let reverse = cookie(args)?;
                command.dir.proxy.cookie_domains.push(reverse);
                Ok(())
            },
        )
        .with_effect(Effect::Harmless),
    ),
    config(Directive::new(
        "ProxyPassInterpolateEnv",
        Arity::Flag,
        "On|Off",
        "Interpolate variables in ProxyPass and related directives that have the flag interpolate",
        |command, args| {
            command.dir.proxy.interpolate = Some(args.flag());
            Ok(())
        },
    )),
    Directive::new(
        "ProxyPassInherit",
        Arity::Flag,
        "On|Off",
        "Inherit ProxyPass directives of the main server",
        |command, args| {
            command.server.proxy.inherit = Some(args.flag());
            Ok(())
        },
    ),
    config(Directive::new(
        "ProxyPreserveHost",
        Arity::Flag,
        "On|Off",
        "Pass the client's Host header to backends",
        |command, args| {
            command.dir.proxy.preserve_host = Some(args.flag());
            Ok(())
        },
    )),
    config(Directive::new(
        "ProxyErrorOverride",
        Arity::TakeArgv,
        "On|Off [status ...]",
        "Replace error responses of backends with the server's own error pages",
        error_override,
    )),
    config(
        Directive::new(
            "ProxyAddHeaders",
            Arity::Flag,
            "On|Off",
            "Send information about the client to backends (X-Forwarded-For, -Host and -Server)",
            |command, args| {
                command.dir.proxy.add_headers = Some(args.flag());
                Ok(())
            },
        )
        .with_effect(Effect::Harmless),
    ),
    config(
        Directive::new(
            "Proxy100Continue",
            Arity::Flag,
            "On|Off",
            "Forward Expect: 100-continue to backends",
            |command, args| {
                command.dir.proxy.forward_continue = Some(args.flag());
                Ok(())
            },
        )
        .with_effect(Effect::Harmless),
    ),
    Directive::new(
        "ProxyVia",
        Arity::Take1,
        "Off|On|Full|Block",
        "Set how this server appears in Via header fields",
        |command, args| {
            let words = [("off", Via::Off), ("on", Via::On), ("full", Via::Full), ("block", Via::Block)];
            command.server.proxy.via = Some(choice(args.first(), &words)?);
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyTimeout",
        Arity::Take1,
        "seconds",
        "Set the timeout for responses of backends in seconds",
        |command, args| {
            let timeout = milliseconds(args.first(), 1000)?;
            if timeout == 0 {
                return Err("must be one second at least".to_owned());
            }
            command.server.proxy.timeout = Some(Duration::from_millis(timeout));
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyBadHeader",
        Arity::Take1,
        "IsError|Ignore|StartBody",
        "Set how malformed response headers are handled",
        |command, args| {
            let words = [
                ("iserror", BadHeader::IsError),
                ("ignore", BadHeader::Ignore),
                ("startbody", BadHeader::StartBody),
            ];
            command.server.proxy.bad_header = Some(choice(args.first(), &words)?);
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyMaxForwards",
        Arity::Take1,
        "number",
        "Set the Max-Forwards header of requests that have none",
        |command, args| {
            let digits = args.first().strip_prefix('-').unwrap_or(args.first());
            let many: i64 = number(digits, 0..=1_000_000)?;
            command.server.proxy.max_forwards = Some(if digits == args.first() { many } else { -many });
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyIOBufferSize",
        Arity::Take1,
        "bytes",
        "Set the size of the read buffer for responses in bytes",
        |command, args| {
            command.server.proxy.io_buffer = Some(buffer(args.first())?.max(8192));
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyReceiveBufferSize",
        Arity::Take1,
        "bytes",
        "Set the kernel's receive buffer for responses in bytes; 0: the system default",
        |command, args| {
            command.server.proxy.receive_buffer = Some(buffer(args.first())? as u32);
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxySourceAddress",
        Arity::Take1,
        "address",
        "Set the local address of connections to backends",
        |command, args| {
            let address =
                args.first().parse().map_err(|_| format!("\"{}\" is not an IP address", args.first()))?;
            command.server.proxy.source_address = Some(address);
            Ok(())
        },
    ),
    Directive::new(
        "ProxyStatus",
        Arity::Take1,
        "Off|On|Full",
        "Show backends on the status page",
        |command, args| {
            let words = [("off", StatusLine::Off), ("on", StatusLine::On), ("full", StatusLine::Full)];
            command.server.proxy.status = Some(choice(args.first(), &words)?);
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    config(Directive::new(
        "BalancerMember",
        Arity::RawArgs,
        "balancer://name URL [name=value ...] (in <Proxy balancer://name>: without the first)",
        "Add a member to a balancer",
        member,
    )),
    config(Directive::new(
        "ProxySet",
        Arity::RawArgs,
        "URL name=value ... (in <Proxy URL>: without the URL)",
        "Set parameters of a backend or a balancer",
        set,
    )),
    Directive::new(
        "BalancerInherit",
        Arity::Flag,
        "On|Off",
        "Inherit balancers of the main server",
        |command, args| {
            command.server.proxy.inherit_balancers = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "BalancerGrowth",
        Arity::Take1,
        "number",
        "No effect: balancer members come from the configuration only",
        |_, args| number(args.first(), 1..=1000_u32).map(|_| ()),
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "BalancerPersist",
        Arity::Flag,
        "On|Off",
        "No effect: after a reload, member states are those of the configuration",
        |_, _| Ok(()),
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "ProxyRequests",
        Arity::Flag,
        "Off",
        "Only Off is accepted: Hostler is not a forward proxy",
        |_, args| {
            if args.flag() { Err(format!("On is not supported: {NO_FORWARD_PROXY}")) } else { Ok(()) }
        },
    )
    .with_effect(Effect::HarmlessIf(|words| {
        words.first().is_some_and(|word| word.eq_ignore_ascii_case("off"))
    })),
    refused("ProxyRemote", NO_FORWARD_PROXY),
    refused("ProxyRemoteMatch", NO_FORWARD_PROXY),
    refused(
        "ProxyBlock",
        "only ProxyPass targets can be reached; use <Proxy> with Require to deny access instead",
    ),
    forward("NoProxy"),
    forward("ProxyDomain"),
];

pub(super) static WSTUNNEL: &[Directive] = &[Directive::new(
    "ProxyWebsocketFallbackToProxyHttp",
    Arity::Flag,
    "On|Off",
    "No effect: requests without an upgrade are always proxied as plain HTTP",
    |_, _| Ok(()),
)];

/// Flags among the parameters of `ProxyPass`.
const FLAGS: &[&str] = &["nocanon", "interpolate", "noquery"];

fn pass(command: &mut Command<'_>, args: &Args, is_regex: bool) -> Result<(), String> {
    let words = crate::lexer::words(&args.raw);
    if command.inside.directory || command.inside.files || command.inside.condition || command.inside.limit {
        return Err("is only allowed in <Location>, in <VirtualHost> and outside sections".to_owned());
    }
    let of_location =
        command.inside.location.then(|| command.place.map(|place| place.path.to_string())).flatten();
    let mut words = words.into_iter().peekable();
    // As in <Location ~>: what follows is a pattern.
    let is_tilde = of_location.is_none() && !is_regex && words.next_if(|word| word == "~").is_some();
    let is_regex = is_regex || is_tilde;
    let prefix = match &of_location {
        Some(path) => path.clone(),
        None => words.next().ok_or("needs a URL-path and a URL")?,
    };
    let target = words.next().ok_or(if of_location.is_some() {
        "needs a URL"
    } else {
        "needs a URL-path and a URL"
    })?;
    if of_location.is_some() && target.starts_with('/') {
        return Err("takes no URL-path in <Location>: the Location's is meant".to_owned());
    }
    let (flags, parameters): (Vec<_>, Vec<_>) =
        words.partition(|word| FLAGS.contains(&word.to_ascii_lowercase().as_str()));
    let has = |flag: &str| flags.iter().any(|word| word.eq_ignore_ascii_case(flag));
    let (mappings, parameters): (Vec<_>, Vec<_>) =
        parameters.into_iter().partition(|word| word.to_ascii_lowercase().starts_with("mapping="));
    let words = [("encoded", Mapping::Encoded), ("servlet", Mapping::Servlet)];
    let mappings = mappings.iter().map(|word| choice(&word["mapping=".len()..], &words));
    let mapping = mappings.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or_default();
    let regex = if is_regex { Some(command.regex(&prefix, false)?) } else { None };
    let mut pass = Pass {
        prefix: prefix.into(),
        target: target.as_str().into(),
        raw: has("nocanon"),
        interpolate: has("interpolate"),
        no_query: has("noquery"),
        mapping,
        regex,
        parameters: None,
    };
    command.server.proxy.maps_encoded |= mapping != Mapping::Decoded;
    if target != "!" {
        pass.parameters = name_server(command, &pass, &parameters)?;
    } else if let Some(word) = parameters.first() {
        return Err(format!("\"{word}\" has no meaning after !, which maps the URLs to no backend"));
    }
    let pass = Arc::new(pass);
    match of_location {
        Some(_) => command.dir.proxy.pass = Some(pass),
        None => command.server.proxy.passes.push(pass),
    }
    Ok(())
}

/// The server of a `ProxyPass`. What its URL has of the request begins at the first `$`.
fn name_server(
    command: &mut Command<'_>,
    pass: &Pass,
    parameters: &[String],
) -> Result<Option<Arc<Parameters>>, String> {
    let fixed = match pass.target.find('$') {
        Some(at) if pass.regex.is_some() || pass.interpolate => &pass.target[..at],
        _ => &*pass.target,
    };
    let rest = fixed.split_once("://").map_or("", |(_, rest)| rest);
    let is_whole = fixed.len() == pass.target.len() || rest.contains('/');
    if is_whole {
        say(command, fixed, parameters)?;
        return Ok(None);
    }
    // Which server it is each request says: what is said holds for whichever it is.
    let scheme = fixed.split_once("://").map(|(scheme, _)| format!("{scheme}://x"));
    let url = Url::parse(&scheme.ok_or("the URL's scheme cannot come from the request")?)?;
    url.check()?;
    if parameters.is_empty() {
        return Ok(None);
    }
    if url.is_balancer() {
        return Err(format!(
            "\"{}\" is not supported: the balancer's name comes from the request",
            parameters[0]
        ));
    }
    let mut worker = Worker { url: Arc::new(url), parameters: Arc::default(), origin: command.origin };
    parameters.iter().try_for_each(|word| worker.set(word))?;
    Ok(Some(worker.parameters))
}

fn member(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let words = crate::lexer::words(&args.raw);
    let mut words = words.into_iter();
    let balancer = match command.place.filter(|place| place.kind == Kind::Proxy) {
        Some(place) => place.path.to_string(),
        None => words.next().ok_or("needs a balancer and a URL")?,
    };
    let balancer = Url::parse(&balancer)?;
    if !balancer.is_balancer() {
        return Err(format!("{balancer} is not a balancer (expected balancer://name)"));
    }
    let url = Url::parse(&words.next().ok_or("needs the URL of a server")?)?;
    url.check()?;
    if url.is_balancer() {
        return Err("a balancer cannot be a member of another balancer".to_owned());
    }
    let origin = command.origin;
    let name = balancer.host;
    let balancer = command.server.proxy.balancer_mut(&name, origin);
    let (is_ajp, is_program) = (&*url.scheme == "ajp", url.is_program());
    let worker = balancer.member(url.clone(), origin);
    words.try_for_each(|word| worker.set(&word))?;
    let (has_ping, check): (bool, Check) =
        (worker.parameters.ping.is_some(), worker.parameters.check.clone());
    warn_of_ping(command, &url, has_ping);
    let check = command.server.proxy.resolved(&check, is_ajp, is_program)?;
    let balancer = command.server.proxy.balancer_mut(&name, origin);
    Arc::make_mut(&mut balancer.member(url, origin).parameters).check = check;
    Ok(())
}

fn set(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut words = crate::lexer::words(&args.raw);
    let of_section = command.place.filter(|place| place.kind == Kind::Proxy);
    if of_section.is_some_and(|place| place.regex.is_some() || place.path.contains('*')) {
        return Err("is not supported: the section applies to several backends".to_owned());
    }
    let url = match of_section {
        Some(place) => place.path.to_string(),
        None if words.is_empty() => return Err("needs a URL and parameters".to_owned()),
        None => words.remove(0),
    };
    say(command, &url, &words)
}

fn reverse(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let is_flag = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("interpolate"));
    let of_location = command.place.filter(|place| place.kind == Kind::Location);
    let (here, there, third) = match (of_location, args.word(1)) {
        (Some(place), None) => (&*place.path, args.first(), None),
        (Some(place), second) if is_flag(second) => (&*place.path, args.first(), second),
        (Some(_), Some(_)) => {
            return Err("takes no URL-path in <Location>: the Location's is meant".to_owned());
        }
        (None, Some(second)) => (args.first(), second, args.word(2)),
        (None, None) => return Err("needs a URL-path and a URL".to_owned()),
    };
    if third.is_some() && !is_flag(third) {
        return Err(format!("\"{}\" is not interpolate", third.unwrap_or_default()));
    }
    let reverse = Reverse { here: here.into(), there: there.into(), interpolate: third.is_some() };
    command.dir.proxy.reverse.push(Arc::new(reverse));
    Ok(())
}

fn cookie(args: &Args) -> Result<Arc<Reverse>, String> {
    let interpolate = match args.word(2) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("interpolate") => true,
        Some(word) => return Err(format!("\"{word}\" is not interpolate")),
    };
    let (there, here) = (args.first(), args.word(1).unwrap_or_default());
    Ok(Arc::new(Reverse { here: here.into(), there: there.into(), interpolate }))
}

fn error_override(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let is_on = choice(args.first(), &[("on", true), ("off", false)])?;
    let statuses = args.words[1..].iter().map(|word| {
        let status = number(word, 400..=599_u16)?;
        Ok(status)
    });
    let statuses = statuses.collect::<Result<Vec<u16>, String>>()?;
    command.dir.proxy.error_override = Some(match (is_on, statuses.is_empty()) {
        (false, true) => ErrorOverride::Off,
        (false, false) => return Err("Off takes no statuses".to_owned()),
        (true, true) => ErrorOverride::All,
        (true, false) => ErrorOverride::Statuses(statuses),
    });
    Ok(())
}
