//! Directives of mod_usertrack: a cookie by which the log tells visitors apart.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};

/// The module.
pub static MODULE: Module = Module {
    name: "usertrack_module",
    file: "mod_usertrack.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

/// A directive with one argument.
macro_rules! word {
    ($name:literal, $form:literal, $doc:literal, $set:expr) => {
        Directive::new($name, Arity::Take1, $form, $doc, $set)
            .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    };
}

/// A directive that is On or Off.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.dir.usertrack.$field = args.flag();
            Ok(())
        })
        .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO)
    };
}

static DIRECTIVES: &[Directive] = &[
    flag!("CookieTracking", "Enable a cookie that identifies visitors in the log (%{cookie}n)", enabled),
    word!("CookieName", "name", "Set the name of the tracking cookie (default Apache)", name),
    word!("CookieDomain", "domain", "Set the Domain attribute of the tracking cookie", domain),
    word!("CookieStyle", "Netscape|Cookie|Cookie2", "Set the format of the tracking cookie", style),
    word!(
        "CookieSameSite",
        "None|Lax|Strict",
        "Set the SameSite attribute of the tracking cookie",
        |command, args| {
            let all = ["None", "Lax", "Strict"];
            let found = all.into_iter().find(|one| one.eq_ignore_ascii_case(args.first()));
            command.dir.usertrack.same_site =
                Some(found.ok_or("CookieSameSite accepts 'Strict', 'Lax', or 'None'")?);
            Ok(())
        }
    ),
    flag!("CookieSecure", "Set the Secure attribute of the tracking cookie", secure),
    flag!("CookieHttpOnly", "Set the HttpOnly attribute of the tracking cookie", http_only),
    Directive::new(
        "CookieExpires",
        Arity::Take1,
        "seconds | \"[plus] number unit ...\"",
        "Set the lifetime of the tracking cookie (default: until the browser is closed)",
        |command, args| {
            let expires = lifetime(args.first())?;
            // It is the virtual host's, wherever it stands. Quirk(apache): there a folder's file changes it for all, from then on.
            if command.is_htaccess() {
                command.warn_once(
                    "CookieExpires",
                    "CookieExpires in .htaccess has no effect: it is the virtual host's",
                );
            } else {
                command.server.usertrack.expires = Some(expires);
            }
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::FILE_INFO),
];

/// CookieStyle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// With a date.
    #[default]
    Netscape,
    /// RFC 2109, with max-age.
    Cookie,
    /// RFC 2965, in a field of its own.
    Cookie2,
}

/// A directory's settings.
#[derive(Clone, Debug)]
pub struct Dir {
    /// CookieTracking
    pub enabled: bool,
    /// CookieName
    pub name: Box<str>,
    /// CookieDomain
    pub domain: Option<Box<str>>,
    /// CookieStyle
    pub style: Style,
    /// CookieSameSite
    pub same_site: Option<&'static str>,
    /// CookieSecure
    pub secure: bool,
    /// CookieHttpOnly
    pub http_only: bool,
}

impl Default for Dir {
    fn default() -> Self {
        let (enabled, secure, http_only) = (false, false, false);
        let (domain, style, same_site) = (None, Style::Netscape, None);
        Self { enabled, name: "Apache".into(), domain, style, same_site, secure, http_only }
    }
}

impl Merge for Dir {
    /// Quirk(apache): a section that says anything of this module says all of it.
    fn merge(&self, other: &Self) -> Self {
        other.clone()
    }

    unset_part!(Dir);
}

/// A server's settings.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// CookieExpires, in seconds.
    pub expires: Option<i64>,
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self { expires: over(&self.expires, &other.expires) }
    }

    unset_part!(Server);
}

fn name(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if args.first().is_empty() || !args.first().bytes().all(is_token) {
        return Err(format!("\"{}\" is not a cookie name", args.first()));
    }
    command.dir.usertrack.name = args.first().into();
    Ok(())
}

fn domain(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let domain = args.first();
    let Some(rest) = domain.strip_prefix('.') else {
        return Err("the domain must begin with a dot".into());
    };
    if !rest.contains('.') || rest.starts_with('.') || rest.bytes().any(|b| b == b';' || b <= b' ') {
        return Err("the domain must have a second dot".into());
    }
    command.dir.usertrack.domain = Some(domain.into());
    Ok(())
}

fn style(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.dir.usertrack.style = match &args.first().to_ascii_lowercase()[..] {
        "netscape" => Style::Netscape,
        "cookie" | "rfc2109" => Style::Cookie,
        "cookie2" | "rfc2965" => Style::Cookie2,
        _ => return Err(crate::unknown("style", args.first(), &["Netscape", "Cookie", "Cookie2"])),
    };
    Ok(())
}

fn lifetime(text: &str) -> Result<i64, String> {
    let is_number =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_digit());
    if is_number && let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    super::expires::seconds_of(text)
}
