//! What is known of URLs before a request for them has gone its way: the answer itself ([`answers`]), or whom to ask for it
//! (`technique::fast`). There is one memory of both ([`urls`]).

pub(crate) mod agents;
pub(crate) mod answers;
pub(crate) mod urls;
