//! Directives of mod_proxy_html: links in the pages of servers behind this one. Which of them are what links is said with
//! ProxyHTMLLinks and ProxyHTMLEvents (Debian's proxy-html.conf has those of HTML). The pages are the front's.

mod rules;

pub use rules::{Map, Part, RewriteError, Rules};

use super::charset_lite::{Charset, charset};
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use hostler_expr::Kind;
use rules::{Find, MapFlags};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The module.
pub static MODULE: Module = Module {
    name: "proxy_html_module",
    file: "mod_proxy_html.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

const PLACES: Contexts = Contexts::CONFIG;

macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.dir.proxy_html.$field = Some(args.flag());
            Ok(())
        })
        .allowed(PLACES, Overrides::NONE)
    };
}

static DIRECTIVES: &[Directive] = &[
    flag!("ProxyHTMLEnable", "Rewrite links in proxied pages", enabled),
    Directive::new(
        "ProxyHTMLURLMap",
        Arity::RawArgs,
        "from-pattern to-pattern [flags] [condition]",
        "Set a substitution for links, and with ProxyHTMLExtended for scripts",
        |command, args| {
            let map = map(command, args)?;
            command.dir.proxy_html.maps.push(Arc::new(map));
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    Directive::new(
        "ProxyHTMLLinks",
        Arity::Iterate2,
        "element attribute ...",
        "Set which attributes of an element contain links",
        |command, args| {
            let [element, attribute] = &args.words[..] else {
                return Err("an element and its attributes".into());
            };
            let links = Arc::make_mut(command.dir.proxy_html.links.get_or_insert_default());
            links
                .entry(element.to_ascii_lowercase().into())
                .or_default()
                .push(attribute.to_ascii_lowercase().into());
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    Directive::new(
        "ProxyHTMLEvents",
        Arity::Iterate,
        "attribute ...",
        "Set the attributes that contain scripts",
        |command, args| {
            let events = Arc::make_mut(command.dir.proxy_html.events.get_or_insert_default());
            events.push(args.first().to_ascii_lowercase().into());
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    Directive::new(
        "ProxyHTMLDoctype",
        Arity::Take12,
        "HTML|XHTML|HTML5|text [Legacy|XML]",
        "Set the document type declaration that replaces the page's own",
        |command, args| {
            let second = args.words.get(1).map(|word| word.to_ascii_lowercase());
            let is_legacy = second.as_deref() == Some("legacy");
            let public = |name: &str, place: &str| {
                format!("<!DOCTYPE html PUBLIC \"-//W3C//DTD {name}//EN\"{place}>\n")
            };
            let at = |file: &str| format!(" \"http://www.w3.org/TR/xhtml1/DTD/{file}.dtd\"");
            command.dir.proxy_html.doctype = Some(
                match args.first().to_ascii_lowercase().as_str() {
                    "html" if is_legacy => public("HTML 4.01 Transitional", ""),
                    "html" => public("HTML 4.01", ""),
                    "xhtml" if is_legacy => public("XHTML 1.0 Transitional", &at("xhtml1-transitional")),
                    "xhtml" => public("XHTML 1.0 Strict", &at("xhtml1-strict")),
                    "html5" => "<!DOCTYPE html>\n".into(),
                    _ => args.first().to_owned(),
                }
                .into(),
            );
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    Directive::new(
        "ProxyHTMLFixups",
        Arity::Iterate,
        "lowercase|dospath|reset",
        "Set corrections that apply to all links",
        |command, args| {
            let dir = &mut command.dir.proxy_html;
            match args.first().to_ascii_lowercase().as_str() {
                "lowercase" => dir.lowercase = true,
                "dospath" => dir.dospath = true,
                "reset" => dir.resets = true,
                _ => return Err("only lowercase, dospath and reset".into()),
            }
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    flag!("ProxyHTMLMeta", "Turn <meta http-equiv> elements into response header fields", meta),
    flag!(
        "ProxyHTMLInterp",
        "Interpolate variables and evaluate conditions in ProxyHTMLURLMap",
        interpolates
    ),
    flag!("ProxyHTMLExtended", "Also rewrite scripts and style sheets", extended),
    flag!("ProxyHTMLStripComments", "Remove comments", strips_comments),
    Directive::new(
        "ProxyHTMLBufSize",
        Arity::Take1,
        "bytes",
        "No effect: buffers grow as needed",
        |_, args| {
            let is_number = args.first().bytes().all(|byte| byte.is_ascii_digit());
            is_number.then_some(()).ok_or_else(|| "must be a number of bytes".into())
        },
    )
    .allowed(PLACES, Overrides::NONE),
    Directive::new(
        "ProxyHTMLCharsetOut",
        Arity::Take1,
        "charset|*",
        "Set the character set of pages sent to clients; *: that of the original page",
        |command, args| {
            command.dir.proxy_html.charset_out = Some(match args.first() {
                "*" => None,
                name => Some(charset(name)?),
            });
            Ok(())
        },
    )
    .allowed(PLACES, Overrides::NONE),
];

/// Attributes that are links, by their elements, all in lower case.
pub type Links = BTreeMap<Box<str>, Vec<Box<str>>>;

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// ProxyHTMLEnable
    pub enabled: Option<bool>,
    /// ProxyHTMLURLMap, in their order.
    pub maps: Vec<Arc<Map>>,
    /// ProxyHTMLLinks
    pub links: Option<Arc<Links>>,
    /// ProxyHTMLEvents, in lower case.
    pub events: Option<Arc<Vec<Box<str>>>>,
    /// ProxyHTMLDoctype, as it is sent.
    pub doctype: Option<Box<str>>,
    /// ProxyHTMLFixups lowercase
    pub lowercase: bool,
    /// ProxyHTMLFixups dospath: `\` becomes `/`.
    pub dospath: bool,
    resets: bool,
    /// ProxyHTMLMeta
    pub meta: Option<bool>,
    /// ProxyHTMLInterp
    pub interpolates: Option<bool>,
    /// ProxyHTMLExtended
    pub extended: Option<bool>,
    /// ProxyHTMLStripComments
    pub strips_comments: Option<bool>,
    /// ProxyHTMLCharsetOut; `Some(None)`: as it came.
    pub charset_out: Option<Option<Charset>>,
}

impl Merge for Dir {
    /// Quirk(apache): what is on stays on further in, but below `ProxyHTMLFixups reset`.
    fn merge(&self, other: &Self) -> Self {
        let outer = if other.resets { &Self::default() } else { self };
        let either = |outer: Option<bool>, inner: Option<bool>| {
            if outer == Some(true) { outer } else { inner.or(outer) }
        };
        Self {
            enabled: either(outer.enabled, other.enabled),
            maps: self.maps.iter().chain(&other.maps).cloned().collect(),
            links: over(&self.links, &other.links),
            events: over(&self.events, &other.events),
            doctype: over(&self.doctype, &other.doctype),
            lowercase: outer.lowercase || other.lowercase,
            dospath: outer.dospath || other.dospath,
            resets: other.resets,
            meta: either(outer.meta, other.meta),
            interpolates: either(outer.interpolates, other.interpolates),
            extended: either(outer.extended, other.extended),
            strips_comments: either(outer.strips_comments, other.strips_comments),
            charset_out: over(&self.charset_out, &other.charset_out),
        }
    }

    unset_part!(Dir);
}

/// The module has nothing per server.
pub type Server = ();

fn map(command: &mut Command<'_>, args: &Args) -> Result<Map, String> {
    let words = crate::lexer::words(&args.raw);
    let (from, to, letters, condition) = match &words[..] {
        [from, to] => (from, to, "", None),
        [from, to, flags] => (from, to, flags.as_str(), None),
        [from, to, flags, condition, ..] => (from, to, flags.as_str(), Some(condition.as_str())),
        _ => return Err("from-pattern to-pattern [flags] [condition]".into()),
    };
    if let Some(flag) = letters.chars().find(|letter| !"hec^$RLlVvxins".contains(*letter)) {
        return Err(crate::unknown("flag", &flag.to_string(), &[]));
    }
    let flags = MapFlags::of(letters);
    let mut options = command.regex_options();
    options.ignore_case |= letters.contains('i');
    let find = match (letters.contains('R'), letters.contains('v')) {
        (false, _) => Find::Text(from.as_bytes().into()),
        (true, false) => Find::pattern(from, options).map_err(|error| error.to_string())?,
        (true, true) => Find::Later(from.as_str().into(), options),
    };
    if matches!(&find, Find::Text(text) if text.is_empty()) {
        return Err("the pattern is empty".into());
    }
    let condition = match condition.filter(|text| !text.is_empty()) {
        Some(text) => {
            let text = old_condition(text).unwrap_or_else(|| text.to_owned());
            Some(command.expr(&text, Kind::Boolean, hostler_expr::Flags::default())?)
        }
        None => None,
    };
    Ok(Map { find, to: to.as_bytes().into(), flags, condition })
}

/// `[!]VARIABLE[=value]`, as it was written before there were expressions. Without a value Apache promises it, and then takes it
/// for a mistake.
fn old_condition(text: &str) -> Option<String> {
    let (is_negated, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !is_word(name) || value.is_some_and(|value| value.contains(['\'', '"', '='])) {
        return None;
    }
    Some(match (is_negated, value) {
        (false, None) => format!("-n reqenv('{name}')"),
        (true, None) => format!("-z reqenv('{name}')"),
        (false, Some(value)) => format!("reqenv('{name}') == '{value}'"),
        (true, Some(value)) => format!("reqenv('{name}') != '{value}'"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(lines: &str) -> Result<Dir, String> {
        let text = format!("<Location /x>\n{lines}\n</Location>");
        let config = crate::Config::build(&crate::read_text(&text, "/etc").unwrap());
        config
            .map(|config| Dir::clone(&config.main().locations[0].conf.proxy_html))
            .map_err(|e| e[0].to_string())
    }

    fn changed(lines: &str, part: Part, text: &str) -> String {
        let rules = Rules::of(&dir(lines).unwrap(), &|_| None, &[]).unwrap();
        String::from_utf8(rules.changed(part, text.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn links_have_one_match_and_scripts_have_all() {
        let one = "ProxyHTMLURLMap http://a.example /a\nProxyHTMLURLMap / /b/";
        for (part, text, expected) in [
            (Part::Link, "http://a.example/x", "/a/x"),
            (Part::Link, "HTTP://A.example/x", "/a/x"),
            (Part::Link, "x http://a.example/", "x http://a.example/"),
            (Part::Link, "/x", "/b/x"),
            (Part::Event, "go('http://a.example/','http://a.example')", "go('/b/a/b/','/b/a')"),
        ] {
            assert_eq!(changed(one, part, text), expected, "{part:?}");
        }
        let pattern = "ProxyHTMLURLMap \"http://([a-z]+)\\.example/\" /$1/ Ri";
        assert_eq!(changed(pattern, Part::Link, "see HTTP://B.example/x"), "see /B/x");
        assert_eq!(changed(pattern, Part::Text, "http://a.example/ http://b.example/"), "/a/ /b/");
        for (flags, link, event, text) in [("h", "a", "b", "b"), ("e", "b", "a", "b"), ("c", "b", "b", "a")] {
            let lines = format!("ProxyHTMLURLMap a b {flags}");
            let all = [Part::Link, Part::Event, Part::Text].map(|part| changed(&lines, part, "a"));
            assert_eq!(all, [link, event, text], "{flags}");
        }
        assert_eq!(changed("ProxyHTMLURLMap a b ^", Part::Event, "ca"), "ca");
        assert_eq!(changed("ProxyHTMLURLMap a b $", Part::Event, "aca"), "acb");
        assert_eq!(changed("ProxyHTMLURLMap a b l\nProxyHTMLURLMap b c", Part::Link, "ax"), "bx");
        assert_eq!(changed("ProxyHTMLURLMap a b Rl\nProxyHTMLURLMap b c", Part::Link, "ax"), "cx");
    }

    #[test]
    fn old_conditions_are_expressions() {
        for (old, new) in [
            ("X", Some("-n reqenv('X')")),
            ("!X", Some("-z reqenv('X')")),
            ("X=a", Some("reqenv('X') == 'a'")),
            ("!X=a", Some("reqenv('X') != 'a'")),
            ("-T env('X')", None),
        ] {
            assert_eq!(old_condition(old).as_deref(), new, "{old}");
        }
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for wrong in ["a", "a b z", "( b R", "\"\" b", "a b h (("] {
            assert!(dir(&format!("ProxyHTMLURLMap {wrong}")).is_err(), "{wrong}");
        }
        assert!(dir("ProxyHTMLFixups upside-down").is_err());
        assert!(dir("ProxyHTMLCharsetOut martian").is_err());
    }
}
