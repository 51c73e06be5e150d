//! mod_filter: what is remembered of answers that go through filters. The chain itself is [`crate::hook::filter`]'s.

use crate::hook::filter;
use crate::hook::registry::Module;
use crate::request::Request;
use hostler_config::directives::filter::harness::When;

pub(crate) static MODULE: Module = Module::new("filter", has_say);

/// Filters whose answers from memory are as good: their codings have a class in the key, or they are parts of pages that
/// say so themselves.
const PLAIN: [&[u8]; 4] = [b"DEFLATE", b"BROTLI_COMPRESS", b"INCLUDES", b"RATE_LIMIT"];

/// Returns whether any filter may have something to say that is not the same for everybody, or a condition has to be
/// asked.
fn has_say(request: &Request) -> bool {
    if !filter::are_any(request) {
        return false;
    }
    let mut providers =
        request.resource.dir.filter.chain.in_order().flatten().flat_map(|harness| &harness.providers);
    let is_plain = |name: &[u8]| PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(name));
    providers.any(|provider| matches!(provider.when, When::Condition(_)))
        || filter::names(request).iter().any(|name| !is_plain(name))
}
