//! Directives of mod_expires: how long answers stay fresh.

use crate::{Args, Arity, Command, Contexts, Directive, Effect, Merge, Module, Overrides, over, unset_part};
use std::collections::BTreeMap;

/// The module.
pub static MODULE: Module = Module {
    name: "expires_module",
    file: "mod_expires.c",
    directives: DIRECTIVES,
    effect: Effect::Harmless,
};

static DIRECTIVES: &[Directive] = &[
    Directive::new(
        "ExpiresActive",
        Arity::Flag,
        "On|Off",
        "Send Expires and Cache-Control: max-age headers",
        |command, args| {
            command.dir.expires.active = Some(args.flag());
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "ExpiresByType",
        Arity::Take2,
        "media-type \"access|now|modification [plus] number unit ...\"|A<seconds>|M<seconds>",
        "Set the freshness lifetime of responses of a media type",
        by_type,
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
    Directive::new(
        "ExpiresDefault",
        Arity::Take1,
        "\"access|now|modification [plus] number unit ...\"|A<seconds>|M<seconds>",
        "Set the freshness lifetime of responses of all other media types",
        |command, args| {
            command.dir.expires.usual = Some(Lifetime::parse(args.first())?);
            Ok(())
        },
    )
    .allowed(Contexts::ANYWHERE, Overrides::INDEXES),
];

/// The freshness lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Counted from the file's last change rather than from the request: nothing where there is no file.
    pub from_modification: bool,
    /// Seconds.
    pub seconds: i64,
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// ExpiresActive; unset means Off.
    pub active: Option<bool>,
    /// ExpiresDefault
    pub usual: Option<Lifetime>,
    by_type: BTreeMap<Box<str>, Lifetime>,
}

impl Merge for Dir {
    fn merge(&self, other: &Self) -> Self {
        let mut by_type = self.by_type.clone();
        by_type.extend(other.by_type.iter().map(|(name, lifetime)| (name.clone(), *lifetime)));
        Self { active: over(&self.active, &other.active), usual: over(&self.usual, &other.usual), by_type }
    }

    unset_part!(Dir);
}

/// mod_expires has nothing per server.
pub type Server = ();

impl Dir {
    /// Returns the freshness lifetime of a response with this media type (parameters are ignored); `None`: none is set.
    /// A response that has `Expires` already keeps it, and errors and sub-requests get none: the caller checks that.
    #[must_use]
    pub fn lifetime(&self, media_type: Option<&str>) -> Option<Lifetime> {
        if self.active != Some(true) {
            return None;
        }
        let essence =
            media_type.map(|name| name.split(';').next().unwrap_or(name).trim().to_ascii_lowercase());
        essence.and_then(|name| self.for_type(&name)).or(self.usual)
    }

    /// By the type, then by `text/*`.
    fn for_type(&self, name: &str) -> Option<Lifetime> {
        let family = || name.split_once('/').map(|(family, _)| format!("{family}/*"));
        self.by_type.get(name).or_else(|| self.by_type.get(&*family()?)).copied()
    }
}

fn by_type(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    if !args.first().contains('/') {
        return Err(format!("\"{}\" is not a media type: it has no slash", args.first()));
    }
    let lifetime = Lifetime::parse(args.word(1).unwrap_or_default())?;
    command.dir.expires.by_type.insert(args.first().to_ascii_lowercase().into(), lifetime);
    Ok(())
}

impl Lifetime {
    /// Reads both syntaxes: `A3600`, and `access plus 1 month 2 days`, where words may be shortened.
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(seconds) = text.strip_prefix(['A', 'M']) {
            let from_modification = text.starts_with('M');
            if let Ok(seconds) = seconds.parse() {
                return Ok(Self { from_modification, seconds });
            }
        }
        let mut words = text.split_whitespace().peekable();
        let base = words.next().unwrap_or_default().to_ascii_lowercase();
        let from_modification = match base.bytes().next() {
            Some(b'n' | b'a') => false,
            Some(b'm') => true,
            _ => return Err(format!("\"{text}\" must start with access, now or modification")),
        };
        Ok(Self { from_modification, seconds: sum(words)? })
    }
}

/// The seconds of a duration such as `plus 1 month 2 days`.
pub(super) fn seconds_of(text: &str) -> Result<i64, String> {
    sum(text.split_whitespace().peekable())
}

fn sum<'a>(mut words: std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Result<i64, String> {
    words.next_if(|word| word.starts_with(['p', 'P']));
    let mut seconds: i64 = 0;
    while let Some(amount) = words.next() {
        // Neither a sign nor anything behind the digits.
        let digits = Some(amount).filter(|amount| amount.bytes().all(|byte| byte.is_ascii_digit()));
        let amount: i64 =
            digits.unwrap_or_default().parse().map_err(|_| format!("\"{amount}\" should be a number"))?;
        let unit = words.next().ok_or_else(|| format!("after {amount} a unit is missing"))?;
        let factor = unit_seconds(unit).ok_or_else(|| crate::unknown("unit", unit, &[]))?;
        seconds = seconds.saturating_add(amount.saturating_mul(factor));
    }
    Ok(seconds)
}

/// Seconds of a unit, of which one or two letters suffice.
fn unit_seconds(unit: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("y", 31_536_000),
        ("mo", 2_592_000),
        ("w", 604_800),
        ("d", 86_400),
        ("h", 3600),
        ("mi", 60),
        ("s", 1),
    ];
    let unit = unit.to_ascii_lowercase();
    UNITS.iter().find(|(start, _)| unit.starts_with(start)).map(|(_, seconds)| *seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_syntaxes() {
        let month = 2_592_000;
        for (text, from_modification, seconds) in [
            ("A3600", false, 3600),
            ("M-5", true, -5),
            ("access plus 1 month", false, month),
            ("access 1 month 15 days 2 hours", false, month + 15 * 86_400 + 7200),
            ("Modification plus 5 hours 3 minutes", true, 5 * 3600 + 180),
            ("now", false, 0),
            ("a p 1 y 1 w 1 s", false, 31_536_000 + 604_800 + 1),
        ] {
            assert_eq!(Lifetime::parse(text), Ok(Lifetime { from_modification, seconds }), "{text}");
        }
        for text in [
            "",
            "soon plus 1 day",
            "access plus day",
            "access plus 1",
            "access plus 1 m",
            "access plus 1 fortnight",
        ] {
            assert!(Lifetime::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn which_lifetime_counts() {
        let lifetime = |text| Lifetime::parse(text).unwrap();
        let mut dir = Dir { active: Some(true), usual: Some(lifetime("A60")), ..Dir::default() };
        dir.by_type.insert("text/html".into(), lifetime("A10"));
        dir.by_type.insert("image/*".into(), lifetime("M100"));
        assert_eq!(dir.lifetime(Some("Text/HTML; charset=x")), Some(lifetime("A10")));
        assert_eq!(dir.lifetime(Some("image/png")), Some(lifetime("M100")));
        assert_eq!(dir.lifetime(Some("text/plain")), Some(lifetime("A60")));
        assert_eq!(dir.lifetime(None), Some(lifetime("A60")));
        assert_eq!(Dir { active: None, ..dir }.lifetime(None), None);
    }
}
