//! The choice of the best variant for a client: Apache's own algorithm, or that of RFC 2296 where the client asks for
//! it.

use super::accept::Entry;
use super::accept::Preferences;
use super::variant::{CGI, LATIN_1, Rules, Variant, is_identity};
use crate::request::Request;
use hostler_config::directives::negotiation::Dir;

/// Transparent negotiation, as the client wants it (`Negotiate`, RFC 2295).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// It knows what a list of variants is.
    pub(super) knows_lists: bool,
    /// It wants to see the list.
    pub(super) sends_alternates: bool,
    /// It must not be chosen for.
    pub(super) chooses_itself: bool,
    /// By RFC 2296.
    pub(super) by_rfc: bool,
    /// Its fields mean what they say.
    pub(super) strict: bool,
}

impl Wish {
    pub(super) fn of(request: &Request) -> Self {
        let Some(field) = request.header("Negotiate") else { return Self::default() };
        // Lynx says so without meaning it.
        if field == b"trans" && request.header("User-Agent").is_some_and(|agent| agent.starts_with(b"Lynx")) {
            return Self::default();
        }
        let mut wish = Self { chooses_itself: true, ..Self::default() };
        for word in field.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            let word = word.to_ascii_lowercase();
            let is_known = matches!(&word[..], b"trans" | b"vlist" | b"guess-small" | b"*")
                || word.first().is_some_and(u8::is_ascii_digit);
            if !is_known {
                continue;
            }
            wish.knows_lists = true;
            wish.sends_alternates = true;
            if &word[..] == b"1.0" {
                (wish.chooses_itself, wish.by_rfc, wish.strict) = (false, true, true);
            } else if &word[..] == b"*" {
                (wish.chooses_itself, wish.strict) = (false, true);
            }
        }
        wish
    }
}

/// The result.
pub(super) struct Choice {
    /// The best variant, if there is one.
    pub(super) best: Option<usize>,
    /// It is good enough to be sent.
    pub(super) is_choice: bool,
}

/// Adds the defaults of a client that states no types, and programs, which no client asks for: these are preferred when
/// they receive a body.
pub(super) fn add_usual(accepted: &mut Preferences, wish: Wish, prefers_programs: bool) {
    let entry = |name: &str, quality| Entry { name: name.into(), quality, ..Entry::default() };
    let types = accepted.types.get_or_insert_with(|| vec![entry("*/*", 1.0)]);
    let quality = match (wish.by_rfc, prefers_programs) {
        (true, _) => 0.0,
        (false, true) => 2.0,
        (false, false) => 0.001,
    };
    types.push(entry(CGI, quality));
}

/// Rates all variants, and finds the best.
pub(super) fn choose(
    request: &Request,
    variants: &mut [Variant],
    accepted: &Preferences,
    priority: &Dir,
    wish: Wish,
) -> Choice {
    let some_language = variants.iter().any(|variant| !variant.languages.is_empty());
    let without_language = if some_language && !wish.strict { 0.0001 } else { 1.0 };
    let rules = Rules { accepted, priority, strict: wish.strict, without_language };
    let preferred = request.env.find("prefer-language").map(|l| String::from_utf8_lossy(l).into_owned());
    if let Some(language) = preferred {
        let chosen = among(request, variants, &rules, wish, Some(&language));
        if chosen.best.is_some() && chosen.is_choice {
            return chosen;
        }
    }
    among(request, variants, &rules, wish, None)
}

fn among(
    request: &Request,
    variants: &mut [Variant],
    rules: &Rules<'_>,
    wish: Wish,
    language: Option<&str>,
) -> Choice {
    let uncoded = Uncoded::of(request);
    let (mut best, mut best_quality): (Option<usize>, f32) = (None, 0.0);
    for at in 0..variants.len() {
        let variant = &mut variants[at];
        let other = language.is_some_and(|language| !variant.languages.iter().any(|own| own == language));
        if other || uncoded.excludes(variant) {
            continue;
        }
        variant.rate(rules, language.is_some());
        if wish.chooses_itself {
            continue;
        }
        let (variant, known) = (&variants[at], best.map(|best: usize| &variants[best]));
        let better = if wish.by_rfc {
            by_rfc(variant, known, best_quality)
        } else {
            better(variant, known, best_quality)
        };
        if let Some(quality) = better {
            (best, best_quality) = (Some(at), quality);
        }
    }
    let definite = !wish.by_rfc || best.is_some_and(|best| variants[best].fit.definite);
    Choice { best, is_choice: best_quality > 0.0 && definite }
}

/// The variables `no-gzip` and `gzip-only-text/html` count for variants as they do for compression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uncoded {
    None,
    All,
    AllButHtml,
}

impl Uncoded {
    fn of(request: &Request) -> Self {
        if request.env.contains("no-gzip") {
            Self::All
        } else if request.env.find("gzip-only-text/html").is_some_and(|value| &**value == b"1") {
            Self::AllButHtml
        } else {
            Self::None
        }
    }

    fn excludes(self, variant: &Variant) -> bool {
        let encoding = variant.encoding.as_deref();
        let plain = is_identity(encoding) || encoding == Some("identity");
        let kept = match self {
            Self::None => true,
            Self::All => false,
            Self::AllButHtml => variant.media_type.starts_with("text/html"),
        };
        !plain && !kept
    }
}

/// Its quality, if it is better than the best so far (RFC 2296 §3.4).
fn by_rfc(variant: &Variant, best: Option<&Variant>, best_quality: f32) -> Option<f32> {
    let fit = &variant.fit;
    if fit.encoding == 0.0 {
        return None;
    }
    let quality = fit.media_type * variant.source_quality * fit.charset * fit.language;
    let tie = quality == best_quality && best.is_some_and(|best| fit.encoding > best.fit.encoding);
    (quality > 0.0 && (quality > best_quality || tie)).then_some(quality)
}

/// The same by Apache's algorithm: type, language, level, character set, coding, length.
fn better(variant: &Variant, best: Option<&Variant>, best_quality: f32) -> Option<f32> {
    let fit = &variant.fit;
    let sides = [fit.encoding, fit.language, variant.source_quality, fit.charset, fit.media_type];
    if sides.contains(&0.0) {
        return None;
    }
    let quality = fit.media_type * variant.source_quality;
    if quality == 0.0 || quality < best_quality {
        return None;
    }
    let Some(best) = best.filter(|_| quality <= best_quality) else { return Some(quality) };
    let order = first_difference(variant, best);
    let shorter = || match (variant.length, best.length) {
        (Some(own), Some(other)) => own < other,
        (None, Some(_)) => true,
        _ => false,
    };
    order.unwrap_or_else(shorter).then_some(quality)
}

/// Returns whether it is better, as the first side tells in which the two differ.
fn first_difference(variant: &Variant, best: &Variant) -> Option<bool> {
    let higher = |own: f32, other: f32| (own != other).then_some(own > other);
    let (own, other) = (&variant.fit, &best.fit);
    let by_rank = || match (own.rank, other.rank) {
        (Some(own), Some(other)) => (own != other).then_some(own < other),
        (Some(_), None) => Some(true),
        (None, Some(_)) => Some(false),
        (None, None) => None,
    };
    let by_charset = || {
        let says = |variant: &Variant| !variant.charset.is_empty() && variant.charset != LATIN_1;
        higher(own.charset, other.charset).or_else(|| (says(variant) && !says(best)).then_some(true))
    };
    higher(own.language, other.language)
        .or_else(by_rank)
        .or_else(|| by_level(variant, best))
        .or_else(by_charset)
        .or_else(|| higher(own.encoding, other.encoding))
}

/// Of HTML in several levels, the highest that was asked for; else the lowest.
fn by_level(variant: &Variant, best: &Variant) -> Option<bool> {
    let same = if variant.is_html() { best.is_html() } else { variant.media_type == best.media_type };
    if !same {
        return None;
    }
    let (own, other) = (&variant.fit, &best.fit);
    if own.level_matched != other.level_matched {
        return Some(own.level_matched > other.level_matched);
    }
    (variant.level != best.level).then_some(variant.level < best.level)
}
