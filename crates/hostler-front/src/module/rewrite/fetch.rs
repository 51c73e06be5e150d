//! Values that rules wait for: files, sub-requests, maps. Each is fetched once for a request's rules in one place.

use super::maps;
use super::view::View;
use crate::hook::walk;
use crate::limits::budget;
use crate::request::flow::{Continue, Halt};
use crate::request::{FileEntry, Request};
use hostler_expr::{Answer, FileTest, Question};
use hostler_rewrite::{Ahead, Host, LookupResult, Need, Place, Variable, escape};
use std::borrow::Cow;
use std::collections::HashMap;

/// A note on a sub-request: the path of the one whose rules want to know about it.
const AHEAD_OF: &str = "rewrite-ahead-of";

/// The rules' map look-ups, with their results.
type MapAnswers = HashMap<(Box<str>, Vec<u8>), Option<Vec<u8>>>;

/// A variable's value in a sub-request for a path.
struct Seen {
    how: Ahead,
    path: Vec<u8>,
    variable: Variable,
    value: Option<Vec<u8>>,
}

/// Answers for rules.
#[derive(Default)]
pub(super) struct Fetched {
    subrequests: HashMap<(Ahead, Vec<u8>), Option<LookupResult>>,
    ahead: Vec<Seen>,
    maps: MapAnswers,
}

impl Fetched {
    pub(super) fn subrequest(&self, how: Ahead, target: &[u8]) -> Answer<Option<LookupResult>> {
        self.subrequests.get(&(how, target.to_vec())).map_or(Answer::Pending, |it| Answer::Ready(it.clone()))
    }

    pub(super) fn look_ahead(
        &self,
        how: Ahead,
        path: &[u8],
        variable: &Variable,
    ) -> Answer<Option<Cow<'_, [u8]>>> {
        let known = self.ahead.iter().find(|it| it.how == how && it.path == path && it.variable == *variable);
        known.map_or(Answer::Pending, |seen| Answer::Ready(seen.value.as_deref().map(Cow::Borrowed)))
    }

    pub(super) fn map(&self, map: &str, key: &[u8]) -> Answer<Option<Cow<'_, [u8]>>> {
        let known = self.maps.get(&(Box::from(map), key.to_vec()));
        known.map_or(Answer::Pending, |value| Answer::Ready(value.as_deref().map(Cow::Borrowed)))
    }
}

/// Answers that are kept for one request; more of them are a mistake.
const MOST: usize = 10_000;

impl View<'_> {
    /// Fetches what is needed for the rule of this place.
    pub(super) async fn fetch(&mut self, need: Need, place: Option<&Place>) -> Continue {
        let kept = self.fetched.subrequests.len() + self.fetched.ahead.len() + self.fetched.maps.len();
        if kept > MOST {
            self.error("rules look for too much");
            return Err(Halt::Status(500));
        }
        match need {
            Need::Turn => {}
            Need::File(path) => self.host.fetch(&Question::File(FileTest::Exists, path)).await,
            Need::Expression(question) => self.host.fetch(&question).await,
            Need::Subrequest(how, target) => {
                let looked = sub(self.host.request, how, &target).await;
                let looked = looked.map(|(sub, phase)| looked_up(how, &sub, &phase));
                self.fetched.subrequests.insert((how, target), looked);
            }
            Need::Ahead(how, path, variable) => {
                let target = if how == Ahead::Uri { escape(&path) } else { path.clone() };
                let value = match sub(self.host.request, how, &target).await {
                    Some((mut sub, _)) => value(&mut sub, &variable),
                    None => None,
                };
                self.fetched.ahead.push(Seen { how, path, variable: *variable, value });
            }
            Need::Map(name, key) => {
                let value = maps::value(self.host.request, &name, self.maps.get(&name), &key).await?;
                self.fetched.maps.insert((name, key), value);
            }
        }
        budget::turn_at(self.host.request, place).await
    }
}

/// Looks up a URL or a file; `None` if that would be a question about the very question that is asked.
async fn sub(request: &Request, how: Ahead, target: &[u8]) -> Option<(Request, Continue)> {
    let same =
        request.is_sub() && request.notes.find(AHEAD_OF).is_some_and(|uri| **uri == *request.target.uri);
    if same {
        return None;
    }
    let note = |sub: &mut Request| sub.notes.set(AHEAD_OF, request.target.uri.clone());
    Some(match how {
        Ahead::Uri => Box::pin(walk::look_up_noted(request, target, note)).await,
        Ahead::File => Box::pin(walk::look_up_file_noted(request, target, note)).await,
    })
}

fn looked_up(how: Ahead, sub: &Request, phase: &Continue) -> LookupResult {
    let slash = sub.resource.found.is_directory()
        && !sub.resource.filename.ends_with(b"/")
        && sub.resource.dir.dir.redirects_to_slash();
    let status = match phase {
        // mod_dir would redirect to the name with a slash.
        Ok(()) if how == Ahead::File && slash => 301,
        Ok(()) | Err(Halt::Redirect { .. } | Halt::Done(_)) => 200,
        Err(Halt::Status(status)) => *status,
    };
    LookupResult {
        status,
        filename: sub.resource.filename.clone(),
        exists: !matches!(sub.resource.found, FileEntry::Nothing),
    }
}

/// A variable's value in a request that was looked up.
fn value(sub: &mut Request, variable: &Variable) -> Option<Vec<u8>> {
    let none = hostler_rewrite::Maps::default();
    let view = View::new(sub, &none);
    let value = match variable {
        Variable::Filename => Some(view.filename().into()),
        Variable::Query => view.query().map(Cow::Borrowed),
        Variable::PathInfo => Some(view.path_info().into()),
        Variable::ServerAddress => view.server_address(),
        Variable::Core(core) => view.variable(*core),
        Variable::Header(name) => view.header(name),
        Variable::Env(name) => view.env(name),
        Variable::Ssl(name) => view.ssl_variable(name),
        // A look ahead of a look ahead is not made.
        Variable::Ahead(..) | Variable::Unknown => None,
    };
    Some(value.map_or_else(Vec::new, Cow::into_owned))
}
