//! The directives about responses: handlers, types, filters, error documents, entity tags.

use super::types::{AcceptPathInfo, DefaultCharset, ErrorDocument, EtagParts, FileEtag, Setting};
use super::values::{choice, number};
use crate::directives::filter::Way;
use crate::directives::jk;
use crate::directives::reach;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Overrides};

/// Everywhere, under FileInfo.
const fn file_info(directive: Directive) -> Directive {
    directive.allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
}

/// The same, of what neither guards nor hands anything over.
const fn harmless(directive: Directive) -> Directive {
    file_info(directive).with_effect(Effect::Harmless)
}

pub(super) static DIRECTIVES: &[Directive] = &[
    harmless(Directive::new(
        "AddDefaultCharset",
        Arity::Take1,
        "On|Off|charset",
        "Set the charset parameter of text responses that have none",
        |cmd, args| {
            cmd.dir.core.default_charset = Some(match args.first() {
                word if word.eq_ignore_ascii_case("off") => DefaultCharset::Off,
                word if word.eq_ignore_ascii_case("on") => DefaultCharset::Name("iso-8859-1".to_owned()),
                word => DefaultCharset::Name(word.to_owned()),
            });
            Ok(())
        },
    )),
    file_info(Directive::new(
        "AcceptPathInfo",
        Arity::Take1,
        "On|Off|Default",
        "Accept or reject URLs with a path after the name of a file",
        |cmd, args| {
            let choices = [
                ("On", AcceptPathInfo::On),
                ("Off", AcceptPathInfo::Off),
                ("Default", AcceptPathInfo::Default),
            ];
            cmd.dir.core.accept_path_info = Some(choice(args.first(), &choices)?);
            Ok(())
        },
    )),
    harmless(Directive::new(
        "ErrorDocument",
        Arity::Take2,
        "status \"text\"|/path|URL|default",
        "Set the response for an error status",
        error_document,
    )),
    harmless(Directive::new(
        "FileETag",
        Arity::TakeArgv,
        "[+|-]INode|MTime|Size|Digest ... | All | None",
        "Set which file attributes the ETag header is computed from",
        file_etag,
    )),
    harmless(Directive::new(
        "EnableMMAP",
        Arity::Flag,
        "On|Off",
        "Accepted as a hint; no other effect",
        |cmd, args| {
            cmd.dir.core.enable_mmap = Some(args.flag());
            Ok(())
        },
    )),
    harmless(Directive::new(
        "EnableSendfile",
        Arity::Flag,
        "On|Off",
        "Accepted as a hint; no other effect",
        |cmd, args| {
            cmd.dir.core.enable_sendfile = Some(args.flag());
            Ok(())
        },
    )),
    Directive::new(
        "ContentDigest",
        Arity::Flag,
        "On|Off",
        "Send a Content-MD5 header with responses",
        |cmd, args| {
            cmd.dir.core.content_digest = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::OPTIONS)
    .with_effect(Effect::Harmless),
    file_info(
        Directive::new(
            "SetHandler",
            Arity::Take1,
            "handler|None|expression",
            "Set the handler for all matching requests",
            |cmd, args| {
                cmd.dir.core.handler = Some(handler(cmd, args.first())?);
                Ok(())
            },
        )
        .with_effect(Effect::HandsOver),
    ),
    file_info(Directive::new(
        "ForceType",
        Arity::Take1,
        "type|None",
        "Set the media type of all files",
        |cmd, args| {
            if super::super::mime::programs::runs(args.first()) {
                cmd.name_handler(args.first());
            }
            cmd.dir.core.force_type = Some(Setting::word(args.first()));
            Ok(())
        },
    )),
    file_info(
        Directive::new(
            "SetOutputFilter",
            Arity::Take1,
            "filter[;filter...]",
            "Set the filters for responses",
            |cmd, args| {
                check_filters(cmd, Way::Output, args)?;
                cmd.dir.core.output_filters = Some(filters(args.first()));
                Ok(())
            },
        )
        .with_effect(Effect::HarmlessIf(super::super::filter::only_compress)),
    ),
    file_info(
        Directive::new(
            "SetInputFilter",
            Arity::Take1,
            "filter[;filter...]",
            "Set the filters for request bodies",
            |cmd, args| {
                check_filters(cmd, Way::Input, args)?;
                cmd.dir.core.input_filters = Some(filters(args.first()));
                Ok(())
            },
        )
        .with_effect(Effect::Guards),
    ),
    harmless(Directive::new(
        "DefaultType",
        Arity::Take1,
        "none",
        "No effect, as in Apache 2.4",
        |cmd, args| {
            if !args.first().eq_ignore_ascii_case("none") {
                cmd.warn("DefaultType has no effect, as in Apache 2.4; use ForceType or AddType");
            }
            Ok(())
        },
    )),
    Directive::new(
        "CGIPassAuth",
        Arity::Flag,
        "On|Off",
        "Pass the Authorization header to CGI programs",
        |cmd, args| {
            cmd.dir.core.cgi_pass_auth = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG),
    file_info(Directive::new(
        "CGIVar",
        Arity::Take2,
        "REQUEST_URI original-uri|current-uri",
        "Set how a CGI variable is computed",
        |cmd, args| {
            if args.first() != "REQUEST_URI" {
                return Err(format!("\"{}\" is not REQUEST_URI", args.first()));
            }
            let choices = [("original-uri", false), ("current-uri", true)];
            cmd.dir.core.cgi_request_uri_is_current = Some(choice(args.word(1).unwrap_or(""), &choices)?);
            Ok(())
        },
    )),
    file_info(Directive::new(
        "QualifyRedirectURL",
        Arity::Flag,
        "On|Off",
        "Set REDIRECT_URL to a full URL instead of a path",
        |cmd, args| {
            cmd.dir.core.qualify_redirect_url = Some(args.flag());
            Ok(())
        },
    )),
];

/// Quirk(apache): what contains `%{` is an expression, and `expr=`, which marks one elsewhere, is a part of its value.
fn handler(cmd: &mut Command<'_>, word: &str) -> Result<Setting, String> {
    if word.starts_with("expr=") {
        cmd.warn(
            "an expression stands here without expr=, which becomes a part of the handler's name".to_owned(),
        );
    }
    if word.contains("%{") {
        // What it comes to in an access file is seen when a request asks for it.
        if !cmd.is_htaccess() {
            cmd.dir.core.shows_figures = Some(true);
        }
        return Ok(Setting::Expr(cmd.string_expr(word)?));
    }
    let leads_elsewhere = reach::proxied(word).is_some() || word.eq_ignore_ascii_case(jk::HANDLER);
    if leads_elsewhere && !cmd.is_htaccess() {
        let name = if word.eq_ignore_ascii_case(jk::HANDLER) { jk::HANDLER } else { word };
        cmd.dir.reach.name(name);
    }
    cmd.name_handler(word);
    let shows = figures(cmd, word)?;
    if !cmd.is_htaccess() {
        cmd.dir.core.shows_figures = Some(shows);
    }
    Ok(Setting::word(word))
}

/// True if a handler shows figures and users of all sites. Sites are closed to each other: their access files can't
/// have it, as they can in Apache.
pub(in crate::directives) fn figures(cmd: &Command<'_>, word: &str) -> Result<bool, String> {
    const FIGURES: [&str; 4] = ["server-status", "balancer-manager", "server-info", "hostler-metrics"];
    let shows = FIGURES.iter().any(|name| name.eq_ignore_ascii_case(word));
    if shows && cmd.is_htaccess() {
        return Err(format!(
            "{word} shows figures of all sites: the server's configuration alone may have it"
        ));
    }
    Ok(shows)
}

fn check_filters(cmd: &mut Command<'_>, way: Way, args: &Args) -> Result<(), String> {
    // The word "none" takes back what is further out.
    if args.first().eq_ignore_ascii_case("none") {
        return Ok(());
    }
    super::super::filter::check_names(cmd, way, args.first())
}

fn filters(word: &str) -> Vec<String> {
    let none = |name: &&str| name.is_empty() || name.eq_ignore_ascii_case("none");
    word.split(';').filter(|name| !none(name)).map(str::to_owned).collect()
}

fn error_document(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let status: u16 = number(args.first(), 100..=599)?;
    let target = args.word(1).unwrap_or("");
    let text = |cmd: &Command<'_>| cmd.string_expr(target);
    let document = if target == "default" {
        ErrorDocument::Default
    } else if target.contains(' ') {
        ErrorDocument::Text(text(cmd)?)
    } else if target.starts_with('/') {
        ErrorDocument::Local(text(cmd)?)
    } else if !is_url(target) {
        ErrorDocument::Text(text(cmd)?)
    } else if status == 401 {
        // A client that is sent elsewhere is never asked for its password.
        cmd.warn("a full URL cannot be the ErrorDocument of 401; ignored");
        return Ok(());
    } else {
        ErrorDocument::Remote(text(cmd)?)
    };
    cmd.dir.core.error_documents.insert(status, document);
    Ok(())
}

/// `ap_is_url`: a scheme and a colon.
pub(crate) fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

fn file_etag(cmd: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut etag = FileEtag::default();
    for word in &args.words {
        let (sign, name) = match word.as_bytes().first() {
            Some(sign @ (b'+' | b'-')) => (Some(*sign), &word[1..]),
            _ => (None, word.as_str()),
        };
        let part = match (name.to_ascii_lowercase().as_str(), sign) {
            ("none", None) => EtagParts::NONE,
            ("all", None) => EtagParts { inode: true, mtime: true, size: true, digest: false },
            ("none" | "all", Some(_)) => return Err(format!("{name} cannot take + or -")),
            ("inode", _) => EtagParts { inode: true, ..EtagParts::NONE },
            ("mtime", _) => EtagParts { mtime: true, ..EtagParts::NONE },
            ("size", _) => EtagParts { size: true, ..EtagParts::NONE },
            ("digest", _) => EtagParts { digest: true, ..EtagParts::NONE },
            _ => {
                return Err(crate::unknown(
                    "value",
                    word,
                    &["INode", "MTime", "Size", "Digest", "All", "None"],
                ));
            }
        };
        let or = |a: EtagParts| a.zip(part, |a, b| a || b);
        match sign {
            Some(b'+') => etag.added = or(etag.added),
            Some(_) => etag.removed = or(etag.removed),
            None => etag.absolute = Some(or(etag.absolute.unwrap_or(EtagParts::NONE))),
        }
    }
    cmd.dir.core.etag = etag;
    Ok(())
}
