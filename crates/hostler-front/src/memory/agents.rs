//! Classes of clients by their User-Agent, for the fast path: two clients are of one class if the same
//! `BrowserMatch` rules outside of sections match them. What is remembered for a class then holds for all of it.
//! (Debian's configuration has a dozen such rules, about browsers of the nineties.)

use crate::limits::budget;
use crate::request::thread::Thread;
use hashbrown::HashMap;
use hostler_config::directives::setenvif::Rule;
use hostler_config::{Config, Server};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::Arc;

/// Names remembered; beyond this all are forgotten.
const MOST_NAMES: usize = 4096;
/// Longest name that is remembered, in bytes.
const LONGEST: usize = 512;
/// Most rules, and most classes: a configuration with more has no fast path.
const MOST_RULES: usize = 256;
const MOST_CLASSES: usize = 4096;

/// The classes that a thread has met.
struct Agents {
    /// All rules about the User-Agent, each once, of all virtual hosts that have only such rules.
    rules: Vec<Arc<Rule>>,
    names: HashMap<Box<[u8]>, u16, foldhash::fast::RandomState>,
    /// By the rules that match.
    classes: HashMap<Matches, u16, foldhash::fast::RandomState>,
}

type Matches = SmallVec<[u16; 4]>;

/// A thread's, once it has met the first client.
type Met = RefCell<Option<Agents>>;

/// The class of a client; `None`: it has none, and takes the slow path.
pub(super) fn class(thread: &Thread, agent: &[u8]) -> Option<u16> {
    let met = thread.of::<Met>();
    let mut met = met.borrow_mut();
    met.get_or_insert_with(|| Agents::new(&thread.shared.config)).class(agent)
}

impl Agents {
    fn new(config: &Config) -> Self {
        let mut rules: Vec<Arc<Rule>> = Vec::new();
        let mut seen = hashbrown::HashSet::new();
        for rule in config.servers.iter().filter(|s| are_alone(s)).flat_map(|s| &s.conf.setenvif.rules) {
            if seen.insert(Arc::as_ptr(rule)) {
                rules.push(rule.clone());
            }
        }
        Self { rules, names: HashMap::default(), classes: HashMap::default() }
    }

    fn class(&mut self, agent: &[u8]) -> Option<u16> {
        if self.rules.is_empty() {
            return Some(0);
        }
        if let Some(class) = self.names.get(agent) {
            return Some(*class);
        }
        if agent.len() > LONGEST || self.rules.len() > MOST_RULES {
            return None;
        }
        let mut matches = Matches::new();
        for (rule, at) in self.rules.iter().zip(0..) {
            if budget::alone(budget::DEFAULT, || rule.matches_agent(agent))? {
                matches.push(at);
            }
        }
        let next = u16::try_from(self.classes.len()).ok().filter(|&n| usize::from(n) < MOST_CLASSES);
        let class = match self.classes.get(&matches) {
            Some(class) => *class,
            None => *self.classes.entry(matches).or_insert(next?),
        };
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        self.names.insert(agent.into(), class);
        Some(class)
    }
}

/// Returns whether the class of a client tells all that SetEnvIf and its kin outside of sections do for a virtual host.
pub(crate) fn are_alone(server: &Server) -> bool {
    server.conf.setenvif.rules.iter().all(|rule| rule.is_about_agent())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(text: &str) -> Agents {
        Agents::new(&Config::build(&hostler_config::read_text(text, "/srv").unwrap()).unwrap())
    }

    #[test]
    fn clients_that_the_same_rules_match_are_alike() {
        let mut agents = agents("BrowserMatch ^A a\nBrowserMatchNoCase b !a b=2\nSetEnvIf User-Agent C c");
        let mut class = |name: &str| agents.class(name.as_bytes()).unwrap();
        let (none, first, both) = (class("x"), class("A"), class("AB"));
        assert_eq!((class(""), class("Ax"), class("Abb")), (none, first, both));
        assert!(none != first && first != both && both != class("B") && class("C") != none);
    }

    #[test]
    fn rules_about_other_things_leave_no_classes() {
        for text in [
            "SetEnvIf Request_URI x y",
            "BrowserMatch ^(.) first=$1",
            "SetEnvIfExpr true x",
            "SetEnvIf Referer x y",
        ] {
            let config = Config::build(
                &hostler_config::read_text(&format!("BrowserMatch x y\n{text}"), "/srv").unwrap(),
            );
            assert!(!are_alone(config.unwrap().main()), "{text}");
        }
    }
}
