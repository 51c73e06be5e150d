//! mod_filter: filters that are declared, given something to do by conditions, and put in order.

use super::names::{self, CONTENT_SET, RESOURCE, Rank, Way};
use crate::{Args, Command, Merge, unset_part};
use hostler_expr::Expr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A filter that is declared (`FilterDeclare`): which one really works is found out for each answer.
#[derive(Clone, Debug)]
pub struct Harness {
    /// The name as written first.
    pub name: Box<str>,
    /// Its place.
    pub rank: Rank,
    /// The possible providers; the first that matches is used.
    pub providers: Vec<Provider>,
}

/// A provider of a declared filter.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The filter.
    pub filter: Box<str>,
    /// When it does.
    pub when: When,
}

/// When a provider fits.
#[derive(Clone, Debug)]
pub enum When {
    /// For answers of one of these media types.
    Types(Vec<Box<str>>),
    /// The condition for it.
    Condition(Expr),
}

/// A directory's settings.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// The filters that are declared, by their names in lower case.
    pub declared: BTreeMap<Box<str>, Arc<Harness>>,
    /// Their order, as names in lower case.
    pub order: Vec<Box<str>>,
    /// Outer sections do not apply (`FilterChain !`).
    resets: bool,
}

impl Merge for Chain {
    /// Quirk(apache): what is declared again is another filter, and stands in the order wherever the first one did.
    fn merge(&self, over: &Self) -> Self {
        let mut declared = self.declared.clone();
        declared.extend(over.declared.iter().map(|(name, harness)| (name.clone(), harness.clone())));
        let outer = if over.resets { &[] } else { &self.order[..] };
        Self { declared, order: [outer, &over.order].concat(), resets: self.resets || over.resets }
    }

    unset_part!(Chain);
}

impl Chain {
    /// The declared filters in their order. One that nobody has declared is its name.
    pub fn in_order(&self) -> impl Iterator<Item = Result<&Arc<Harness>, &str>> {
        self.order.iter().map(|name| self.declared.get(name).ok_or(&**name))
    }

    /// The declared filter of this name; it is declared if it was not.
    fn harness(&mut self, name: &str) -> &mut Harness {
        let made = || Arc::new(Harness { name: name.into(), rank: RESOURCE, providers: Vec::new() });
        Arc::make_mut(self.declared.entry(name.to_ascii_lowercase().into()).or_insert_with(made))
    }

    /// `AddOutputFilterByType`: a filter of its own name, whose provider fits some types.
    pub(super) fn add_type(&mut self, filter: &str, media_type: &str) {
        let name = format!("BYTYPE:{filter}");
        let key: Box<str> = name.to_ascii_lowercase().into();
        if !self.declared.contains_key(&key) {
            self.order.push(key);
        }
        let providers = &mut self.harness(&name).providers;
        if let Some(Provider { when: When::Types(types), .. }) = providers.first_mut() {
            types.push(media_type.into());
            return;
        }
        let when = When::Types(vec![media_type.into()]);
        providers.push(Provider { filter: filter.into(), when });
    }
}

/// `FilterDeclare name [type]`
pub(super) fn declare(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let rank = match args.word(1).map(str::to_ascii_uppercase).as_deref() {
        None | Some("RESOURCE") => RESOURCE,
        Some("CONTENT_SET") => CONTENT_SET,
        Some("PROTOCOL") => 30,
        Some("TRANSCODE") => 40,
        Some("CONNECTION") => 50,
        Some("NETWORK") => 60,
        Some(other) => {
            const TYPES: &[&str] =
                &["RESOURCE", "CONTENT_SET", "PROTOCOL", "TRANSCODE", "CONNECTION", "NETWORK"];
            return Err(crate::unknown("filter type", other, TYPES));
        }
    };
    let chain = &mut command.dir.filter.chain;
    chain.declared.remove(&*args.first().to_ascii_lowercase());
    chain.harness(args.first()).rank = rank;
    Ok(())
}

/// `FilterProvider name filter expression`
pub(super) fn provider(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let filter = args.word(1).unwrap_or_default();
    names::check_names(command, Way::Output, filter)?;
    let condition = command.condition(args.word(2).unwrap_or_default())?;
    let provider = Provider { filter: filter.into(), when: When::Condition(condition) };
    // The last one is asked first.
    command.dir.filter.chain.harness(args.first()).providers.insert(0, provider);
    Ok(())
}

/// `FilterChain [+|-|@|=|!]name ...`
pub(super) fn chain(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let word = args.first();
    let name: Box<str> = word.trim_start_matches(['+', '-', '@', '=', '!']).to_ascii_lowercase().into();
    let chain = &mut command.dir.filter.chain;
    match word.as_bytes().first() {
        Some(b'@') => chain.order.insert(0, name),
        Some(b'-') => chain.order.retain(|known| *known != name),
        Some(b'!') => (chain.order, chain.resets) = (Vec::new(), true),
        Some(b'=') => (chain.order, chain.resets) = (vec![name], true),
        _ => chain.order.push(name),
    }
    Ok(())
}

/// The flags of a filter (`FilterProtocol`).
const FLAGS: [&str; 10] = [
    "change=yes",
    "change=no",
    "change=1:1",
    "byteranges=yes",
    "byteranges=no",
    "proxy=yes",
    "proxy=no",
    "proxy=transform",
    "cache=yes",
    "cache=no",
];

/// `FilterProtocol name [provider] flags`. Quirk(apache): it does nothing to the header, although it says so.
pub(super) fn protocol(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (provider, flags) = match args.word(2) {
        Some(flags) => (args.word(1), flags),
        None => (None, args.word(1).unwrap_or_default()),
    };
    for flag in flags.split([';', ',', ' ', '\t']).filter(|flag| !flag.is_empty()) {
        if !FLAGS.contains(&&*flag.to_ascii_lowercase()) {
            return Err(crate::unknown("flag", flag, &[]));
        }
    }
    let chain = &command.dir.filter.chain;
    let Some(harness) = chain.declared.get(&*args.first().to_ascii_lowercase()) else {
        return Err(format!("{} is not declared here (FilterDeclare)", args.first()));
    };
    let has = |name: &str| harness.providers.iter().any(|known| known.filter.eq_ignore_ascii_case(name));
    match provider.filter(|name| !has(name)) {
        Some(missing) => Err(format!("{missing} is not a provider of {}", harness.name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(entries: &[(&str, &[&str])]) -> Chain {
        let mut chain = Chain::default();
        for (filter, types) in entries {
            types.iter().for_each(|name| chain.add_type(filter, name));
        }
        chain
    }

    fn types(chain: &Chain, name: &str) -> Vec<String> {
        let When::Types(types) = &chain.declared[name].providers[0].when else { panic!() };
        types.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn types_from_further_in_replace_those_of_the_same_filter() {
        let outer = chain(&[("DEFLATE", &["text/plain"]), ("SED", &["text/plain", "text/html"])]);
        let inner = outer.merge(&chain(&[("deflate", &["text/html"])]));
        assert_eq!(types(&inner, "bytype:deflate"), ["text/html"]);
        assert_eq!(types(&inner, "bytype:sed"), ["text/plain", "text/html"]);
        assert_eq!(inner.order.len(), 3);
    }

    #[test]
    fn what_is_further_out_can_be_left_out() {
        let mut inner = chain(&[("SED", &["text/plain"])]);
        inner.resets = true;
        let merged = chain(&[("DEFLATE", &["text/plain"])]).merge(&inner);
        assert_eq!(merged.order, ["bytype:sed".into()]);
    }
}
