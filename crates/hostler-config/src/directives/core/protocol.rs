//! The directives about HTTP: keep-alive, timeouts, protocols, methods.

use super::types::{EncodedSlashes, Http2, HttpProtocol, ReadTimeout, ReadTimeouts, Trace};
use super::values::{choice, leading_number, milliseconds, number};
use crate::{Action, Args, Arity, Command, Contexts, Directive, Overrides};

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "Timeout",
        Arity::Take1,
        "seconds",
        "Set the timeout for network I/O in seconds",
        |cmd, args| {
            cmd.server.core.timeout = Some(timeout(cmd, args.first()));
            Ok(())
        },
    ),
    Directive::new("KeepAlive", Arity::Flag, "On|Off", "Enable persistent connections", |cmd, args| {
        cmd.server.core.keep_alive = Some(args.flag());
        Ok(())
    }),
    Directive::new(
        "KeepAliveTimeout",
        Arity::Take1,
        "seconds|number ms",
        "Set the timeout of an idle persistent connection",
        |cmd, args| {
            cmd.server.core.keep_alive_timeout = Some(milliseconds(args.first(), 1000)?);
            Ok(())
        },
    ),
    Directive::new(
        "MaxKeepAliveRequests",
        Arity::Take1,
        "number",
        "Limit the number of requests on a connection; 0: no limit",
        |cmd, args| {
            cmd.server.core.max_keep_alive_requests =
                Some(number(args.first(), 0..=i32::MAX.unsigned_abs())?);
            Ok(())
        },
    ),
    Directive::new("TraceEnable", Arity::Take1, "On|Off|extended", "Enable the TRACE method", |cmd, args| {
        let choices = [("On", Trace::On), ("Off", Trace::Off), ("extended", Trace::Extended)];
        cmd.server.core.trace = Some(choice(args.first(), &choices)?);
        Ok(())
    }),
    Directive::new(
        "MergeSlashes",
        Arity::Flag,
        "On|Off",
        "Merge consecutive slashes in URL paths",
        |cmd, args| {
            cmd.server.core.merge_slashes = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "MergeTrailers",
        Arity::Flag,
        "On|Off",
        "Merge trailer fields into the request header after the body has been read",
        |cmd, args| {
            cmd.server.core.merge_trailers = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "StrictHostCheck",
        Arity::Flag,
        "On|Off",
        "Require the request's host name to be one of the virtual host's names",
        |cmd, args| {
            cmd.server.core.strict_host_check = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "AllowEncodedSlashes",
        Arity::Take1,
        "On|Off|NoDecode",
        "Accept, reject or keep undecoded %2F in URL paths",
        |cmd, args| {
            let choices = [
                ("On", EncodedSlashes::On),
                ("Off", EncodedSlashes::Off),
                ("NoDecode", EncodedSlashes::NoDecode),
            ];
            cmd.server.core.encoded_slashes = Some(choice(args.first(), &choices)?);
            Ok(())
        },
    ),
    Directive::new(
        "HttpProtocolOptions",
        Arity::Iterate,
        "Strict|Unsafe RegisteredMethods|LenientMethods Allow0.9|Require1.0",
        "Set how strictly requests are parsed",
        http_protocol_options,
    ),
    Directive::new(
        "Protocols",
        Arity::TakeArgv,
        "protocol ...",
        "Set the protocols of a server, in order of preference",
        protocols,
    ),
    Directive::new(
        "ProtocolsHonorOrder",
        Arity::Flag,
        "On|Off",
        "Use the order of Protocols instead of the client's preference",
        |cmd, args| {
            cmd.server.core.protocols_honor_order = Some(args.flag());
            Ok(())
        },
    ),
    Directive::new(
        "RegisterHttpMethod",
        Arity::Iterate,
        "method ...",
        "Register additional request methods",
        |cmd, args| {
            cmd.server.core.methods.push(args.first().to_owned());
            Ok(())
        },
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
];

pub(super) static REQTIMEOUT: &[Directive] = &[Directive::new(
    "RequestReadTimeout",
    Arity::TakeArgv,
    "handshake|header|body=seconds[-most][,MinRate=rate] ...",
    "Set timeouts for receiving a request: TLS handshake, header and body",
    request_read_timeout,
)];

pub(super) static ALLOWMETHODS: &[Directive] = &[Directive::new(
    "AllowMethods",
    Arity::TakeArgv,
    "reset|method ...",
    "Set the allowed request methods",
    allow_methods,
)
.allowed(Contexts::DIRECTORY, Overrides::NONE)];

pub(super) static HTTP2: &[Directive] = &[
    Directive::new(
        "H2MaxSessionStreams",
        Arity::Take1,
        "number",
        "Limit the number of concurrent streams of a connection",
        |cmd, args| {
            cmd.server.core.http2.max_session_streams =
                Some(number(args.first(), 1..=i32::MAX.unsigned_abs())?);
            Ok(())
        },
    ),
    Directive::new(
        "H2WindowSize",
        Arity::Take1,
        "bytes",
        "Set the flow-control window of request bodies in bytes",
        |cmd, args| {
            cmd.server.core.http2.window_size = Some(number(args.first(), 1024..=i32::MAX.unsigned_abs())?);
            Ok(())
        },
    ),
    Directive::new(
        "H2MaxHeaderBlockLen",
        Arity::Take1,
        "bytes",
        "Limit the size of a request header block in bytes",
        |cmd, args| {
            cmd.server.core.http2.max_header_block = Some(number(args.first(), 0..=i32::MAX.unsigned_abs())?);
            Ok(())
        },
    ),
    Directive::new("H2Direct", Arity::Flag, "On|Off", "Accept HTTP/2 with prior knowledge", |cmd, args| {
        cmd.server.core.http2.direct = Some(args.flag());
        Ok(())
    }),
    Directive::new(
        "H2StreamTimeout",
        Arity::Take1,
        "seconds",
        "Set the timeout of an HTTP/2 stream in seconds",
        |cmd, args| {
            cmd.server.core.http2.stream_timeout = Some(milliseconds(args.first(), 1000)?);
            Ok(())
        },
    ),
    ignored("H2MinWorkers"),
    ignored("H2MaxWorkers"),
    ignored("H2MaxWorkerIdleSeconds"),
    ignored("H2StreamMaxMemSize"),
    ignored("H2SerializeHeaders"),
    ignored("H2ModernTLSOnly"),
    ignored("H2Upgrade"),
    ignored("H2SessionExtraFiles"),
    ignored("H2TLSWarmUpSize"),
    ignored("H2TLSCoolDownSecs"),
    ignored("H2Push"),
    ignored("H2PushPriority"),
    ignored("H2PushDiarySize"),
    ignored("H2CopyFiles"),
    ignored("H2PushResource"),
    ignored("H2EarlyHints"),
    ignored("H2EarlyHint"),
    ignored("H2Padding"),
    ignored("H2OutputBuffering"),
    ignored("H2MaxDataFrameLen"),
    ignored("H2MaxStreamErrors"),
    ignored("H2WebSockets"),
];

/// A detail of mod_http2 that Hostler's HTTP/2 settles itself.
const fn ignored(name: &'static str) -> Directive {
    Directive {
        name,
        arity: Arity::RawArgs,
        form: "",
        doc: "A detail of mod_http2",
        contexts: Contexts::ANYWHERE,
        overrides: Overrides::ALL,
        action: Action::Ignored("Hostler's HTTP/2 has no such setting"),
        effect: None,
    }
}

impl ReadTimeouts {
    pub(super) fn merge(self, over: Self) -> Self {
        Self {
            handshake: over.handshake.or(self.handshake),
            header: over.header.or(self.header),
            body: over.body.or(self.body),
        }
    }
}

impl HttpProtocol {
    pub(super) fn merge(self, over: Self) -> Self {
        Self {
            lenient: over.lenient.or(self.lenient),
            registered_methods: over.registered_methods.or(self.registered_methods),
            require_1_0: over.require_1_0.or(self.require_1_0),
        }
    }
}

impl Http2 {
    pub(super) fn merge(self, over: Self) -> Self {
        Self {
            max_session_streams: over.max_session_streams.or(self.max_session_streams),
            window_size: over.window_size.or(self.window_size),
            max_header_block: over.max_header_block.or(self.max_header_block),
            direct: over.direct.or(self.direct),
            stream_timeout: over.stream_timeout.or(self.stream_timeout),
        }
    }
}

/// Quirk(apache): as `atoi` reads it; a negative one is no limit.
fn timeout(cmd: &mut Command<'_>, word: &str) -> u32 {
    const LONGEST: u32 = 10_000_000;
    let seconds = u32::try_from(leading_number(word)).unwrap_or(LONGEST).min(LONGEST);
    if word != seconds.to_string() {
        cmd.warn(format!("Timeout {word} is read as {seconds} s"));
    }
    seconds
}

fn http_protocol_options(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let options = &mut cmd.server.core.http_protocol;
    match args.first().to_ascii_lowercase().as_str() {
        "strict" => options.lenient = Some(false),
        "unsafe" => options.lenient = Some(true),
        "registeredmethods" => options.registered_methods = Some(true),
        "lenientmethods" => options.registered_methods = Some(false),
        "allow0.9" => options.require_1_0 = Some(false),
        "require1.0" => options.require_1_0 = Some(true),
        other => return Err(crate::unknown("option", other, &[])),
    }
    Ok(())
}

fn protocols(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if args.words.is_empty() {
        return Err("needs at least one protocol".to_owned());
    }
    let names: Vec<String> = args.words.iter().map(|name| name.to_ascii_lowercase()).collect();
    for name in names.iter().filter(|name| !["h2", "h2c", "http/1.1"].contains(&name.as_str())) {
        cmd.warn(format!("unknown protocol \"{name}\" (expected h2, h2c or http/1.1)"));
    }
    cmd.server.core.protocols = Some(names);
    Ok(())
}

fn allow_methods(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if args.words.is_empty() {
        return Err("needs at least one method".to_owned());
    }
    let reset = args.words.len() == 1 && args.first().eq_ignore_ascii_case("reset");
    let unknown = |word: &&String| !reset && !crate::section::METHODS.contains(&word.as_str());
    if let Some(word) = args.words.iter().find(unknown) {
        return Err(crate::unknown("method", word, &[]));
    }
    cmd.dir.core.allow_methods = Some(if reset { Vec::new() } else { args.words.clone() });
    Ok(())
}

fn request_read_timeout(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    args.words.iter().try_for_each(|word| read_timeout_of(cmd, word))
}

fn read_timeout_of(cmd: &mut Command<'_>, word: &str) -> Result<(), String> {
    let (stage, value) = word.split_once('=').ok_or_else(|| format!("\"{word}\" has no ="))?;
    let timeout = Some(read_timeout(value)?);
    let timeouts = &mut cmd.server.core.read_timeouts;
    match stage.to_ascii_lowercase().as_str() {
        "handshake" => timeouts.handshake = timeout,
        "header" => timeouts.header = timeout,
        "body" => timeouts.body = timeout,
        _ => return Err(crate::unknown("stage", stage, &["handshake", "header", "body"])),
    }
    Ok(())
}

fn read_timeout(value: &str) -> Result<ReadTimeout, String> {
    let (time, rate) = match value.split_once(',') {
        None => (value, None),
        Some((time, rest)) => match rest.split_once('=') {
            Some((name, rate)) if name.eq_ignore_ascii_case("minrate") => (time, Some(rate)),
            _ => return Err(format!("\"{rest}\" is not MinRate=number")),
        },
    };
    let (seconds, most) = match time.split_once('-') {
        Some((seconds, most)) => (seconds, Some(number(most, 0..=10_000_000)?)),
        None => (time, None),
    };
    let seconds = number(seconds, 0..=10_000_000)?;
    if most.is_some_and(|most| most <= seconds) {
        return Err("the second time must be above the first".to_owned());
    }
    if most.is_some() && rate.is_none() {
        return Err("two times need a MinRate".to_owned());
    }
    let min_rate = rate.map_or(Ok(0), |rate| number(rate, 1..=i32::MAX.unsigned_abs()))?;
    Ok(ReadTimeout { seconds, most, min_rate })
}
