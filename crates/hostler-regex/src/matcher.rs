//! Matching: PCRE2's context and room for groups, one of each for a thread, and the callout that ends what takes too long.

use crate::effort;
use crate::program::Code;
use pcre2_sys as sys;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

/// Limits of one match, as PCRE2 knows them. Time is [`effort`]'s, so PCRE2 need not count steps.
const STEPS: u32 = u32::MAX;
const DEPTH: u32 = 50_000;
/// In kibibytes. A thread keeps what its largest match has needed.
const HEAP: u32 = 8_000;

/// Groups that a match reports, the whole match included.
pub(crate) const PAIRS: u32 = 128;

/// PCRE2 calls it at each item of a pattern; the first argument says where it is.
type Callout = extern "C" fn(*mut c_void, *mut c_void) -> i32;

// Of PCRE2's functions this one is missing in `pcre2-sys`, which links the library.
unsafe extern "C" {
    fn pcre2_set_callout_8(
        context: *mut sys::pcre2_match_context_8,
        callout: Option<Callout>,
        data: *mut c_void,
    ) -> i32;
}

thread_local! {
    static MATCHER: RefCell<Matcher> = RefCell::new(Matcher::new());
}

/// Matches with what this thread has for it.
pub(crate) fn with<T>(work: impl FnOnce(&mut Matcher) -> T) -> T {
    MATCHER.with_borrow_mut(work)
}

/// The objects that a thread needs for matching: a match context, and room for groups.
pub(crate) struct Matcher {
    context: NonNull<sys::pcre2_match_context_8>,
    data: NonNull<sys::pcre2_match_data_8>,
}

impl Drop for Matcher {
    fn drop(&mut self) {
        // SAFETY: both are ours alone and were not freed before.
        unsafe {
            sys::pcre2_match_data_free_8(self.data.as_ptr());
            sys::pcre2_match_context_free_8(self.context.as_ptr());
        }
    }
}

/// A match that has spent less than this is not postponed, however late it is: to carry it out later costs more.
const WORTH_POSTPONING: usize = 10 * effort::ROUND as usize;

/// The state of one match that its callouts share.
struct MatchWatch {
    /// Spent at each callout: a step may look at every byte of the subject.
    price: usize,
    /// Callouts that there may still be, whatever the watch says.
    left: u64,
    spent: usize,
    is_postponed: bool,
}

/// PCRE2's result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchResult {
    /// A number of groups, or one of PCRE2's negative errors.
    Code(i32),
    /// The watch has refused more time.
    Exhausted,
    /// The time slice ended in the middle of the match, see [`effort::resumable`].
    Postponed,
}

impl Matcher {
    fn new() -> Self {
        // SAFETY: without a general context PCRE2 uses malloc.
        let (context, data) = unsafe {
            (sys::pcre2_match_context_create_8(null_mut()), sys::pcre2_match_data_create_8(PAIRS, null_mut()))
        };
        let (Some(context), Some(data)) = (NonNull::new(context), NonNull::new(data)) else {
            // As everywhere in Rust: without memory there is nothing to go on with.
            std::process::abort()
        };
        // SAFETY: the context is valid.
        unsafe {
            sys::pcre2_set_match_limit_8(context.as_ptr(), STEPS);
            sys::pcre2_set_depth_limit_8(context.as_ptr(), DEPTH);
            sys::pcre2_set_heap_limit_8(context.as_ptr(), HEAP);
        }
        Self { context, data }
    }

    /// Looks for the first match.
    pub(crate) fn run(&mut self, code: &Code, subject: &[u8]) -> MatchResult {
        let mut watched = MatchWatch {
            price: 5 + subject.len() / 8,
            left: effort::longest_match(),
            spent: 0,
            is_postponed: false,
        };
        // SAFETY: context and room for groups are ours, the subject is `len` readable bytes, and `watched`, which only
        // `callout` uses, outlives the call. No callout matches anything itself, so `data` is used once at a time.
        let result = unsafe {
            let data = (&raw mut watched).cast::<c_void>();
            pcre2_set_callout_8(self.context.as_ptr(), Some(callout), data);
            sys::pcre2_match_8(
                code.0.as_ptr(),
                subject.as_ptr(),
                subject.len(),
                0,
                0,
                self.data.as_ptr(),
                self.context.as_ptr(),
            )
        };
        match result {
            sys::PCRE2_ERROR_CALLOUT if watched.is_postponed => MatchResult::Postponed,
            sys::PCRE2_ERROR_CALLOUT => MatchResult::Exhausted,
            code => MatchResult::Code(code),
        }
    }

    /// The first groups of the last match.
    pub(crate) fn groups(&self, count: usize) -> impl Iterator<Item = Option<(usize, usize)>> + '_ {
        // SAFETY: the vector has two numbers for each of `PAIRS` groups, and stays until the next match.
        let pairs = unsafe {
            let vector = sys::pcre2_get_ovector_pointer_8(self.data.as_ptr());
            std::slice::from_raw_parts(vector, 2 * count.min(PAIRS as usize))
        };
        // A lookbehind with \K may put the end before the start.
        pairs
            .chunks_exact(2)
            .map(|pair| (pair[0] != usize::MAX && pair[0] <= pair[1]).then_some((pair[0], pair[1])))
    }
}

/// Called by PCRE2 before each item of the pattern.
extern "C" fn callout(_: *mut c_void, data: *mut c_void) -> i32 {
    // SAFETY: `Matcher::run` gives the address of its `MatchWatch`, which nobody else uses meanwhile.
    let watched = unsafe { &mut *data.cast::<MatchWatch>() };
    watched.left -= 1;
    watched.spent = watched.spent.saturating_add(watched.price);
    if watched.left == 0 || effort::spend(watched.price).is_err() {
        return sys::PCRE2_ERROR_CALLOUT;
    }
    watched.is_postponed = watched.spent > WORTH_POSTPONING && effort::is_overdue();
    if watched.is_postponed { sys::PCRE2_ERROR_CALLOUT } else { 0 }
}
