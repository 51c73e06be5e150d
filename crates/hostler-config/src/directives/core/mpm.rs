//! Processes and sockets: who the server runs as, what it listens on, and Apache's tuning knobs.

use super::super::suexec;
use super::health::health;
use super::types::{AssignUser, IdRange};
use super::values::number;
use crate::{Action, Args, Arity, Command, Contexts, Directive, Listen, Overrides};
use std::net::IpAddr;

/// Main server only.
const fn global(directive: Directive) -> Directive {
    directive.allowed(Contexts::GLOBAL, Overrides::NONE)
}

/// Knobs of processes that Hostler does not have.
const fn ignored(name: &'static str, why: &'static str) -> Directive {
    Directive {
        name,
        arity: Arity::RawArgs,
        form: "",
        doc: "A knob of Apache's processes",
        contexts: Contexts::CONFIG,
        overrides: Overrides::NONE,
        action: Action::Ignored(why),
        effect: None,
    }
}

const FRONT: &str = "one process serves all connections, so there is nothing to configure";
const NONE_SUCH: &str = "Hostler has no such component";

pub(super) static UNIXD: &[Directive] = &[
    global(Directive::new(
        "User",
        Arity::Take1,
        "name|#uid",
        "Set the user of sites without AssignUserID",
        |cmd, args| {
            cmd.process.user = Some(not_root(args.first())?);
            Ok(())
        },
    )),
    global(Directive::new(
        "Group",
        Arity::Take1,
        "name|#gid",
        "Set the group of sites without AssignUserID",
        |cmd, args| {
            cmd.process.group = Some(not_root(args.first())?);
            Ok(())
        },
    )),
    Directive {
        action: Action::Refused(
            "Hostler does not support chroot: paths in the configuration would change their meaning",
        ),
        ..global(ignored("ChrootDir", ""))
    },
    ignored("Suexec", "programs always run as the site's user"),
];

pub(super) static MPM: &[Directive] = &[
    global(Directive::new(
        "Listen",
        Arity::Take12,
        "[address:]port [protocol]",
        "Set an address and port to listen on",
        listen,
    )),
    global(Directive::new(
        "ListenBacklog",
        Arity::Take1,
        "number",
        "Set the length of the queue of pending connections (default 4096)",
        |cmd, args| {
            cmd.process.backlog = Some(number(args.first(), 1..=i32::MAX.unsigned_abs())?);
            Ok(())
        },
    )),
    global(Directive::new(
        "PidFile",
        Arity::Take1,
        "file",
        "Set the file to which the process ID is written",
        |cmd, args| {
            cmd.process.pid_file = Some(cmd.server_path(args.first()));
            Ok(())
        },
    )),
    global(Directive::new(
        "GracefulShutdownTimeout",
        Arity::Take1,
        "seconds",
        "Limit the time, in seconds, in which requests finish when the server stops (default 30) or after a reload \
         (default 3600); 0: no limit",
        |cmd, args| {
            cmd.process.graceful_shutdown_timeout = Some(number(args.first(), 0..=10_000_000)?);
            Ok(())
        },
    )),
    ignored("ServerLimit", FRONT),
    ignored("MinSpareThreads", FRONT),
    ignored("MaxSpareThreads", FRONT),
    ignored("ThreadsPerChild", FRONT),
    ignored("ThreadLimit", FRONT),
    ignored("ThreadStackSize", FRONT),
    ignored("AsyncRequestWorkerFactor", FRONT),
    ignored("MaxMemFree", "memory is released after each request; use HostlerSiteMemory to limit a site"),
    ignored("ListenCoresBucketsRatio", FRONT),
    ignored("ListenTCPDeferAccept", NONE_SUCH),
    ignored("SendBufferSize", "the kernel sizes the buffers"),
    ignored("ReceiveBufferSize", "the kernel sizes the buffers"),
    ignored("ReadBufferSize", "the kernel sizes the buffers"),
    ignored("FlushMaxThreshold", "the kernel sizes the buffers"),
    ignored("FlushMaxPipelined", NONE_SUCH),
    ignored("ScoreBoardFile", NONE_SUCH),
    ignored("ExtendedStatus", "server-status and `hostler status` always show it"),
    ignored("SeeRequestTail", NONE_SUCH),
    ignored("CoreDumpDirectory", "the kernel decides where core dumps are written"),
    ignored(
        "DefaultRuntimeDir",
        "nothing is kept there: PidFile names its own file, and sockets of sites stand in folders of their own",
    ),
    ignored("Mutex", NONE_SUCH),
    ignored("AcceptMutex", NONE_SUCH),
    ignored("LockFile", NONE_SUCH),
    ignored("AcceptFilter", NONE_SUCH),
    ignored("Protocol", "Listen and SSLEngine determine the protocol"),
    ignored("EnableExceptionHook", NONE_SUCH),
    ignored("WatchdogInterval", NONE_SUCH),
    ignored("LoadFile", "nothing is loaded"),
];

pub(super) static ITK: &[Directive] = &[
    Directive::new(
        "AssignUserID",
        Arity::Take2,
        "user|#uid group|#gid",
        "Set the user and group of a virtual host",
        |cmd, args| {
            let user = not_root(args.first())?;
            let group = not_root(args.word(1).unwrap_or(""))?;
            let assigned = AssignUser { user, group };
            if let Some(suexec) = cmd.server.core.suexec_user.as_ref().filter(|suexec| **suexec != assigned) {
                return Err(suexec::other_user(suexec, &assigned));
            }
            cmd.server.core.assign_user = Some(assigned);
            Ok(())
        },
    ),
    global(Directive::new(
        "LimitUIDRange",
        Arity::Take2,
        "least most",
        "Limit the user IDs of sites",
        |cmd, args| {
            cmd.process.uid_range = Some(id_range(args)?);
            Ok(())
        },
    )),
    global(Directive::new(
        "LimitGIDRange",
        Arity::Take2,
        "least most",
        "Limit the group IDs of sites",
        |cmd, args| {
            cmd.process.gid_range = Some(id_range(args)?);
            Ok(())
        },
    )),
    Directive { action: Action::Refused(BY_EXPR), ..ignored("AssignUserIDExpr", "") },
    Directive { action: Action::Refused(BY_EXPR), ..ignored("AssignGroupIDExpr", "") },
    Directive::new(
        "MaxClientsVHost",
        Arity::Take1,
        "number",
        "Limit the number of concurrent requests of a site; an alias of HostlerSiteConnections (0: no limit)",
        |cmd, args| {
            let most = number(args.first(), 0..=10_000_000)?;
            cmd.server.core.site_bounds.connections = Some((most > 0).then_some(most));
            Ok(())
        },
    ),
    Directive::new(
        "NiceValue",
        Arity::Take1,
        "number",
        "Set the nice value of programs, 0 to 19; outside sections, also of warm workers",
        |cmd, args| {
            let nice: i8 = args
                .first()
                .parse()
                .ok()
                .filter(|nice| (-20..=19).contains(nice))
                .ok_or("a number from -20 to 19")?;
            if nice < 0 {
                cmd.warn(format!(
                    "NiceValue {nice} is not supported: a site cannot have priority over the server's own processes"
                ));
            }
            cmd.dir.core.nice = u8::try_from(nice).ok();
            Ok(())
        },
    )
    .allowed(Contexts::CONFIG, Overrides::NONE),
    ignored("EnableCapabilities", "site processes have no capabilities at all"),
];

const BY_EXPR: &str = "the user cannot depend on the request; use one virtual host per user with AssignUserID (mod_macro can generate them), or UserDir, instead";

pub(super) static HOSTLER: &[Directive] = &[
    global(Directive::new(
        "HostlerUser",
        Arity::Take12,
        "user [group]",
        "Set the user and group that the front runs as",
        |cmd, args| {
            let group = args.word(1).map(not_root).transpose()?;
            cmd.process.hostler_user = Some((not_root(args.first())?, group));
            Ok(())
        },
    )),
    global(Directive::new(
        "HostlerSiteIdle",
        Arity::Take1,
        "seconds",
        "Stop a site process after this many seconds without a request",
        |cmd, args| {
            cmd.process.site_idle = Some(number(args.first(), 1..=10_000_000)?);
            Ok(())
        },
    )),
    global(Directive::new(
        "HostlerDrainDelay",
        Arity::Take1,
        "seconds",
        "Accept new connections for this many seconds (default 0) after a stopping server has become not ready",
        |cmd, args| {
            cmd.process.drain_delay = Some(number(args.first(), 0..=3600)?);
            Ok(())
        },
    )),
    global(Directive::new(
        "HostlerHealth",
        Arity::TakeArgv,
        "off | live-path ready-path [engine[:site]] ...",
        "Set the paths at which every virtual host reports that the server is live and ready, and the pools that must be \
         able to start a worker for it to be ready",
        |cmd, args| {
            cmd.process.health = health(&args.words)?;
            Ok(())
        },
    )),
];

/// Root never serves anything. Names are resolved later, and checked again.
pub(in crate::directives) fn not_root(word: &str) -> Result<String, String> {
    let id = word.strip_prefix('#');
    if word.is_empty() || id.is_some_and(|digits| digits.parse::<u32>().is_err()) {
        return Err(format!("\"{word}\" is neither a name nor # and a number"));
    }
    if word == "root" || id.is_some_and(|digits| digits.parse() == Ok(0u32)) {
        return Err("root is refused".to_owned());
    }
    Ok(word.to_owned())
}

fn id_range(args: &Args) -> Result<IdRange, String> {
    let least = number(args.first(), 0..=u32::MAX)?;
    let most = number(args.word(1).unwrap_or(""), 0..=u32::MAX)?;
    if least > most { Err("the range is empty".to_owned()) } else { Ok(IdRange { least, most }) }
}

fn listen(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (host, port) = listen_address(args.first())?;
    let protocol = match args.word(1) {
        Some(word) => word.to_ascii_lowercase(),
        None => if port == 443 { "https" } else { "http" }.to_owned(),
    };
    let addresses = match host {
        Host::All => vec![None],
        Host::Address(ip) => vec![Some(ip)],
        Host::Name(name) => cmd.resolved(name).iter().copied().map(Some).collect(),
    };
    if addresses.is_empty() {
        return Err(format!("\"{}\" names a host without an address", args.first()));
    }
    for ip in addresses {
        if cmd.process.listen.iter().any(|other| (other.ip, other.port) == (ip, port)) {
            return Err(format!("\"{}\" is listened on already", args.first()));
        }
        cmd.process.listen.push(Listen { ip, port, protocol: protocol.clone() });
    }
    Ok(())
}

/// The host part of a Listen.
#[derive(Debug, PartialEq, Eq)]
enum Host<'a> {
    All,
    Address(IpAddr),
    Name(&'a str),
}

/// `80`, `*:80`, `192.0.2.1:80`, `[2001:db8::1]:80`, `name:80`
fn listen_address(word: &str) -> Result<(Host<'_>, u16), String> {
    let (host, port) = word.rsplit_once(':').unwrap_or(("*", word));
    let port = number(port, 1..=u16::MAX).map_err(|_| format!("\"{word}\" has no port from 1 to 65535"))?;
    if host == "*" {
        return Ok((Host::All, port));
    }
    if let Some(bare) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        let ip = bare.parse().map_err(|_| format!("\"{word}\" has no IPv6 address in its brackets"))?;
        return Ok((Host::Address(IpAddr::V6(ip)), port));
    }
    if host.is_empty() || host.contains(':') {
        return Err(format!(
            "\"{word}\" is neither a port nor an address with a port (IPv6 addresses need [ ])"
        ));
    }
    Ok((host.parse().map_or(Host::Name(host), |ip| Host::Address(IpAddr::V4(ip))), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_ports_and_addresses() {
        assert_eq!(listen_address("80"), Ok((Host::All, 80)));
        assert_eq!(listen_address("*:8080"), Ok((Host::All, 8080)));
        assert_eq!(listen_address("127.0.0.1:80"), Ok((Host::Address([127, 0, 0, 1].into()), 80)));
        assert_eq!(listen_address("[::1]:443"), Ok((Host::Address("::1".parse().unwrap()), 443)));
        assert_eq!(listen_address("localhost:80"), Ok((Host::Name("localhost"), 80)));
        for bad in ["", "0", "65536", "::1:80", "127.0.0.1", ":80", "[::1]", "[127.0.0.1]:80"] {
            assert!(listen_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn root_is_refused_in_every_spelling() {
        for bad in ["root", "#0", "#00", "", "#", "#x", "#-1"] {
            assert!(not_root(bad).is_err(), "{bad}");
        }
        assert_eq!(not_root("#1000"), Ok("#1000".to_owned()));
    }
}
