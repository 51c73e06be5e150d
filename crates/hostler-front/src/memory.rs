//! What is known of URLs before a request for them has gone its way: the answer itself ([`answers`]), whom to ask for it
//! (`technique::fast`), or what its handler begins with ([`handlers`]). There is one memory of all ([`urls`]).

pub(crate) mod agents;
pub(crate) mod answers;
pub(crate) mod handlers;
pub(crate) mod urls;
