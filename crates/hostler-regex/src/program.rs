//! A compiled pattern, and the calls of PCRE2 that make one, match with it and free it.

use crate::effort;
use crate::matcher::{self, MatchResult, PAIRS};
use pcre2_sys as sys;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The options for compiling a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Letters match in either case.
    pub ignore_case: bool,
    /// A dot matches a line break too.
    pub dot_all: bool,
    /// `$` matches at the very end only.
    pub dollar_end_only: bool,
    /// White space and comments in the pattern are ignored.
    pub extended: bool,
}

impl Flags {
    fn bits(self) -> u32 {
        [
            (true, sys::PCRE2_AUTO_CALLOUT | sys::PCRE2_DUPNAMES),
            (self.ignore_case, sys::PCRE2_CASELESS),
            (self.dot_all, sys::PCRE2_DOTALL),
            (self.dollar_end_only, sys::PCRE2_DOLLAR_ENDONLY),
            (self.extended, sys::PCRE2_EXTENDED),
        ]
        .into_iter()
        .filter_map(|(on, bit)| on.then_some(bit))
        .fold(0, |bits, bit| bits | bit)
    }
}

/// Why a pattern does not compile, or a match was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// PCRE2's reason.
    Pcre(String),
    /// The watch has refused more time, see [`effort::Verdict::Enough`].
    Exhausted,
    /// The time slice ended in the middle of the match, see [`effort::resumable`].
    Postponed,
}

impl From<effort::Exhausted> for Failure {
    fn from(_: effort::Exhausted) -> Self {
        Self::Exhausted
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pcre(reason) => f.write_str(reason),
            Self::Exhausted => effort::Exhausted.fmt(f),
            Self::Postponed => f.write_str("it is postponed"),
        }
    }
}

impl std::error::Error for Failure {}

/// Matches after which machine code for a pattern is worth its time and memory.
const OFTEN: u32 = 32;

/// A compiled pattern is translated to machine code only if it is no larger, in bytes.
const SMALL: usize = 4 << 10;

/// Machine code of all patterns together, in bytes; beyond it they are interpreted.
const MOST_MACHINE_CODE: usize = 32 << 20;
static MACHINE_CODE: AtomicUsize = AtomicUsize::new(0);

/// The cost of compiling a pattern, and of each of its bytes.
const COMPILE: usize = 2000;
const COMPILE_BYTE: usize = 50;
/// The cost of translating each byte of a compiled pattern.
const TRANSLATE: usize = 100;

/// A compiled pattern.
#[derive(Debug)]
pub struct Program {
    code: Code,
    pattern: Box<[u8]>,
    flags: Flags,
    matches: AtomicU32,
    /// The same as machine code, once it was matched often.
    fast: OnceLock<Option<Code>>,
}

impl Program {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// PCRE2's reason, without a position.
    pub fn new(pattern: &[u8], flags: Flags) -> Result<Self, Failure> {
        let price = COMPILE + COMPILE_BYTE * pattern.len();
        effort::spend(price)?;
        let code = Code::new(pattern, flags)?;
        let (matches, fast) = (AtomicU32::new(0), OnceLock::new());
        let program = Self { code, pattern: pattern.into(), flags, matches, fast };
        effort::has_compiled(program.size());
        Ok(program)
    }

    /// Groups in brackets, without the whole match.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.code.number(sys::PCRE2_INFO_CAPTURECOUNT) as usize
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        let fast = self.fast.get().and_then(Option::as_ref);
        let fast = fast.map_or(0, |code| code.size() + code.bytes(sys::PCRE2_INFO_JITSIZE));
        size_of::<Self>() + self.pattern.len() + self.code.size() + fast
    }

    /// Names of groups with their numbers; several groups may have one name.
    #[must_use]
    pub fn names(&self) -> Vec<(String, usize)> {
        self.code.names()
    }

    /// Looks for the first match, and hands the ranges of its groups to `use_groups`: `None` for a group that took no
    /// part. Returns whether there was one.
    ///
    /// # Errors
    /// When the match was given up.
    pub fn find(
        &self,
        subject: &[u8],
        use_groups: impl FnOnce(&mut dyn Iterator<Item = Option<(usize, usize)>>),
    ) -> Result<bool, Failure> {
        effort::spend(100 + subject.len())?;
        if self.matches.fetch_add(1, Ordering::Relaxed) == OFTEN {
            self.translate();
        }
        matcher::with(|matcher| {
            let fast = self.fast.get().and_then(Option::as_ref);
            let mut result = matcher.run(fast.unwrap_or(&self.code), subject);
            if result == MatchResult::Code(sys::PCRE2_ERROR_JIT_STACKLIMIT) {
                result = matcher.run(&self.code, subject);
            }
            match result {
                MatchResult::Exhausted => Err(Failure::Exhausted),
                MatchResult::Postponed => Err(Failure::Postponed),
                MatchResult::Code(sys::PCRE2_ERROR_NOMATCH) => Ok(false),
                MatchResult::Code(error) if error < 0 => Err(Failure::Pcre(message(error))),
                MatchResult::Code(found) => {
                    let count = (self.group_count() + 1).min(PAIRS as usize);
                    // 0: there were more groups than are reported.
                    let known = if found == 0 { count } else { found as usize };
                    use_groups(&mut matcher.groups(known.min(count)));
                    Ok(true)
                }
            }
        })
    }

    /// Translates the pattern to machine code, as is done for one that is used often: a match that takes long is worth it
    /// the first time.
    pub fn translate(&self) {
        self.fast.get_or_init(|| self.machine_code());
    }

    /// The pattern and its flags.
    #[must_use]
    pub fn parts(&self) -> (&[u8], Flags) {
        (&self.pattern, self.flags)
    }

    fn machine_code(&self) -> Option<Code> {
        if self.code.size() > SMALL || MACHINE_CODE.load(Ordering::Relaxed) > MOST_MACHINE_CODE {
            return None;
        }
        effort::spend(COMPILE + TRANSLATE * self.code.size()).ok()?;
        let code = Code::new(&self.pattern, self.flags).ok()?;
        if !code.translate() {
            return None;
        }
        MACHINE_CODE.fetch_add(code.bytes(sys::PCRE2_INFO_JITSIZE), Ordering::Relaxed);
        Some(code)
    }
}

/// PCRE2's program.
#[derive(Debug)]
pub(crate) struct Code(pub(crate) NonNull<sys::pcre2_code_8>);

// SAFETY: PCRE2 changes a program only when it is compiled or translated, which `Code`'s maker does before anybody else
// has it; matching reads it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        MACHINE_CODE.fetch_sub(self.bytes(sys::PCRE2_INFO_JITSIZE), Ordering::Relaxed);
        // SAFETY: the program is ours alone and was not freed before.
        unsafe { sys::pcre2_code_free_8(self.0.as_ptr()) }
    }
}

impl Code {
    fn new(pattern: &[u8], flags: Flags) -> Result<Self, Failure> {
        let (mut error, mut offset) = (0, 0);
        // SAFETY: the pattern is `len` readable bytes, and PCRE2 keeps none of the pointers.
        let code = unsafe {
            sys::pcre2_compile_8(
                pattern.as_ptr(),
                pattern.len(),
                flags.bits(),
                &mut error,
                &mut offset,
                null_mut(),
            )
        };
        NonNull::new(code).map(Self).ok_or_else(|| Failure::Pcre(message(error)))
    }

    /// Translates to machine code; false where PCRE2 can't.
    fn translate(&self) -> bool {
        // SAFETY: nobody else has the program yet.
        unsafe { sys::pcre2_jit_compile_8(self.0.as_ptr(), sys::PCRE2_JIT_COMPLETE) == 0 }
    }

    fn number(&self, what: u32) -> u32 {
        let mut value: u32 = 0;
        // SAFETY: the callers ask for what PCRE2 gives as a 32-bit number.
        unsafe { sys::pcre2_pattern_info_8(self.0.as_ptr(), what, (&raw mut value).cast::<c_void>()) };
        value
    }

    fn bytes(&self, what: u32) -> usize {
        let mut value: usize = 0;
        // SAFETY: the callers ask for what PCRE2 gives as a `size_t`.
        unsafe { sys::pcre2_pattern_info_8(self.0.as_ptr(), what, (&raw mut value).cast::<c_void>()) };
        value
    }

    fn size(&self) -> usize {
        self.bytes(sys::PCRE2_INFO_SIZE)
    }

    fn names(&self) -> Vec<(String, usize)> {
        let count = self.number(sys::PCRE2_INFO_NAMECOUNT) as usize;
        let width = self.number(sys::PCRE2_INFO_NAMEENTRYSIZE) as usize;
        if count == 0 || width < 3 {
            return Vec::new();
        }
        let mut table: *const u8 = std::ptr::null();
        // SAFETY: the table is given as a pointer into the program.
        unsafe {
            sys::pcre2_pattern_info_8(
                self.0.as_ptr(),
                sys::PCRE2_INFO_NAMETABLE,
                (&raw mut table).cast::<c_void>(),
            )
        };
        if table.is_null() {
            return Vec::new();
        }
        // SAFETY: it has `count` entries of `width` bytes, and lives as long as the program, which we borrow.
        let table = unsafe { std::slice::from_raw_parts(table, count * width) };
        let entry = |entry: &[u8]| {
            let number = usize::from(u16::from_be_bytes([entry[0], entry[1]]));
            let name = entry[2..].split(|byte| *byte == 0).next().unwrap_or_default();
            (String::from_utf8_lossy(name).into_owned(), number)
        };
        table.chunks_exact(width).map(entry).collect()
    }
}

fn message(code: i32) -> String {
    let mut text = [0_u8; 256];
    // SAFETY: the buffer has as many writable bytes as we say; PCRE2 ends what it writes with a NUL.
    unsafe { sys::pcre2_get_error_message_8(code, text.as_mut_ptr(), text.len()) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::Verdict;
    use std::cell::Cell;

    thread_local! {
        static ROUNDS: Cell<u32> = const { Cell::new(0) };
    }

    fn groups(program: &Program, subject: &str) -> Option<Vec<Option<(usize, usize)>>> {
        let mut groups = Vec::new();
        program.find(subject.as_bytes(), |found| groups.extend(found)).unwrap().then_some(groups)
    }

    #[test]
    fn groups_are_the_same_in_both_forms() {
        let program = Program::new(b"(a)|(?<n>b)(c)?", Flags::default()).unwrap();
        for _ in 0..2 * OFTEN {
            assert_eq!(groups(&program, "xb"), Some(vec![Some((1, 2)), None, Some((1, 2))]));
            assert_eq!(groups(&program, "x"), None);
        }
        assert!(program.fast.get().is_some());
        assert_eq!((program.group_count(), program.names()), (3, vec![("n".to_owned(), 2)]));
    }

    #[test]
    fn more_groups_than_are_reported() {
        let program = Program::new("(a)".repeat(200).as_bytes(), Flags::default()).unwrap();
        assert_eq!(groups(&program, &"a".repeat(200)).unwrap().len(), PAIRS as usize);
    }

    #[test]
    fn a_long_match_is_postponed_only_where_it_can_be_resumed() {
        effort::watch_with(|| {
            ROUNDS.set(ROUNDS.get() + 1);
            if ROUNDS.get() < 100 { Verdict::Later } else { Verdict::Enough }
        });
        let text = vec![b'a'; 8000];
        let program = Program::new(b"[a-z]*[a-z]*[a-z]*[@!]", Flags::default()).unwrap();
        let look = || {
            ROUNDS.set(0);
            program.find(&text, |_| {})
        };
        for _ in 0..2 * OFTEN {
            assert_eq!(effort::resumable(look), Err(Failure::Postponed));
            assert!(ROUNDS.get() >= 10, "what is short is finished at once");
            assert_eq!(look(), Err(Failure::Exhausted));
        }
    }

    #[test]
    fn patterns_that_look_at_everything_again_and_again_are_interrupted() {
        effort::watch_with(|| {
            ROUNDS.set(ROUNDS.get() + 1);
            if ROUNDS.get() < 50 { Verdict::GoOn } else { Verdict::Enough }
        });
        let text = vec![b'a'; 8000];
        for pattern in
            ["[a-z]*[a-z]*[a-z]*[@!]", "(?:[a-z]*+)[@!]", "(?:a|a)*[bc]", "(a+)+[bc]", "(?=(a*))\\1[bc]"]
        {
            let program = Program::new(pattern.as_bytes(), Flags::default()).unwrap();
            for _ in 0..2 * OFTEN {
                ROUNDS.set(0);
                let result = program.find(&text, |_| {});
                assert!(result.is_err(), "{pattern}: {result:?}");
            }
        }
    }

    #[test]
    fn what_does_not_compile_says_why() {
        let error = Program::new(b"a(", Flags::default()).unwrap_err();
        assert_eq!(error.to_string(), "missing closing parenthesis");
    }
}
