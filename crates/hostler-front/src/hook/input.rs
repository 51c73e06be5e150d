//! The chain of filters that a request's body goes through on its way to the handler: those that a configuration names
//! (SetInputFilter, AddInputFilter), and those that modules add, in Apache's order.
//!
//! **Diagnostics**: under `filter`. A filter that is nobody's is 500.

use crate::hook::plan::plan;
use crate::hook::registry::{Input, Name};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Continue, Halt};
use crate::request::slots::{Relation, State};
use bytes::Bytes;
use hostler_config::directives::filter::{self, Rank, Way};
use hostler_config::directives::mime;

/// The body goes through its filters already; who goes on in the request's place gets it as they leave it.
#[derive(Clone, Copy)]
struct FilterMark;

impl State for FilterMark {
    fn copy(&self) -> Box<dyn State> {
        Box::new(*self)
    }

    fn related(&self, _: &Request, relation: Relation) -> Option<Box<dyn State>> {
        (relation == Relation::Redirect).then(|| self.copy())
    }
}

/// Puts the filters between the body and the handler.
pub(crate) async fn apply(request: &mut Request) -> Continue {
    if request.target.body.is_empty() || request.target.body.again().is_some() || request.is_part() {
        return Ok(());
    }
    let names = names(request);
    if names.is_empty() || request.slots.find::<FilterMark>().is_some() {
        return Ok(());
    }
    request.slots.put(FilterMark);
    if names.len() > filter::MOST {
        let message = format!("there are more than {} filters, so the body is not passed on", filter::MOST);
        log::request(request, Severity::Error, "filter", &message);
        return Err(Halt::Status(500));
    }
    // What comes from the client meets the last one first.
    for (_, name) in names.into_iter().rev() {
        let Some(input) = input_of(request, &name) else {
            let name = String::from_utf8_lossy(&name);
            let message = format!("there is no filter {name} for requests, so the body is not passed on");
            log::request(request, Severity::Error, "filter", &message);
            return Err(Halt::Status(500));
        };
        (input.run)(request, name).await?;
    }
    // How long it will be is not known; programs are told what the client has said, as by Apache.
    if request.resource.handler.as_deref().is_some_and(|name| name.starts_with(b"proxy")) {
        request.target.headers_in.unset("Content-Length");
    }
    Ok(())
}

/// The filters in their order, from the handler to the client.
fn names(request: &Request) -> Vec<(Rank, Bytes)> {
    let dir = &request.resource.dir;
    let mut names: Vec<Bytes> = Vec::new();
    if dir.mime.extensions.values().any(|extension| extension.input_filters.is_some()) {
        let types = request.server.conf.mime.types();
        let facts = mime::check(request.basename(), &request.resource.path_info, &dir.mime, types);
        names.extend(facts.input_filters.iter().map(|name| lower(name)));
    }
    names.extend(dir.core.input_filters.iter().flatten().map(|name| lower(name)));
    names.extend(dir.perl.input_filters.iter().flatten().map(|name| lower(name)));
    let named = names.into_iter().map(|name| (rank_of(request, &name), name));
    let added = plan().inputs().filter_map(|input| match input.name {
        Name::Added(name, rank, when) => when(request).then(|| (rank, Bytes::from_static(name.as_bytes()))),
        _ => None,
    });
    let mut all: Vec<_> = named.chain(added).collect();
    all.sort_by_key(|(rank, _)| *rank);
    all
}

fn lower(name: &str) -> Bytes {
    name.to_ascii_lowercase().into()
}

fn rank_of(request: &Request, name: &[u8]) -> Rank {
    let of_module = |input: &Input| match input.name {
        Name::Of(rank) => rank(request, name),
        _ => None,
    };
    let own = std::str::from_utf8(name).ok().and_then(|name| filter::rank(Way::Input, name));
    own.or_else(|| plan().inputs().find_map(of_module)).unwrap_or(filter::RESOURCE)
}

fn input_of(request: &Request, name: &[u8]) -> Option<&'static Input> {
    plan().inputs().find(|input| match input.name {
        Name::Own(own) => own.as_bytes().eq_ignore_ascii_case(name),
        Name::Added(own, ..) => own.as_bytes() == name,
        Name::Of(rank) => rank(request, name).is_some(),
    })
}
