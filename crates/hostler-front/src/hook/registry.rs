//! A module's registration: hooks in phases, handlers, and functions for other occasions. Everything is a table of
//! functions that is known when the front starts; nothing is registered while it runs.

use crate::hook::phases::Phase;
use crate::io::body::Body;
use crate::request::Request;
use crate::request::flow::{Halt, Outcome};
use crate::request::thread::Thread;
use bytes::Bytes;
use hostler_config::directives::filter::Rank;
use hostler_wire::plan::SiteId;
use serde_bytes::ByteBuf;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// Something that has to be waited for.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A hook's effect on the request's further way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It may halt the request, or change what it maps to.
    Decides,
    /// In [`Phase::Access`]: it may refuse, and `Satisfy Any` lets a login get around that.
    Satisfiable,
    /// It notes something (a variable, a field), and halts for want of time or memory only.
    Notes,
}

/// The kind of function of a hook.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    Now(fn(&mut Request) -> Outcome),
    Later(for<'a> fn(&'a mut Request) -> Later<'a, Outcome>),
}

/// A function in a phase.
pub(crate) struct Hook {
    pub(crate) phase: Phase,
    /// Modules whose hooks in this phase come before it.
    pub(crate) after: &'static [&'static str],
    /// Modules whose hooks in this phase come after it.
    pub(crate) before: &'static [&'static str],
    /// True if it has anything to say about a request. Pure, cheap, and asked when the phase comes to it: what applies
    /// to the request may have changed since the phase before.
    pub(crate) when: fn(&Request) -> bool,
    pub(crate) effect: Effect,
    pub(crate) run: Run,
}

/// A handler (`SetHandler`, `AddHandler`), or what makes the answer for a media type.
pub(crate) struct Handler {
    pub(crate) names: &'static [&'static str],
    /// Media types that mean the first of the names, where no handler is named.
    pub(crate) types: &'static [&'static [u8]],
    /// True if this row is meant; a later one with the same name is, if it isn't.
    pub(crate) when: fn(&Request) -> bool,
    /// It runs the phases that its module has put off ([`Settle`]) itself.
    pub(crate) settles: bool,
    pub(crate) run: for<'a> fn(&'a mut Request) -> Later<'a, Result<Body, Halt>>,
}

/// When a filter sees an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It makes other content of it.
    Resource,
    /// It changes how the content is described or coded.
    Content,
    /// It changes what of it is sent, and when.
    Transfer,
}

impl Stage {
    pub(crate) const ALL: [Self; 3] = [Self::Resource, Self::Content, Self::Transfer];
}

/// The kind of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The handler's.
    Content,
    /// The page of an error status: fields of a content are not its own.
    Error,
}

/// The kind of function of a filter.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Now(fn(&mut Request, Body) -> Body),
    Later(for<'a> fn(&'a mut Request, Body, Answer) -> Later<'a, Body>),
}

/// A change of a response between handler and client.
pub(crate) struct Filter {
    pub(crate) stage: Stage,
    /// Modules whose filters of this stage come before it.
    pub(crate) after: &'static [&'static str],
    /// True if it sees pages of errors too.
    pub(crate) sees_errors: bool,
    /// True if it has anything to do; pure and cheap.
    pub(crate) when: fn(&Request) -> bool,
    pub(crate) run: Change,
}

/// The names of a filter.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// The name that configurations give it.
    Own(&'static str),
    /// It is in the chain where this holds, and nobody names it.
    Added(&'static str, Rank, fn(&Request) -> bool),
    /// Names that are in the configuration, in lower case; where the filter stands.
    Of(fn(&Request, &[u8]) -> Option<Rank>),
}

/// A filter for answers that configurations name ([`crate::hook::filter`]).
pub(crate) struct Output {
    pub(crate) name: Name,
    /// True if it sees answers without a body, such as 304.
    pub(crate) sees_bodiless: bool,
    pub(crate) run: for<'a> fn(&'a mut Request, Body, Bytes) -> Later<'a, Body>,
}

/// A filter for requests that configurations name ([`crate::hook::input`]).
pub(crate) struct Input {
    pub(crate) name: Name,
    pub(crate) run: for<'a> fn(&'a mut Request, Bytes) -> Later<'a, Result<(), Halt>>,
}

/// A module may put its functions off until its handler runs, if nothing of another module can come between
/// ([`crate::hook::plan::Plan::is_clear_to_handler`]). If another handler answers after all, they are run before it.
pub(crate) struct Settle {
    /// True if something was put off, or is kept for the handler.
    pub(crate) when: fn(&Request) -> bool,
    pub(crate) run: for<'a> fn(&'a mut Request) -> Later<'a, Result<(), Halt>>,
}

/// The fate of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerFate {
    /// Bytes of the body that was sent, or after HEAD would have been.
    pub(crate) bytes: u64,
    /// The announced length.
    pub(crate) length: Option<u64>,
}

/// A function that answers a question of the rules about users (`AuthBasicProvider`, `Require`), in Apache's numbers.
pub(crate) type Provider = for<'a> fn(&'a mut Request, &'a [&'a [u8]]) -> Later<'a, Result<u16, Halt>>;

/// The question to a script that knows users (`AuthBasicProvider`, `AuthDigestProvider`, `Require`).
#[derive(Clone, Copy)]
pub(crate) enum AboutUser<'a> {
    /// True if this is the user's password.
    Password(&'a [u8]),
    /// The digest of the user's password in this realm.
    Digest(&'a [u8]),
    /// The groups that the user is in.
    Groups,
}

/// Its answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OfUser {
    /// There is no such user.
    Unknown,
    /// The password is another.
    Wrong,
    /// The password is right; the user may have another name from now on.
    Right(Option<Bytes>),
    Digest(Bytes),
    Groups(Vec<Bytes>),
    /// It could not tell, and the log says why.
    Failed,
}

/// Asks such a script of the site's about a user.
pub(crate) type Knows =
    for<'a> fn(&'a mut Request, &'a [u8], AboutUser<'a>) -> Later<'a, Result<OfUser, Halt>>;

/// Makes a program ready that a site had running with the front before this one: that one, where both may have it, or one
/// that is started with the same arguments. The arguments come from a tenant's process.
pub(crate) type Resumes = fn(Rc<Thread>, SiteId, Vec<ByteBuf>) -> Later<'static, ()>;

/// Returns the forms that an entity tag may have taken for a client.
pub(crate) type ChangedTags = fn(&Request, &[u8]) -> Vec<Vec<u8>>;

/// A module.
pub(crate) struct Module {
    /// As in Apache, without `mod_`.
    pub(crate) name: &'static str,
    pub(crate) hooks: &'static [Hook],
    pub(crate) handlers: &'static [Handler],
    /// Answers for handlers of techniques that no module answers for ([`hostler_config::technique::Plain`]).
    pub(crate) rows: Option<Handler>,
    pub(crate) filters: &'static [Filter],
    pub(crate) outputs: &'static [Output],
    pub(crate) inputs: &'static [Input],
    /// Its hooks run a site's programs; sub-requests that only look at a file do without them.
    pub(crate) asks_programs: bool,
    /// True if it has a say in a request that an answer from memory would pass over. There is no default.
    pub(crate) has_say: fn(&Request) -> bool,
    /// The same, where a file's answer is kept as it was sent; `None`: as `has_say`.
    pub(crate) has_say_in_kept: Option<fn(&Request) -> bool>,
    /// The same, where only the phases before the handler are passed over; `None`: as `has_say`, if it has hooks.
    pub(crate) has_say_before_handler: Option<fn(&Request) -> bool>,
    pub(crate) settle: Option<Settle>,
    /// Lets go of what it keeps for the request's further phases: another handler answers, or nobody does.
    pub(crate) release: Option<fn(&Request)>,
    pub(crate) provider: Option<Provider>,
    pub(crate) knows_users: Option<Knows>,
    /// True if it makes something else of the request's file, so that the file's own tag does not tell what is sent.
    pub(crate) remakes: Option<fn(&Request) -> bool>,
    /// Returns the forms that an entity tag may have taken on the response's way to this client, which it then sends
    /// back.
    pub(crate) changed_tags: Option<ChangedTags>,
    /// The path of a program that listens, and the function that makes it ready in a new front.
    pub(crate) resumes: Option<(&'static [u8], Resumes)>,
    /// The answer was sent, or has broken off, and is going to be logged.
    pub(crate) before_log: Option<fn(&mut Request)>,
    /// It was logged.
    pub(crate) cleanup: Option<fn(Request, AnswerFate)>,
}

impl Module {
    /// One that does nothing yet, and says of itself what it has a say in.
    pub(crate) const fn new(name: &'static str, has_say: fn(&Request) -> bool) -> Self {
        Self {
            name,
            hooks: &[],
            handlers: &[],
            rows: None,
            filters: &[],
            outputs: &[],
            inputs: &[],
            asks_programs: false,
            has_say,
            has_say_in_kept: None,
            has_say_before_handler: None,
            settle: None,
            release: None,
            provider: None,
            knows_users: None,
            remakes: None,
            changed_tags: None,
            resumes: None,
            before_log: None,
            cleanup: None,
        }
    }
}
