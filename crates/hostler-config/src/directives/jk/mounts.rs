//! `JkMount`, `JkUnMount` and `JkMountFile`: which worker answers for a URL. Of the mounts that fit, the one with the most
//! slashes counts, of those the longest; then a `JkUnMount` for its worker may still say no.

use super::properties::words;
use crate::Origin;
use crate::directives::proxy::parameters::BalancerParameters;
use hostler_expr::{GlobMode, glob_matches};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// The line that a mount comes from; later ones come before others of the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `worker.NAME.mount=`
    Worker,
    /// `JkMount`, `JkUnMount`
    Line,
    /// `JkMountFile`
    File,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// The path that a URL has to have; `*` and `?` stand for anything.
    pub path: Box<str>,
    /// The same as a pattern, if it is one.
    glob: Option<Box<[u8]>>,
    /// `JkUnMount`: URLs that the worker does not answer. `*` is every worker.
    pub excludes: bool,
    /// The worker's name.
    pub worker: Box<str>,
    /// The rule for its responses, after semicolons.
    pub rule: Rule,
    /// Its source.
    pub source: Source,
    /// The virtual host that it stands in; `None`: the main server.
    pub host: Option<Origin>,
    /// The place of the line.
    pub origin: Origin,
}

/// `JkMount /path worker;reply_timeout=60000;...`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// `reply_timeout`
    pub timeout: Option<Duration>,
    /// `use_server_errors`: from which status on answers become this server's own pages.
    pub own_errors: Option<u16>,
    /// `sticky_ignore`, `stateless`: sessions don't count.
    pub ignores_sessions: bool,
    /// `fail_on_status`
    pub fail_on_status: Vec<u16>,
    /// `session_cookie`
    pub cookie: Option<Box<str>>,
    /// `session_path`, without the semicolon that it begins with and the equals sign behind it.
    pub parameter: Option<Box<str>>,
}

impl Mount {
    /// `path` begins with a slash. `worker`: a name, and rules behind semicolons.
    pub(super) fn new(
        path: &str,
        worker: &str,
        (source, host, origin): (Source, Option<Origin>, Origin),
    ) -> Result<Vec<Arc<Self>>, String> {
        let (path, excludes) = path.strip_prefix('!').map_or((path, false), |path| (path, true));
        if !path.starts_with('/') {
            return Err(format!("the path \"{path}\" does not begin with a slash"));
        }
        let mut words = worker.split(';');
        let worker = words.next().unwrap_or_default().trim();
        let rule = Rule::of(words)?;
        let one = |path: String| {
            let glob = path.contains(['*', '?']).then(|| pattern(&path).into());
            let (path, worker, rule) = (path.into(), worker.into(), rule.clone());
            Arc::new(Self { path, glob, excludes, worker, rule, source, host, origin })
        };
        // Both of "/app" and "/app/*".
        Ok(match path.split_once('|') {
            Some((path, more)) => vec![one(path.to_owned()), one([path, more].concat())],
            None => vec![one(path.to_owned())],
        })
    }

    fn fits(&self, path: &[u8]) -> bool {
        match &self.glob {
            Some(glob) => glob_matches(glob, path, GlobMode::Anything),
            None => self.path.as_bytes() == path,
        }
    }

    fn order(&self) -> impl Ord + use<> {
        let slashes = self.path.bytes().filter(|b| *b == b'/').count();
        (Reverse(slashes), Reverse(self.path.len()), Reverse(self.source))
    }
}

/// Escapes the characters of a path that have a meaning in a pattern.
fn pattern(path: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for byte in path.bytes() {
        if matches!(byte, b'[' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

/// The most specific first; of several with the same path the one said last.
pub(super) fn sort(mounts: &mut Vec<Arc<Mount>>) {
    let mut kept: Vec<Arc<Mount>> = Vec::with_capacity(mounts.len());
    for mount in mounts.drain(..) {
        let is_same = |one: &Arc<Mount>| {
            one.path == mount.path && one.excludes == mount.excludes && one.source == mount.source
        };
        match kept.iter_mut().find(|one| is_same(one)) {
            Some(one) => *one = mount,
            None => kept.push(mount),
        }
    }
    kept.sort_by_key(|mount| mount.order());
    *mounts = kept;
}

/// The mount that counts for a path, which is decoded and has neither parameters nor repeated slashes.
#[must_use]
pub fn find<'m>(mounts: &'m [Arc<Mount>], path: &[u8]) -> Option<&'m Arc<Mount>> {
    let found = mounts.iter().find(|mount| !mount.excludes && mount.fits(path))?;
    let refuses = |mount: &&Arc<Mount>| {
        mount.excludes && (*mount.worker == *"*" || mount.worker == found.worker) && mount.fits(path)
    };
    (!mounts.iter().any(|mount| refuses(&mount))).then_some(found)
}

impl Rule {
    fn of<'w>(words: impl Iterator<Item = &'w str>) -> Result<Self, String> {
        let mut rule = Self::default();
        let mut words = words.map(str::trim).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "reply_timeout" => {
                    rule.timeout = value.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis);
                }
                "use_server_errors" => {
                    rule.own_errors = value.parse().ok().filter(|status| *status > 0);
                }
                "sticky_ignore" | "stateless" => {
                    rule.ignores_sessions |= value.parse().is_ok_and(|n: i32| n != 0);
                }
                "fail_on_status" => rule.fail_on_status = statuses(value)?,
                "session_cookie" => rule.cookie = Some(value.into()),
                // It may begin with the semicolon that separates rules.
                "session_path" if value.is_empty() => {
                    rule.parameter = words.next().map(|word| word.trim_end_matches('=').into());
                }
                "session_path" => rule.parameter = Some(value.trim_end_matches('=').into()),
                "active" | "disabled" | "stopped" | "set_session_cookie" | "session_cookie_path" => {
                    return Err(format!(
                        "{name}= after a worker is not supported: settings of a worker's members apply to all its mounts"
                    ));
                }
                _ => return Err(crate::unknown("mount rule", name, &[])),
            }
        }
        Ok(rule)
    }
}

impl Rule {
    /// Applies its changes to the choice of a member.
    pub fn apply(&self, parameters: &mut BalancerParameters) {
        if self.ignores_sessions {
            parameters.sticky = None;
        }
        if let Some((cookie, parameter)) = &mut parameters.sticky {
            self.cookie.iter().for_each(|own| cookie.clone_from(own));
            self.parameter.iter().for_each(|own| parameter.clone_from(own));
        }
    }
}

/// Statuses after which a member is left alone; negative ones are those after which it is not.
pub(super) fn statuses(value: &str) -> Result<Vec<u16>, String> {
    let status = |word: &str| {
        let number = word.parse::<u16>().ok().filter(|status| (100..=599).contains(status));
        number.ok_or_else(|| format!("\"{word}\" is not a status from 100 to 599"))
    };
    words(value).filter(|word| !word.starts_with('-')).map(status).collect()
}
