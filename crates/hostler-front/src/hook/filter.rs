//! The chain of filters that an answer goes through: those that a configuration names (SetOutputFilter, AddOutputFilter,
//! mod_filter), and those that modules add, in Apache's order. What each of them does is its module's business; what a
//! declared one does is found out when the answer has come as far.
//!
//! **Diagnostics**: under `filter`. A filter that is nobody's is an answer of 500: it may have been there to take
//! something out.

use crate::hook::plan::plan;
use crate::hook::registry::{Name, Output};
use crate::io::body::Body;
use crate::log::{self, Severity};
use crate::request::{Request, expr_host};
use bytes::Bytes;
use hostler_config::directives::filter::harness::{Harness, Provider, When};
use hostler_config::directives::filter::{self, Rank, Way};
use hostler_expr::Captures;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The ranks of filters that change the content.
pub(crate) const RESOURCE: RangeInclusive<Rank> = 0..=filter::CONTENT_SET - 1;
/// The ranks of all others.
pub(crate) const CONTENT: RangeInclusive<Rank> = filter::CONTENT_SET..=Rank::MAX;

/// A link of the chain.
enum Link {
    /// A filter of this name.
    Named(Bytes),
    /// One that is declared.
    Declared(Arc<Harness>),
}

/// Returns whether filters by media type see the answer: mod_filter leaves alone what is no 200, unless
/// `filter-errordocs` is set. (A 304 stands for a 200 that the client has.)
fn are_by_type(request: &Request) -> bool {
    matches!(request.reply.status, 200 | 304) || request.env.contains("filter-errordocs")
}

/// Returns whether any filter has a say in the answer.
pub(crate) fn are_any(request: &Request) -> bool {
    !request.reply.filters.is_empty()
        || request.resource.dir.core.output_filters.as_ref().is_some_and(|names| !names.is_empty())
        || request.resource.dir.perl.output_filters.as_ref().is_some_and(|names| !names.is_empty())
        || !request.resource.dir.filter.chain.order.is_empty()
        || added(request).next().is_some()
}

/// The filters that modules add.
fn added(request: &Request) -> impl Iterator<Item = (&'static str, Rank)> {
    plan().outputs().filter_map(move |output| match output.name {
        Name::Added(name, rank, when) => when(request).then_some((name, rank)),
        _ => None,
    })
}

/// Returns whether the configuration names a filter for answers that a module would add: it is in the chain once.
pub(crate) fn is_named(request: &Request, filter: &str) -> bool {
    let mut configured = request.resource.dir.core.output_filters.iter().flatten();
    request.reply.filters.iter().any(|name| name.eq_ignore_ascii_case(filter.as_bytes()))
        || configured.any(|name| name.eq_ignore_ascii_case(filter))
}

/// The chain in its order.
fn chain(request: &Request) -> Vec<(Rank, Link)> {
    let dir = &request.resource.dir;
    let of_core = dir.core.output_filters.iter().flatten().map(|name| lower(name));
    let of_perl = dir.perl.output_filters.iter().flatten().map(|name| lower(name));
    let named = request.reply.filters.iter().cloned().chain(of_core).chain(of_perl);
    let named = named.map(|name| (rank_of(request, &name), Link::Named(name)));
    let declared = request.resource.dir.filter.chain.in_order().map(|found| match found {
        Ok(harness) => (harness.rank, Link::Declared(harness.clone())),
        Err(name) => (filter::RESOURCE, Link::Named(Bytes::copy_from_slice(name.as_bytes()))),
    });
    let added = added(request).map(|(name, rank)| (rank, Link::Named(Bytes::from_static(name.as_bytes()))));
    let mut all: Vec<_> = named.chain(declared).chain(added).collect();
    all.sort_by_key(|(rank, _)| *rank);
    all
}

fn lower(name: &str) -> Bytes {
    name.to_ascii_lowercase().into()
}

fn rank_of(request: &Request, name: &[u8]) -> Rank {
    let of_module = |output: &Output| match output.name {
        Name::Of(rank) => rank(request, name),
        _ => None,
    };
    let own = std::str::from_utf8(name).ok().and_then(|name| filter::rank(Way::Output, name));
    own.or_else(|| plan().outputs().find_map(of_module)).unwrap_or(filter::RESOURCE)
}

/// The names of all filters that may see the answer, in their order; which of those do that depend on conditions is not
/// known yet.
pub(crate) fn names(request: &Request) -> Vec<Bytes> {
    let mut names = Vec::new();
    for (_, link) in chain(request) {
        match link {
            Link::Named(name) => names.push(name),
            Link::Declared(harness) if are_by_type(request) => {
                let fits = |provider: &&Provider| match &provider.when {
                    When::Types(types) => is_of_type(request, types),
                    When::Condition(_) => true,
                };
                let found = harness.providers.iter().filter(fits);
                names.extend(found.map(|provider| Bytes::copy_from_slice(provider.filter.as_bytes())));
            }
            Link::Declared(_) => {}
        }
    }
    names
}

/// Returns whether a filter of this name may see the answer.
pub(crate) fn may_see(request: &Request, name: &[u8]) -> bool {
    are_any(request) && names(request).iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns whether the filter of this name is the first to see the answer, whatever is found out on the way.
pub(crate) fn is_first(request: &Request, name: &[u8]) -> bool {
    match chain(request).first() {
        Some((_, Link::Named(first))) => first.eq_ignore_ascii_case(name),
        Some((_, Link::Declared(harness))) if are_by_type(request) => {
            let [Provider { filter, when: When::Types(types) }] = &harness.providers[..] else {
                return false;
            };
            filter.as_bytes().eq_ignore_ascii_case(name) && is_of_type(request, types)
        }
        _ => false,
    }
}

/// Returns whether a filter of this name is in the chain, whatever it would be asked about the answer.
pub(crate) fn is_in_chain(request: &Request, name: &[u8]) -> bool {
    are_any(request)
        && chain(request).iter().any(|(_, link)| match link {
            Link::Named(known) => known.eq_ignore_ascii_case(name),
            Link::Declared(harness) => {
                harness.providers.iter().any(|provider| provider.filter.as_bytes().eq_ignore_ascii_case(name))
            }
        })
}

/// The body as the filters that stand there leave it.
pub(crate) async fn run(request: &mut Request, mut body: Body, ranks: RangeInclusive<Rank>) -> Body {
    if !are_any(request) || matches!(body, Body::Tunnel(_)) {
        return body;
    }
    let chain = chain(request);
    if chain.len() > filter::MOST {
        return failed(
            request,
            "filter",
            &format!("there are more than {} filters, so nothing is sent", filter::MOST),
        );
    }
    for (_, link) in chain.into_iter().filter(|(rank, _)| ranks.contains(rank)) {
        let name = match link {
            Link::Named(name) => name,
            Link::Declared(harness) => match provided(request, &harness).await {
                Some(name) => name,
                None => continue,
            },
        };
        let Some(output) = output_of(request, &name) else {
            let name = String::from_utf8_lossy(&name).into_owned();
            return failed(request, "filter", &format!("there is no filter {name}, so nothing is sent"));
        };
        if output.sees_bodiless || !matches!(request.reply.status, 100..200 | 204 | 304) {
            log::request(request, Severity::Trace4, "filter", &name);
            body = (output.run)(request, body, name).await;
        }
        if request.budget.has_failed() {
            return Body::Empty;
        }
    }
    body
}

fn output_of(request: &Request, name: &[u8]) -> Option<&'static Output> {
    plan().outputs().find(|output| match output.name {
        Name::Own(own) => own.as_bytes().eq_ignore_ascii_case(name),
        Name::Added(own, ..) => own.as_bytes() == name,
        Name::Of(rank) => rank(request, name).is_some(),
    })
}

/// An answer that must not go out as it is.
pub(crate) fn failed(request: &Request, module: &'static str, why: &str) -> Body {
    log::request(request, Severity::Error, module, why);
    request.budget.fail();
    Body::Empty
}

/// Returns the filter that a declared one selects for this response, if any.
async fn provided(request: &mut Request, harness: &Harness) -> Option<Bytes> {
    if !are_by_type(request) {
        return None;
    }
    for provider in &harness.providers {
        let fits = match &provider.when {
            When::Types(types) => is_of_type(request, types),
            When::Condition(condition) => {
                match expr_host::test(request, condition, &mut Captures::new()).await {
                    Ok(holds) => holds,
                    Err(error) => {
                        let why =
                            format!("the condition of {} can't be carried out: {error}", provider.filter);
                        failed(request, "filter", &why);
                        return None;
                    }
                }
            }
        };
        if fits {
            return Some(Bytes::copy_from_slice(provider.filter.as_bytes()));
        }
    }
    None
}

/// Quirk(apache): what is in front of a parameter has to be the type as it is written, in its case.
fn is_of_type(request: &Request, types: &[Box<str>]) -> bool {
    let Some(kind) = &request.resource.content_type else { return false };
    let end = kind.iter().position(|byte| b"; \t".contains(byte)).unwrap_or(kind.len());
    types.iter().any(|known| known.as_bytes() == &kind[..end])
}
