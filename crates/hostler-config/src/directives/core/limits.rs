//! Limits on requests and on what scripts may use.

use super::types::{RangeLimit, Rlimit};
use super::values::number;
use crate::{Args, Arity, Command, Contexts, Directive, Overrides};

/// Everywhere, under any override class.
const fn anywhere(directive: Directive) -> Directive {
    directive.allowed(Contexts::ANYWHERE, Overrides::ALL)
}

/// Configuration files, also in sections.
const fn config(directive: Directive) -> Directive {
    directive.allowed(Contexts::CONFIG, Overrides::NONE)
}

pub(super) static DIRECTIVES: &[Directive] = &[
    Directive::new("LimitRequestLine", Arity::Take1, "bytes", "Longest request line", |cmd, args| {
        cmd.server.core.limit_request_line = Some(number(args.first(), 0..=16_777_216)?);
        Ok(())
    }),
    Directive::new(
        "LimitRequestFields",
        Arity::Take1,
        "number",
        "Most header fields of a request; 0: any number",
        |cmd, args| {
            cmd.server.core.limit_request_fields = Some(number(args.first(), 0..=32_767)?);
            Ok(())
        },
    ),
    Directive::new(
        "LimitRequestFieldSize",
        Arity::Take1,
        "bytes",
        "Longest header field of a request",
        |cmd, args| {
            cmd.server.core.limit_request_field_size = Some(number(args.first(), 0..=16_777_216)?);
            Ok(())
        },
    ),
    anywhere(Directive::new(
        "LimitRequestBody",
        Arity::Take1,
        "bytes",
        "Longest request body; 0: any length",
        |cmd, args| {
            cmd.dir.core.limit_request_body = Some(number(args.first(), 0..=i64::MAX.unsigned_abs())?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "LimitXMLRequestBody",
        Arity::Take1,
        "bytes",
        "Longest XML request body",
        |cmd, args| {
            cmd.dir.core.limit_xml_request_body = Some(number(args.first(), 0..=i64::MAX.unsigned_abs())?);
            Ok(())
        },
    )),
    Directive::new(
        "LimitInternalRecursion",
        Arity::Take12,
        "redirects [sub-requests]",
        "Most internal redirects and nested sub-requests",
        |cmd, args| {
            let redirects = number(args.first(), 1..=10_000)?;
            let nested = args.word(1).map_or(Ok(redirects), |word| number(word, 1..=10_000))?;
            cmd.server.core.limit_internal_recursion = Some((redirects, nested));
            Ok(())
        },
    ),
    Directive::new(
        "HostlerRequestBudget",
        Arity::Take1,
        "milliseconds",
        "Most processor time that the server's own processes take for one request's .htaccess files, includes and \
         expressions (default 2000); beyond it the request is refused",
        |cmd, args| {
            cmd.server.core.request_budget = Some(number(args.first(), 1..=3_600_000)?);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerWaitTimeout",
        Arity::Take1,
        "seconds",
        "Longest time that a request waits inside of the server with nothing happening (default: Timeout and 5 s, at \
         least 65); then it is ended with 500, and the log names what it waited for. Programs, other servers and clients \
         have time limits of their own",
        |cmd, args| {
            cmd.server.core.wait_timeout = Some(number(args.first(), 1..=3_600)?);
            Ok(())
        },
    ),
    config(Directive::new(
        "MaxRanges",
        Arity::Take1,
        RANGES,
        "Most ranges that a request may ask for",
        |cmd, args| {
            cmd.dir.core.max_ranges = range_limit(args.first(), 200)?;
            Ok(())
        },
    )),
    config(Directive::new(
        "MaxRangeOverlaps",
        Arity::Take1,
        RANGES,
        "Most overlapping ranges",
        |cmd, args| {
            cmd.dir.core.max_range_overlaps = range_limit(args.first(), 20)?;
            Ok(())
        },
    )),
    config(Directive::new(
        "MaxRangeReversals",
        Arity::Take1,
        RANGES,
        "Most ranges out of order",
        |cmd, args| {
            cmd.dir.core.max_range_reversals = range_limit(args.first(), 20)?;
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitCPU",
        Arity::Take12,
        RLIMIT,
        "CPU time of a script, in seconds; outside of sections also of each request in a warm worker",
        |cmd, args| {
            cmd.dir.core.rlimit_cpu = Some(rlimit(args)?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitMEM",
        Arity::Take12,
        RLIMIT,
        "Memory of a script, in bytes; outside of sections also of a warm worker",
        |cmd, args| {
            cmd.dir.core.rlimit_mem = Some(rlimit(args)?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitNPROC",
        Arity::Take12,
        RLIMIT,
        "Processes of a site's user, for scripts; outside of sections also for warm workers",
        |cmd, args| {
            cmd.dir.core.rlimit_nproc = Some(rlimit(args)?);
            Ok(())
        },
    )),
    Directive::new(
        "RegexDefaultOptions",
        Arity::TakeArgv,
        "None | [+|-]ICASE|EXTENDED|DOTALL|DOLLAR_ENDONLY ...",
        "Options of the regular expressions after this line",
        regex_default_options,
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
];

/// Directives of mod_request.
pub(super) static REQUEST: &[Directive] = &[Directive::new(
    "KeptBodySize",
    Arity::Take1,
    "bytes",
    "Keeps request bodies up to this size for what pages include; larger ones are refused; 0: keeps none",
    |cmd, args| {
        cmd.dir.core.kept_body_size = Some(number(args.first(), 0..=i64::MAX.unsigned_abs())?);
        Ok(())
    },
)
.allowed(Contexts::CONFIG, Overrides::NONE)];

const RANGES: &str = "default|unlimited|none|number";
const RLIMIT: &str = "soft|max [hard|max]";

fn range_limit(word: &str, default: u32) -> Result<Option<RangeLimit>, String> {
    Ok(Some(match word.to_ascii_lowercase().as_str() {
        "default" => RangeLimit::Count(default),
        "unlimited" => RangeLimit::Unlimited,
        "none" => RangeLimit::None,
        digits => match number(digits, 0..=u32::MAX)? {
            0 => return Err("0 is not a limit; use none or unlimited".to_owned()),
            count => RangeLimit::Count(count),
        },
    }))
}

fn rlimit(args: &Args) -> Result<Rlimit, String> {
    let one = |word: &str| match word {
        word if word.eq_ignore_ascii_case("max") => Ok(None),
        word => number(word, 0..=i64::MAX.unsigned_abs()).map(Some),
    };
    let hard = args.word(1).map_or(Ok(None), one)?;
    let soft = one(args.first())?.map(|soft| soft.min(hard.unwrap_or(soft)));
    Ok(Rlimit { soft, hard })
}

fn regex_default_options(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut options = cmd.builder.regex_options;
    for word in &args.words {
        let (on, name) = match word.strip_prefix('-') {
            Some(name) => (false, name),
            None => (true, word.strip_prefix('+').unwrap_or(word)),
        };
        match name.to_ascii_uppercase().as_str() {
            "NONE" => {
                options.ignore_case = false;
                options.extended = false;
                options.dot_all = false;
                options.dollar_end_only = false;
            }
            "ICASE" => options.ignore_case = on,
            "EXTENDED" => options.extended = on,
            "DOTALL" => options.dot_all = on,
            "DOLLAR_ENDONLY" => options.dollar_end_only = on,
            _ => {
                return Err(format!(
                    "\"{word}\" is not one of ICASE, EXTENDED, DOTALL, DOLLAR_ENDONLY, None"
                ));
            }
        }
    }
    cmd.builder.regex_options = options;
    Ok(())
}
