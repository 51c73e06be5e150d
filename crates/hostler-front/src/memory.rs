//! Knowledge about URLs that lets a request skip its usual way: the response itself ([`answers`]), the worker to ask
//! for it (`technique::fast`), or the handler's input ([`handlers`]). There is one memory of all ([`urls`]).

pub(crate) mod agents;
pub(crate) mod answers;
pub(crate) mod handlers;
pub(crate) mod urls;
