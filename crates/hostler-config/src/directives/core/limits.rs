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
    Directive::new(
        "LimitRequestLine",
        Arity::Take1,
        "bytes",
        "Limit the size of the request line in bytes",
        |cmd, args| {
            cmd.server.core.limit_request_line = Some(number(args.first(), 0..=16_777_216)?);
            Ok(())
        },
    ),
    Directive::new(
        "LimitRequestFields",
        Arity::Take1,
        "number",
        "Limit the number of header fields in a request; 0: no limit",
        |cmd, args| {
            cmd.server.core.limit_request_fields = Some(number(args.first(), 0..=32_767)?);
            Ok(())
        },
    ),
    Directive::new(
        "LimitRequestFieldSize",
        Arity::Take1,
        "bytes",
        "Limit the size of a request header field in bytes",
        |cmd, args| {
            cmd.server.core.limit_request_field_size = Some(number(args.first(), 0..=16_777_216)?);
            Ok(())
        },
    ),
    anywhere(Directive::new(
        "LimitRequestBody",
        Arity::Take1,
        "bytes",
        "Limit the size of a request body in bytes; 0: no limit",
        |cmd, args| {
            cmd.dir.core.limit_request_body = Some(number(args.first(), 0..=i64::MAX.unsigned_abs())?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "LimitXMLRequestBody",
        Arity::Take1,
        "bytes",
        "Limit the size of an XML request body in bytes",
        |cmd, args| {
            cmd.dir.core.limit_xml_request_body = Some(number(args.first(), 0..=i64::MAX.unsigned_abs())?);
            Ok(())
        },
    )),
    Directive::new(
        "LimitInternalRecursion",
        Arity::Take12,
        "redirects [sub-requests]",
        "Limit internal redirects and nested subrequests",
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
        "Limit the CPU time, in milliseconds, that the server's own processes spend on .htaccess files, \
            includes and expressions for one request (default 2000); a request that exceeds it is \
            refused",
        |cmd, args| {
            cmd.server.core.request_budget = Some(number(args.first(), 1..=3_600_000)?);
            Ok(())
        },
    ),
    Directive::new(
        "HostlerWaitTimeout",
        Arity::Take1,
        "seconds",
        "Limit the time, in seconds, that a request waits inside the server without progress (default: \
            Timeout plus 5, at least 65); after that it gets 500, and the log names what it waited for. \
            Programs, backends and clients have their own time limits",
        |cmd, args| {
            cmd.server.core.wait_timeout = Some(number(args.first(), 1..=3_600)?);
            Ok(())
        },
    ),
    config(Directive::new(
        "MaxRanges",
        Arity::Take1,
        RANGES,
        "Limit the number of ranges in a request",
        |cmd, args| {
            cmd.dir.core.max_ranges = range_limit(args.first(), 200)?;
            Ok(())
        },
    )),
    config(Directive::new(
        "MaxRangeOverlaps",
        Arity::Take1,
        RANGES,
        "Limit the number of overlapping ranges in a request",
        |cmd, args| {
            cmd.dir.core.max_range_overlaps = range_limit(args.first(), 20)?;
            Ok(())
        },
    )),
    config(Directive::new(
        "MaxRangeReversals",
        Arity::Take1,
        RANGES,
        "Limit the number of out-of-order ranges in a request",
        |cmd, args| {
            cmd.dir.core.max_range_reversals = range_limit(args.first(), 20)?;
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitCPU",
        Arity::Take12,
        RLIMIT,
        "Limit the CPU time of a script in seconds; outside sections, also that of each request in a warm \
            worker",
        |cmd, args| {
            cmd.dir.core.rlimit_cpu = Some(rlimit(args)?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitMEM",
        Arity::Take12,
        RLIMIT,
        "Limit the memory of a script in bytes; outside sections, also that of a warm worker",
        |cmd, args| {
            cmd.dir.core.rlimit_mem = Some(rlimit(args)?);
            Ok(())
        },
    )),
    anywhere(Directive::new(
        "RLimitNPROC",
        Arity::Take12,
        RLIMIT,
        "Limit the number of processes of a site's user for scripts; outside sections, also for warm workers",
        |cmd, args| {
            cmd.dir.core.rlimit_nproc = Some(rlimit(args)?);
            Ok(())
        },
    )),
    Directive::new(
        "RegexDefaultOptions",
        Arity::TakeArgv,
        "None | [+|-]ICASE|EXTENDED|DOTALL|DOLLAR_ENDONLY ...",
        "Set the default options of all regular expressions that follow",
        regex_default_options,
    )
    .allowed(Contexts::GLOBAL, Overrides::NONE),
];

/// Directives of mod_request.
pub(super) static REQUEST: &[Directive] = &[Directive::new(
    "KeptBodySize",
    Arity::Take1,
    "bytes",
    "Keep request bodies of up to this many bytes for included requests; larger ones are refused; 0: keep \
        none",
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
                    "unknown option \"{word}\" (expected ICASE, EXTENDED, DOTALL, DOLLAR_ENDONLY or None)"
                ));
            }
        }
    }
    cmd.builder.regex_options = options;
    Ok(())
}
