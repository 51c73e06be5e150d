//! The hooks of all modules in the order in which they run, made once when the front starts.
//!
//! Inside a phase the order follows from the names of modules that each hook comes after or before. Two hooks whose
//! order nobody tells are a mistake, and the front does not start: an order that depends on lists of modules would
//! change when a module comes. `docs/phases.md` shows the result.

use crate::hook::phases::Phase;
use crate::hook::registry::{
    AboutUser, Answer, AnswerFate, Change, Effect, Filter, Handler, Hook, Input, Module, OfUser, Output,
    Resumes, Run, Stage,
};
use crate::io::body::Body;
use crate::limits::watch::{Place, Return};
use crate::request::Request;
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use hostler_config::directives::reach;
use hostler_config::technique;
use std::sync::OnceLock;

/// A hook, and whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    module: &'static Module,
    hook: &'static Hook,
}

impl Entry {
    /// Returns the place at which the watch finds a request that waits for it.
    fn place(self) -> Place {
        let module = self.module;
        Place { step: self.hook.phase.name(), module: module.name, is_timed: module.asks_programs }
    }
}

/// The order of all hooks.
pub(crate) struct Plan {
    modules: &'static [&'static Module],
    /// By phase.
    entries: [Vec<Entry>; Phase::ALL.len()],
    /// By stage.
    sieves: [Vec<Sieve>; Stage::ALL.len()],
}

static PLAN: OnceLock<Plan> = OnceLock::new();

/// Makes the plan of the front.
///
/// # Errors
/// A sentence about hooks that contradict each other, or whose order nobody tells.
pub(crate) fn install(modules: &'static [&'static Module]) -> Result<(), String> {
    let plan = Plan::new(modules)?;
    PLAN.get_or_init(|| plan);
    Ok(())
}

/// The plan of the front.
pub(crate) fn plan() -> &'static Plan {
    // Without modules nothing would guard anything.
    PLAN.get().expect("modules are installed before there are threads")
}

impl Plan {
    /// The plan of these modules.
    pub(crate) fn new(modules: &'static [&'static Module]) -> Result<Self, String> {
        let mut entries: [Vec<Entry>; Phase::ALL.len()] = Default::default();
        for phase in Phase::ALL {
            let all =
                modules.iter().flat_map(|module| module.hooks.iter().map(move |hook| Entry { module, hook }));
            entries[phase as usize] =
                sorted(&phase, all.filter(|entry| entry.hook.phase == phase).collect())?;
        }
        let mut sieves: [Vec<Sieve>; Stage::ALL.len()] = Default::default();
        for stage in Stage::ALL {
            let all = modules
                .iter()
                .flat_map(|module| module.filters.iter().map(move |filter| Sieve { module, filter }));
            sieves[stage as usize] =
                sorted(&stage, all.filter(|sieve| sieve.filter.stage == stage).collect())?;
        }
        Ok(Self { modules, entries, sieves })
    }

    fn of(&self, phase: Phase) -> &[Entry] {
        &self.entries[phase as usize]
    }

    /// The phase's modules in order.
    pub(crate) fn names(&self, phase: Phase) -> Vec<&'static str> {
        self.of(phase).iter().map(|entry| entry.module.name).collect()
    }

    /// The stage's modules in order.
    #[cfg(test)]
    pub(crate) fn filters(&self, stage: Stage) -> Vec<&'static str> {
        self.sieves[stage as usize].iter().map(|sieve| sieve.module.name).collect()
    }

    /// Returns whether any hook of this phase that decides something has something to say.
    pub(crate) fn decides(&self, phase: Phase, request: &Request) -> bool {
        let deciding = self.of(phase).iter().filter(|entry| entry.hook.effect != Effect::Notes);
        deciding.into_iter().any(|entry| (entry.hook.when)(request))
    }

    /// Returns whether no other module's hook can come between this one's functions, from the header parser to the
    /// handler.
    pub(crate) fn is_clear_to_handler(&self, module: &str, request: &Request) -> bool {
        let others = Phase::ALL[Phase::HeaderParser as usize..].iter().flat_map(|phase| self.of(*phase));
        others
            .filter(|entry| entry.module.name != module && entry.hook.effect != Effect::Notes)
            // These are run only where a hook of AccessEx has something to say.
            .filter(|entry| !matches!(entry.hook.phase, Phase::Authn | Phase::Authz))
            .all(|entry| !(entry.hook.when)(request))
    }

    /// Returns whether a module but this one has a say in the request that an answer from memory would pass over.
    pub(crate) fn another_has_say(&self, but: &str, request: &Request) -> bool {
        self.modules.iter().any(|module| module.name != but && (module.has_say)(request))
    }

    /// The same, where the answer is kept as it was sent.
    pub(crate) fn any_has_say_in_kept(&self, request: &Request) -> bool {
        self.modules.iter().any(|module| module.has_say_in_kept.unwrap_or(module.has_say)(request))
    }

    /// The same, where only the phases before the handler are passed over.
    pub(crate) fn another_has_say_before_handler(&self, but: &str, request: &Request) -> bool {
        self.modules.iter().filter(|module| module.name != but && !module.hooks.is_empty()).any(|module| {
            let has_say = module.has_say_before_handler.unwrap_or(module.has_say);
            has_say(request)
        })
    }

    /// The same as [`Self::another_has_say`], of modules that ask programs of the site's.
    pub(crate) fn a_program_has_say(&self, request: &Request) -> bool {
        self.modules.iter().any(|module| module.asks_programs && (module.has_say)(request))
    }

    /// The handler of this name.
    pub(crate) fn handler(&self, name: &[u8], request: &Request) -> Option<&'static Handler> {
        let proxied = std::str::from_utf8(name).ok().and_then(reach::proxied);
        let is_named = |handler: &Handler| match proxied {
            None => handler.names.iter().any(|own| own.as_bytes() == name),
            // Whatever program they name, the protocol tells whose they are.
            Some((_, scheme)) => {
                let of_scheme = |own: &&str| {
                    own.strip_prefix("proxy:").is_some_and(|own| own.eq_ignore_ascii_case(scheme))
                };
                handler.names.iter().any(of_scheme)
            }
        };
        let handler = self.handlers().find(|handler| is_named(handler) && (handler.when)(request));
        handler.or_else(|| self.handler_of_row(name))
    }

    /// Returns the handler of a technique without a module.
    fn handler_of_row(&self, name: &[u8]) -> Option<&'static Handler> {
        technique::of_handler(name).filter(|row| row.plain.is_some())?;
        let modules: &'static [&'static Module] = self.modules;
        modules.iter().find_map(|module| module.rows.as_ref())
    }

    /// The filters for answers that configurations name.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &'static Output> + use<> {
        let modules: &'static [&'static Module] = self.modules;
        modules.iter().flat_map(|module| module.outputs)
    }

    /// The filters for requests that configurations name.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &'static Input> + use<> {
        let modules: &'static [&'static Module] = self.modules;
        modules.iter().flat_map(|module| module.inputs)
    }

    /// The name of the handler for a media type.
    pub(crate) fn handler_of_type(&self, kind: &[u8], request: &Request) -> Option<&'static [u8]> {
        self.handlers()
            .find(|handler| handler.types.contains(&kind) && (handler.when)(request))
            .map(|handler| handler.names[0].as_bytes())
    }

    fn handlers(&self) -> impl Iterator<Item = &'static Handler> + use<> {
        let modules: &'static [&'static Module] = self.modules;
        modules.iter().flat_map(|module| module.handlers)
    }

    /// Lets go of all that modules keep for the request's further phases.
    pub(crate) fn release(&self, request: &Request) {
        self.modules.iter().filter_map(|module| module.release).for_each(|release| release(request));
    }

    /// Returns the function that makes ready a program which the front before this one has started.
    pub(crate) fn resumes(&self, program: &[u8]) -> Option<Resumes> {
        let all = self.modules.iter().filter_map(|module| module.resumes);
        all.filter(|(path, _)| *path == program).map(|(_, resumes)| resumes).next()
    }

    /// Returns whether a module has put something off for its own handler.
    pub(crate) fn is_unsettled(&self, request: &Request) -> bool {
        self.modules.iter().filter_map(|module| module.settle.as_ref()).any(|settle| (settle.when)(request))
    }

    /// Runs what modules have put off for their own handlers: another one answers.
    pub(crate) async fn settle(&self, request: &mut Request) -> Continue {
        for settle in self.modules.iter().filter_map(|module| module.settle.as_ref()) {
            if (settle.when)(request) {
                (settle.run)(request).await?;
            }
        }
        Ok(())
    }

    /// Asks a function of the site's about a user.
    pub(crate) async fn ask_provider(&self, request: &mut Request, texts: &[&[u8]]) -> Result<u16, Halt> {
        let _back = at_a_program(request);
        match self.modules.iter().find_map(|module| module.provider) {
            Some(provider) => provider(request, texts).await,
            None => Err(Halt::Status(500)),
        }
    }

    /// Asks a script of the site's about a user.
    pub(crate) async fn ask_script(
        &self,
        request: &mut Request,
        user: &[u8],
        about: AboutUser<'_>,
    ) -> Result<OfUser, Halt> {
        let _back = at_a_program(request);
        match self.modules.iter().find_map(|module| module.knows_users) {
            Some(knows) => knows(request, user, about).await,
            None => Err(Halt::Status(500)),
        }
    }

    /// Returns whether a module makes something else of the request's file.
    pub(crate) fn remakes(&self, request: &Request) -> bool {
        self.modules.iter().filter_map(|module| module.remakes).any(|remakes| remakes(request))
    }

    /// Returns the forms into which modules may have changed an entity tag.
    pub(crate) fn changed_tags(&self, request: &Request, etag: &[u8]) -> Vec<Vec<u8>> {
        self.modules
            .iter()
            .filter_map(|module| module.changed_tags)
            .flat_map(|tags| tags(request, etag))
            .collect()
    }

    /// Tells modules that the request is going to be logged.
    pub(crate) fn before_log(&self, request: &mut Request) {
        self.modules.iter().filter_map(|module| module.before_log).for_each(|told| told(request));
    }

    /// Tells modules that the request was logged.
    pub(crate) fn cleanup(&self, request: Request, finished: AnswerFate) {
        let mut all = self.modules.iter().filter_map(|module| module.cleanup).peekable();
        while let Some(cleanup) = all.next() {
            if all.peek().is_none() {
                return cleanup(request, finished);
            }
            cleanup(request.clone(), finished);
        }
    }
}

/// A program of the site's is asked, which has its own time.
fn at_a_program(request: &Request) -> Return {
    let back = Return::to_here(&request.budget);
    request.budget.watched.enter(Place { is_timed: true, ..request.budget.watched.place() });
    back
}

/// The hooks of a phase that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// The hooks of modules that ask none of the site's programs.
    Own,
    /// In [`Phase::Access`]: those whose refusal nothing gets around.
    Strict,
    /// In [`Phase::Access`]: the others.
    Satisfiable,
}

impl Which {
    fn has(self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Own => !entry.module.asks_programs,
            Self::Strict => entry.hook.effect != Effect::Satisfiable,
            Self::Satisfiable => entry.hook.effect == Effect::Satisfiable,
        }
    }
}

/// Runs a phase: its hooks in order, until one halts, or says OK where that ends the phase.
pub(crate) async fn run(phase: Phase, request: &mut Request) -> Outcome {
    run_some(phase, request, Which::All).await
}

/// Runs some hooks of a phase.
pub(crate) async fn run_some(phase: Phase, request: &mut Request, which: Which) -> Outcome {
    for entry in plan().of(phase) {
        if !which.has(entry) || !(entry.hook.when)(request) {
            continue;
        }
        let flow = match entry.hook.run {
            Run::Now(run) => run(request)?,
            Run::Later(run) => {
                request.budget.watched.enter(entry.place());
                run(request).await?
            }
        };
        if flow == Flow::Ok && phase.ends_with_ok() {
            return Ok(Flow::Ok);
        }
    }
    Ok(Flow::Declined)
}

/// Runs the filters of a stage.
pub(crate) async fn change(stage: Stage, request: &mut Request, mut body: Body, answer: Answer) -> Body {
    for sieve in &plan().sieves[stage as usize] {
        let filter = sieve.filter;
        if (answer == Answer::Error && !filter.sees_errors) || !(filter.when)(request) {
            continue;
        }
        body = match filter.run {
            Change::Now(run) => run(request, body),
            Change::Later(run) => run(request, body, answer).await,
        };
    }
    body
}

/// Something that has a place among others of its kind.
trait Ranked: Copy {
    fn module(self) -> &'static Module;
    fn after(self) -> &'static [&'static str];
    fn before(self) -> &'static [&'static str];

    /// Returns whether it has to come before the other.
    fn precedes(self, other: Self) -> bool {
        !std::ptr::eq(self.module(), other.module())
            && (other.after().contains(&self.module().name) || self.before().contains(&other.module().name))
    }
}

impl Ranked for Entry {
    fn module(self) -> &'static Module {
        self.module
    }

    fn after(self) -> &'static [&'static str] {
        self.hook.after
    }

    fn before(self) -> &'static [&'static str] {
        self.hook.before
    }
}

/// A filter, and whose it is.
#[derive(Clone, Copy)]
struct Sieve {
    module: &'static Module,
    filter: &'static Filter,
}

impl Ranked for Sieve {
    fn module(self) -> &'static Module {
        self.module
    }

    fn after(self) -> &'static [&'static str] {
        self.filter.after
    }

    fn before(self) -> &'static [&'static str] {
        &[]
    }
}

/// The one order that these permit.
fn sorted<T: Ranked>(kind: &impl std::fmt::Debug, mut left: Vec<T>) -> Result<Vec<T>, String> {
    let mut done: Vec<T> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let mut free = (0..left.len()).filter(|n| !left.iter().any(|other| other.precedes(left[*n])));
        let next = free.next().ok_or_else(|| {
            let names: Vec<_> = left.iter().map(|entry| entry.module().name).collect();
            format!("{kind:?}: these want to come before each other: {}", names.join(", "))
        })?;
        if let Some(other) = free.next() {
            let (one, other) = (left[next].module().name, left[other].module().name);
            return Err(format!("{kind:?}: nobody tells whether {one} or {other} comes first"));
        }
        done.push(left.remove(next));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hook(after: &'static [&'static str], before: &'static [&'static str]) -> Hook {
        let (phase, effect) = (Phase::Fixup, Effect::Decides);
        Hook { phase, after, before, when: |_| true, effect, run: Run::Now(|_| Ok(Flow::Ok)) }
    }

    macro_rules! module {
        ($name:ident, $after:expr, $before:expr) => {
            static $name: Module =
                Module { hooks: &[hook($after, $before)], ..Module::new(stringify!($name), |_| false) };
        };
    }

    module!(FIRST, &[], &["SECOND"]);
    module!(SECOND, &[], &[]);
    module!(THIRD, &["SECOND", "ABSENT"], &[]);
    module!(LOOSE, &["FIRST"], &[]);
    module!(CIRCLE, &["THIRD"], &["FIRST"]);

    fn planned(modules: &[&'static Module]) -> Result<Vec<&'static str>, String> {
        Plan::new(Box::leak(modules.into())).map(|plan| plan.names(Phase::Fixup))
    }

    #[test]
    fn names_make_the_order_and_lists_do_not() {
        let order = Ok(vec!["FIRST", "SECOND", "THIRD"]);
        assert_eq!(planned(&[&THIRD, &SECOND, &FIRST]), order);
        assert_eq!(planned(&[&FIRST, &SECOND, &THIRD]), order);
    }

    #[test]
    fn an_order_that_nobody_tells_is_refused() {
        let why = planned(&[&FIRST, &SECOND, &LOOSE]).unwrap_err();
        assert!(why.contains("SECOND or LOOSE"), "{why}");
    }

    #[test]
    fn hooks_that_contradict_each_other_are_refused() {
        let why = planned(&[&FIRST, &SECOND, &THIRD, &CIRCLE]).unwrap_err();
        assert!(why.contains("before each other"), "{why}");
    }
}
