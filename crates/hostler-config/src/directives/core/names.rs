//! The directives for a server's names and documents: ServerName, DocumentRoot and related ones.

use super::sections::normal_path;
use super::types::{CanonicalName, HostnameLookups, ServerName, ServerTokens, Signature};
use super::values::choice;
use crate::{Args, Arity, Command, Context, Contexts, Directive, Effect, Overrides};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ServerName",
        Arity::Take1,
        "[scheme://]name[:port]",
        "Set the server's own name, and optionally its scheme and port",
        server_name,
    ),
    Directive::new(
        "ServerAlias",
        Arity::Iterate,
        "name ...",
        "Set alternative names of a virtual host; * and ? are wildcards",
        server_alias,
    ),
    Directive::new(
        "ServerPath",
        Arity::Take1,
        "/path",
        "Set a legacy URL path of a virtual host for clients that send no Host header",
        |cmd, args| {
            cmd.warn(
                "ServerPath has no effect: clients without Host get the first virtual host of the address",
            );
            cmd.server.core.server_path = Some(args.first().to_owned());
            Ok(())
        },
    ),
    Directive::new(
        "ServerAdmin",
        Arity::Take1,
        "address|URL",
        "Set the contact address shown on error pages",
        |cmd, args| {
            cmd.server.core.admin = Some(args.first().to_owned());
            Ok(())
        },
    )
    .with_effect(Effect::Harmless),
    Directive::new(
        "DocumentRoot",
        Arity::Take1,
        "directory",
        "Set the directory that files are served from",
        document_root,
    ),
    Directive::new(
        "AccessFileName",
        Arity::TakeArgv,
        "name ...",
        "Set the names of per-directory configuration files (.htaccess)",
        access_file_name,
    ),
    Directive::new("NameVirtualHost", Arity::RawArgs, "address", "No effect, as in Apache 2.4", |cmd, _| {
        cmd.warn_once("NameVirtualHost", "NameVirtualHost has no effect and can be removed");
        Ok(())
    }),
    Directive::new(
        "UseCanonicalName",
        Arity::Take1,
        "On|Off|DNS",
        "Set where self-referential URLs take the host name from",
        |cmd, args| {
            let choices =
                [("On", CanonicalName::On), ("Off", CanonicalName::Off), ("DNS", CanonicalName::Dns)];
            cmd.dir.core.use_canonical_name = Some(choice(args.first(), &choices)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "UseCanonicalPhysicalPort",
        Arity::Flag,
        "On|Off",
        "Use the connection's actual port in self-referential URLs",
        |cmd, args| {
            cmd.dir.core.use_canonical_physical_port = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "HostnameLookups",
        Arity::Take1,
        "On|Off|Double",
        "Resolve client addresses to host names",
        |cmd, args| {
            let choices = [
                ("On", HostnameLookups::On),
                ("Off", HostnameLookups::Off),
                ("Double", HostnameLookups::Double),
            ];
            cmd.dir.core.hostname_lookups = Some(choice(args.first(), &choices)?);
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    Directive::new(
        "ServerSignature",
        Arity::Take1,
        "On|Off|EMail",
        "Set the footer of server-generated pages",
        |cmd, args| {
            let choices = [("On", Signature::On), ("Off", Signature::Off), ("EMail", Signature::Email)];
            cmd.dir.core.server_signature = Some(choice(args.first(), &choices)?);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::ALL)
    .with_effect(Effect::Harmless),
    Directive::new(
        "ServerTokens",
        Arity::Take1,
        "Major|Minor|Min[imal]|Prod[uctOnly]|OS|Full",
        "Set how much the Server header reveals",
        server_tokens,
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
];

fn server_name(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (scheme, rest) = match args.first().split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, args.first()),
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => return Err(format!("the port of \"{}\" is not a number from 1 to 65535", args.first())),
    };
    if host.is_empty() {
        return Err("the name is empty".to_owned());
    }
    cmd.server.core.server_name = Some(ServerName { scheme, host: host.to_ascii_lowercase(), port });
    Ok(())
}

fn server_alias(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if cmd.context == Context::Main {
        return Err("is only of use in <VirtualHost>".to_owned());
    }
    let name = args.first().to_ascii_lowercase();
    if name.contains(['*', '?']) {
        cmd.server.core.wild_aliases.push(name);
    } else {
        cmd.server.core.aliases.push(name);
    }
    Ok(())
}

fn document_root(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if args.first().is_empty() {
        return Err("the directory is empty".to_owned());
    }
    let path = normal_path(&cmd.server_path(args.first()))?;
    cmd.server.core.document_root = Some(path);
    Ok(())
}

fn access_file_name(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if let Some(bad) = args.words.iter().find(|name| name.is_empty() || name.contains('/')) {
        return Err(format!("\"{bad}\" is not a file name"));
    }
    if args.words.is_empty() {
        return Err("needs at least one name".to_owned());
    }
    cmd.server.core.access_file_names = Some(args.words.clone().into());
    Ok(())
}

fn server_tokens(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let choices = [
        ("OS", ServerTokens::Os),
        ("Min", ServerTokens::Minimal),
        ("Minimal", ServerTokens::Minimal),
        ("Major", ServerTokens::Major),
        ("Minor", ServerTokens::Minor),
        ("Prod", ServerTokens::ProductOnly),
        ("ProductOnly", ServerTokens::ProductOnly),
        ("Full", ServerTokens::Full),
    ];
    cmd.server.core.server_tokens = Some(choice(args.first(), &choices)?);
    Ok(())
}
