//! A variant of a document, and how well each of its sides suits a client: mod_negotiation's rules, with their fiddles for
//! browsers that say less than they mean.

use super::accept::{Entry, Preferences};
use hostler_config::directives::negotiation::Dir;

/// The type of programs; no client asks for it, so its quality depends on the request.
pub(super) const CGI: &str = "application/x-httpd-cgi";

/// A variant.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    /// File name, or what a type map says: a path relative to the map's directory.
    pub(super) file: String,
    /// In lower case, without parameters; empty: not known.
    pub(super) media_type: String,
    pub(super) charset: String,
    pub(super) languages: Vec<String>,
    pub(super) encoding: Option<String>,
    pub(super) description: String,
    /// `qs`: what its author thinks of it.
    pub(super) source_quality: f32,
    pub(super) level: f32,
    pub(super) length: Option<u64>,
    /// Its text stands in the type map, from here on.
    pub(super) body: Option<usize>,
    /// It is found among the files that were looked up, here.
    pub(super) found: Option<usize>,
    /// It is run, so that its length says nothing.
    pub(super) has_handler: bool,
    pub(super) fit: Fit,
}

/// The suitability for the client.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) media_type: f32,
    pub(super) language: f32,
    pub(super) charset: f32,
    pub(super) encoding: f32,
    /// Its place in LanguagePriority, where that decides.
    pub(super) rank: Option<usize>,
    pub(super) level_matched: f32,
    /// The precision of the matching type: 0 none, 1 `*/*`, 2 `type/*`, 3 its name.
    stars: u8,
    /// Nothing was guessed (RFC 2296).
    pub(super) definite: bool,
}

impl Default for Fit {
    fn default() -> Self {
        Self {
            media_type: 1.0,
            language: 1.0,
            charset: 1.0,
            encoding: 1.0,
            rank: None,
            level_matched: 0.0,
            stars: 0,
            definite: true,
        }
    }
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            file: String::new(),
            media_type: String::new(),
            charset: String::new(),
            languages: Vec::new(),
            encoding: None,
            description: String::new(),
            source_quality: 0.0,
            level: 0.0,
            length: None,
            body: None,
            found: None,
            has_handler: false,
            fit: Fit::default(),
        }
    }
}

/// By which rules a client's fields are read.
pub(super) struct Rules<'a> {
    pub(super) accepted: &'a Preferences,
    pub(super) priority: &'a Dir,
    /// The fields are taken as they stand.
    pub(super) strict: bool,
    /// Quality of variants without a language, where others have one.
    pub(super) without_language: f32,
}

impl Variant {
    pub(super) fn set_type(&mut self, entry: Entry) {
        self.media_type = entry.name;
        self.source_quality = entry.quality;
        self.level = entry.level;
        self.charset = entry.charset;
    }

    /// HTML, perhaps with includes.
    pub(super) fn is_html(&self) -> bool {
        self.media_type == "text/html" || self.has_includes()
    }

    fn has_includes(&self) -> bool {
        matches!(&self.media_type[..], "text/x-server-parsed-html" | "text/x-server-parsed-html3")
    }

    /// Sets [`Variant::fit`]; `preferred`: it is in the language that the variable `prefer-language` names.
    pub(super) fn rate(&mut self, rules: &Rules<'_>, preferred: bool) {
        self.rate_type(rules);
        if preferred {
            self.fit.language = 1.0;
            self.fit.definite = true;
        } else {
            self.rate_language(rules);
        }
        self.rate_encoding(rules);
        self.rate_charset(rules);
    }

    fn rate_type(&mut self, rules: &Rules<'_>) {
        let (mut quality, mut definite) = (0.0, true);
        for wanted in rules.accepted.types.iter().flatten() {
            let before = self.fit.stars;
            if !self.matches(wanted) || self.fit.stars == before {
                continue;
            }
            let fiddles = !rules.strict && !rules.accepted.rates_types;
            quality = match self.fit.stars {
                1 if fiddles => 0.01,
                2 if fiddles => 0.02,
                _ => wanted.quality,
            };
            definite = self.fit.stars == 3;
        }
        self.fit.media_type = quality;
        self.fit.definite &= definite;
    }

    fn matches(&mut self, wanted: &Entry) -> bool {
        let name = &wanted.name[..];
        if matches!(name, "*" | "*/*") {
            self.fit.stars = self.fit.stars.max(1);
            return true;
        }
        let family = name.strip_suffix("/*").filter(|family| !family.is_empty());
        let own = self.media_type.split_once('/').map(|(family, _)| family);
        if family.is_some() && family == own {
            self.fit.stars = self.fit.stars.max(2);
            return true;
        }
        let is_named = name == self.media_type || (name == "text/html" && self.has_includes());
        if is_named && wanted.level >= self.level {
            self.fit.level_matched = self.level;
            self.fit.stars = 3;
            return true;
        }
        false
    }

    fn rate_language(&mut self, rules: &Rules<'_>) {
        if self.languages.is_empty() {
            if !rules.strict {
                self.fit.language = rules.without_language;
            }
            return;
        }
        match &rules.accepted.languages {
            None => self.fit.definite = false,
            Some(wanted) => self.match_languages(wanted, rules.strict),
        }
        let force = rules.priority.force();
        let rank = rules.priority.priority.as_ref().and_then(|order| {
            let places =
                self.languages.iter().filter_map(|own| order.iter().position(|p| begins_with(own, p)));
            places.min()
        });
        let Some(rank) = rank else { return };
        if self.fit.language > 0.0 {
            if force.prefer && self.fit.rank.is_none() {
                self.fit.rank = Some(rank);
            }
        } else if force.fallback {
            self.fit.rank = Some(rank);
            self.fit.language = 0.0001;
            self.fit.definite = false;
        }
    }

    /// The best of the client's languages for any of the variant's; for each of these, the longest range counts.
    fn match_languages(&mut self, wanted: &[Entry], strict: bool) {
        let star = wanted.iter().find(|range| range.name == "*");
        let (mut best, mut by_star, mut fiddle): (Option<f32>, bool, f32) = (None, false, 0.0);
        for own in &self.languages {
            let mut closest: Option<&Entry> = None;
            for range in wanted.iter().filter(|range| range.name != "*") {
                let rest = own.strip_prefix(&range.name[..]);
                let covers = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
                if covers && closest.is_none_or(|known| range.name.len() > known.name.len()) {
                    closest = Some(range);
                }
                // Somebody who asks for en-US is better served with en than with nothing.
                if closest.is_none()
                    && !strict
                    && range.name.split_once('-').is_some_and(|(prefix, _)| own.starts_with(prefix))
                {
                    fiddle = 0.001;
                }
            }
            match closest {
                Some(range) if best.is_none_or(|known| range.quality > known) => best = Some(range.quality),
                Some(_) => {}
                None => by_star |= star.is_some(),
            }
        }
        if let Some(star) = star.filter(|star| by_star && best.is_none_or(|known| star.quality > known)) {
            best = Some(star.quality);
            self.fit.definite = false;
        }
        self.fit.language = best.unwrap_or(fiddle);
    }

    fn rate_charset(&mut self, rules: &Rules<'_>) {
        let Some(wanted) = &rules.accepted.charsets else {
            self.fit.definite &= self.charset.is_empty();
            return;
        };
        let mut charset = &self.charset[..];
        if charset.is_empty() {
            let is_text = self.media_type.starts_with("text/");
            if !is_text || rules.strict {
                return;
            }
            charset = LATIN_1;
        }
        let named = wanted.iter().find(|one| one.name == charset);
        let star = wanted.iter().rfind(|one| one.name == "*");
        self.fit.charset = match (named, star) {
            (Some(one), _) => one.quality,
            (None, Some(star)) => {
                self.fit.definite = false;
                star.quality
            }
            (None, None) if charset == LATIN_1 => 1.0,
            (None, None) => 0.0,
        };
    }

    fn rate_encoding(&mut self, rules: &Rules<'_>) {
        let plain = is_identity(self.encoding.as_deref());
        let Some(wanted) = &rules.accepted.encodings else {
            self.fit.encoding = if plain { 1.0 } else { 0.5 };
            return;
        };
        let own = if plain { "identity" } else { self.encoding.as_deref().unwrap_or_default() };
        let own = own.strip_prefix("x-").unwrap_or(own);
        let named = wanted.iter().find(|one| one.name.strip_prefix("x-").unwrap_or(&one.name) == own);
        let star = wanted.iter().rfind(|one| one.name == "*");
        let otherwise = if plain { 0.0001 } else { 0.0 };
        self.fit.encoding = named.or(star).map_or(otherwise, |one| one.quality);
    }
}

/// The character set of text in HTTP/1.1 of old.
pub(super) const LATIN_1: &str = "iso-8859-1";

/// Returns whether a coding is none.
pub(super) fn is_identity(encoding: Option<&str>) -> bool {
    matches!(encoding, None | Some("" | "7bit" | "8bit" | "binary"))
}

/// Returns whether a language is one of the list's, or a narrower one.
fn begins_with(language: &str, listed: &str) -> bool {
    language.get(..listed.len()).is_some_and(|start| start.eq_ignore_ascii_case(listed))
}
