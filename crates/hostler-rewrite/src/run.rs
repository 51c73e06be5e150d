//! A list of rules on one request, in order: chains, skips, rounds and ends.

use crate::cookie;
use crate::evaluate::{Evaluation, Stopped, evaluate, subject};
use crate::expand::{LONGEST, Maps, Stop};
use crate::flags::RuleFlags;
use crate::host::{Explanation, Host, Need};
use crate::rule::{Rule, Rules};
use crate::uri;

/// The outcome of a list of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// No rule has changed the URL.
    #[default]
    Not,
    /// One has.
    Yes,
    /// One has, and the result is not to be escaped (`NE`).
    NoEscape,
    /// The answer is this status.
    Status(u16),
}

/// A request's position in a list of rules. It outlives the waits for values.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    at: usize,
    rounds: u32,
    pub(crate) changed: Outcome,
    /// The status of the redirect that a rule has asked for.
    pub(crate) redirect: Option<u16>,
    /// `PT` has ended the list.
    pub(crate) pass_through: bool,
    /// `P` has ended the list: another server answers for the URL.
    pub(crate) proxy: bool,
    /// `END` has ended the list.
    pub(crate) ended: bool,
    /// A result that named this very server was taken for a local one.
    pub(crate) reduced: bool,
    /// Index of the last rule that has changed the URL.
    pub(crate) last: Option<usize>,
    /// The evaluation of the rule at `at` has stopped in the middle.
    stopped: Option<Stopped>,
    done: bool,
}

impl Progress {
    /// Index of the rule that comes next.
    pub(crate) fn at(&self) -> usize {
        self.at
    }
}

/// The step after a rule.
enum Then {
    Next,
    Skip(usize),
    Again(u32),
    End,
    Status(u16),
}

/// The rules of a server or a directory, on the way.
pub(crate) struct Run<'r> {
    pub(crate) rules: &'r Rules,
    pub(crate) maps: &'r Maps,
    /// The directory of per-directory rules, with a slash at its end.
    pub(crate) directory: Option<&'r str>,
}

impl Run<'_> {
    /// Goes on with the rules until they end or something is needed. What can't be carried out is a 500.
    pub(crate) fn go_on(&self, progress: &mut Progress, host: &mut dyn Host) -> Result<(), Need> {
        let started = progress.at;
        while !progress.done {
            if progress.at > started && progress.stopped.is_none() && host.is_overdue() {
                return Err(Need::Turn);
            }
            let Some((at, rule)) = self.next(progress.at, host) else { break };
            progress.at = at;
            if host.is_subrequest() && (rule.flags.no_subrequest || rule.flags.redirect) {
                progress.at += 1;
                continue;
            }
            let evaluated = match evaluate(rule, self.directory, self.maps, host, &mut progress.stopped) {
                Ok(evaluated) => evaluated,
                Err(Stop::Need(need)) => return Err(need),
                Err(Stop::Failed(why)) => {
                    let place = rule.place();
                    let is_placed = !place.file.is_empty() && why.starts_with(&*place.file);
                    host.error(&if is_placed { why } else { format!("{place}: RewriteRule: {why}") });
                    progress.end(Outcome::Status(500));
                    break;
                }
            };
            self.conclude(progress, rule, evaluated, host);
        }
        progress.done = true;
        Ok(())
    }

    /// The next rule to look at. Rules that can't match are left out, unless somebody wants to see them.
    fn next(&self, from: usize, host: &dyn Host) -> Option<(usize, &Rule)> {
        let list = self.rules.list();
        let at = if host.trace_level() >= 3 || host.is_explained() {
            (from < list.len()).then_some(from)
        } else {
            self.rules.next(from, &subject(host, self.directory, None))
        };
        at.map(|at| (at, &*list[at]))
    }

    fn conclude(&self, progress: &mut Progress, rule: &Rule, mut evaluated: Evaluation, host: &mut dyn Host) {
        for (level, line) in std::mem::take(&mut evaluated.notes.lines) {
            host.trace(level, self.directory, &line);
        }
        let explained = host.is_explained().then(|| Explanation {
            place: rule.place().clone(),
            rule: rule.source().into(),
            input: evaluated.input.clone(),
            why_not: evaluated.why_not.map(|why| why.of(rule)),
            did: String::new(),
        });
        let then = if evaluated.why_not.is_some() {
            Then::Skip(self.rest_of_chain(progress.at))
        } else {
            self.apply(progress, rule, evaluated, host)
        };
        if let Some(mut explained) = explained {
            if explained.why_not.is_none() {
                explained.did = did(progress, rule, &then, host);
            }
            host.explain(explained);
        }
        match then {
            Then::Next => progress.at += 1,
            Then::Skip(count) => progress.at = progress.at.saturating_add(1).saturating_add(count),
            Then::Again(most) => self.again(progress, rule, most, host),
            Then::End => progress.done = true,
            Then::Status(status) => progress.end(Outcome::Status(status)),
        }
    }

    /// Rules after one that does not apply which are chained to it.
    fn rest_of_chain(&self, at: usize) -> usize {
        self.rules.list()[at..].iter().take_while(|rule| rule.flags.chain).count()
    }

    fn again(&self, progress: &mut Progress, rule: &Rule, most: u32, host: &mut dyn Host) {
        progress.rounds += 1;
        // The round that ends here is one of them, and so is the next.
        if progress.rounds + 1 < most {
            progress.at = 0;
            return;
        }
        let uri = String::from_utf8_lossy(host.uri()).into_owned();
        host.error(&format!(
            "RewriteRule '{}' and URI '{uri}' exceeded maximum number of rounds ({most}) via the [N] flag",
            rule.pattern()
        ));
        progress.end(Outcome::Status(500));
    }

    /// Carries out a rule that applies.
    fn apply(
        &self,
        progress: &mut Progress,
        rule: &Rule,
        evaluated: Evaluation,
        host: &mut dyn Host,
    ) -> Then {
        for header in &evaluated.notes.vary {
            host.add_vary(header);
        }
        if evaluated.led_astray {
            host.error("Unsafe URL with %3f URL rewritten without UnsafeAllow3F");
            return Then::Status(403);
        }
        for (name, value) in evaluated.notes.env {
            host.set_env(&name, value);
        }
        if evaluated.cookies.iter().any(|text| !cookie::add(text, host)) {
            return Then::Status(500);
        }
        let flags = &rule.flags;
        if flags.answer {
            self.line(host, 2, |host| {
                let status = format!("forcing responsecode {} for ", flags.status);
                [status.as_bytes(), host.filename()].concat()
            });
            return Then::Status(flags.status);
        }
        let Some(result) = evaluated.result else {
            self.force(evaluated.mime_type, evaluated.handler, host);
            return after(progress, flags, self.directory, host);
        };
        if let Err(status) = self.rewrite(progress, rule, result, host) {
            return Then::Status(status);
        }
        progress.changed = if flags.no_escape { Outcome::NoEscape } else { Outcome::Yes };
        progress.last = Some(progress.at);
        let output = rule.substitution.as_ref().map_or("", |text| text.source());
        self.line(host, 2, |_| format!("setting lastsub to rule with output {output}").into_bytes());
        if progress.redirect.is_none() && !progress.proxy {
            self.force(evaluated.mime_type, evaluated.handler, host);
        }
        if flags.pass_through {
            self.line(host, 2, |host| {
                let until = b"' to get passed through to next API URI-to-filename handler";
                [b"forcing '", host.filename(), until].concat()
            });
            progress.changed = Outcome::Yes;
            progress.pass_through = true;
            return Then::End;
        }
        after(progress, flags, self.directory, host)
    }

    /// Puts a substitution's result in the URL's place.
    fn rewrite(
        &self,
        progress: &mut Progress,
        rule: &Rule,
        mut result: Vec<u8>,
        host: &mut dyn Host,
    ) -> Result<(), u16> {
        let flags = &rule.flags;
        if result.first() != Some(&b'/') && uri::scheme(&result).is_none() {
            if let Some(directory) = self.directory {
                let whole = [directory.as_bytes(), &result].concat();
                self.line(host, 3, |_| [b"add per-dir prefix: ", &result[..], b" -> ", &whole].concat());
                result = whole;
            } else if !flags.redirect {
                let whole = [b"/", &result[..]].concat();
                self.line(host, 3, |_| [b"add root prefix: ", &result[..], b" -> ", &whole].concat());
                result = whole;
            }
        }
        if result.len() > LONGEST || result.contains(&0) {
            host.error("a rule's result is too long, or has a NUL in it");
            return Err(500);
        }
        if self.directory.is_some() && flags.discard_path_info {
            host.discard_path_info();
        }
        self.split_query(result, flags, host)?;
        if flags.proxy {
            self.proxy(flags, host);
            progress.proxy = true;
            return Ok(());
        }
        if flags.redirect {
            self.qualify(host);
            self.line(host, 2, |host| [b"explicitly forcing redirect with ", host.filename()].concat());
            progress.redirect = Some(flags.status);
            return Ok(());
        }
        self.reduce(progress, host);
        if uri::scheme(host.filename()).is_some() {
            self.line(host, 2, |host| {
                let redirect = format!("implicitly forcing redirect (rc={} with ", flags.status);
                [redirect.as_bytes(), host.filename()].concat()
            });
            progress.redirect = Some(flags.status);
        }
        Ok(())
    }

    /// Makes the URL of another server of the result. In a directory it is escaped here: nobody does it later.
    fn proxy(&self, flags: &RuleFlags, host: &mut dyn Host) {
        if self.directory.is_some() && !flags.no_escape {
            let old = host.filename().to_vec();
            let start = uri::scheme(&old).map_or(0, |(length, _)| length);
            let escaped = [&old[..start], &uri::escape(&old[start..])].concat();
            self.line(host, 2, |_| {
                [b"escaped URI in per-dir context for proxy, ", &old[..], b" -> ", &escaped].concat()
            });
            host.set_filename(escaped);
        }
        self.qualify(host);
        self.line(host, 2, |host| [b"forcing proxy-throughput with ", host.filename()].concat());
    }

    /// Moves the part of a result after `?` to the query (`QSA`, `QSD`, `QSL`).
    fn split_query(&self, result: Vec<u8>, flags: &RuleFlags, host: &mut dyn Host) -> Result<(), u16> {
        if flags.query_none {
            self.line_of_server(host, 2, |_| b"discarding query string, no parse from substitution".to_vec());
            host.set_query(None);
            host.set_filename(result);
            return Ok(());
        }
        if uri::scheme(&result).is_some_and(|(_, queries)| !queries) {
            host.set_query(None);
            host.set_filename(result);
            return Ok(());
        }
        if flags.query_discard {
            host.set_query(None);
            self.line_of_server(host, 2, |_| b"discarding query string".to_vec());
        }
        let mark =
            if flags.query_last { memchr::memrchr(b'?', &result) } else { memchr::memchr(b'?', &result) };
        let Some(mark) = mark else {
            host.set_filename(result);
            return Ok(());
        };
        let (path, query) = (result[..mark].to_vec(), &result[mark + 1..]);
        let mut query = match host.query().filter(|_| flags.query_append) {
            Some(old) if query.is_empty() => old.to_vec(),
            Some(old) if !old.is_empty() => [query, b"&", old].concat(),
            _ => query.to_vec(),
        };
        if query.last() == Some(&b'&') {
            query.pop();
        }
        if query.len() > LONGEST {
            host.error("a rule makes a query that is too long");
            return Err(500);
        }
        let query = Some(query).filter(|query| !query.is_empty());
        self.line_of_server(host, 3, |_| {
            let args = query.as_deref().unwrap_or(b"<none>");
            [b"split uri=", &result[..], b" -> uri=", &path, b", args=", args].concat()
        });
        host.set_query(query);
        host.set_filename(path);
        Ok(())
    }

    /// Makes an absolute URL of a path.
    fn qualify(&self, host: &mut dyn Host) {
        if uri::scheme(host.filename()).is_some() {
            return;
        }
        let slash: &[u8] = if host.filename().first() == Some(&b'/') { b"" } else { b"/" };
        let url = [&host.own_url()[..], slash, host.filename()].concat();
        host.set_filename(url);
    }

    /// Makes a path of an absolute URL that names this server.
    fn reduce(&self, progress: &mut Progress, host: &mut dyn Host) {
        let Some(path) = own_path(host) else { return };
        self.line_of_server(host, 3, |host| [b"reduce ", host.filename(), b" -> ", &path].concat());
        host.set_filename(path);
        progress.reduced = true;
    }

    /// Type and handler that a rule forces.
    fn force(&self, mime_type: Option<Vec<u8>>, handler: Option<Vec<u8>>, host: &mut dyn Host) {
        if let Some(mime_type) = mime_type.filter(|value| !value.is_empty()) {
            self.line(host, 2, |host| {
                [b"remember ", host.filename(), b" to have MIME-type '", &mime_type, b"'"].concat()
            });
            host.set_type(mime_type);
        }
        if let Some(handler) = handler.filter(|value| !value.is_empty()) {
            self.line(host, 2, |host| {
                [b"remember ", host.filename(), b" to have Content-handler '", &handler, b"'"].concat()
            });
            host.set_handler(handler);
        }
    }

    /// A line of the trace.
    pub(crate) fn line(&self, host: &mut dyn Host, level: u8, text: impl FnOnce(&dyn Host) -> Vec<u8>) {
        if host.trace_level() >= level {
            let text = text(&*host);
            host.trace(level, self.directory, &text);
        }
    }

    /// One that never names the directory.
    fn line_of_server(&self, host: &mut dyn Host, level: u8, text: impl FnOnce(&dyn Host) -> Vec<u8>) {
        if host.trace_level() >= level {
            let text = text(&*host);
            host.trace(level, None, &text);
        }
    }
}

impl Progress {
    fn end(&mut self, changed: Outcome) {
        self.changed = changed;
        self.done = true;
    }
}

/// Returns the step after an applied rule.
fn after(progress: &mut Progress, flags: &RuleFlags, directory: Option<&str>, host: &mut dyn Host) -> Then {
    if flags.end {
        if host.trace_level() >= 8 {
            host.trace(8, directory, b"Rule has END flag, no further rewriting for this request");
        }
        progress.ended = true;
        return Then::End;
    }
    if flags.last || flags.proxy {
        return Then::End;
    }
    match flags.next {
        Some(most) => Then::Again(most),
        None if flags.skip > 0 => Then::Skip(flags.skip),
        None => Then::Next,
    }
}

/// The path of an absolute URL that names this server.
fn own_path(host: &dyn Host) -> Option<Vec<u8>> {
    let filename = host.filename();
    let (length, _) = uri::scheme(filename)?;
    let name = filename[..length].strip_suffix(b"://")?;
    if !name.eq_ignore_ascii_case(host.scheme().as_bytes()) {
        return None;
    }
    let rest = &filename[length..];
    let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host_name, port) = match memchr::memchr(b':', authority) {
        Some(at) => (&authority[..at], u16::try_from(crate::condition::integer(&authority[at + 1..])).ok()),
        None => (authority, None),
    };
    let path = if path.is_empty() { b"/" } else { path };
    host.is_own(host_name, port).then(|| path.to_vec())
}

/// Describes a rule's effect in words.
fn did(progress: &Progress, rule: &Rule, then: &Then, host: &dyn Host) -> String {
    if let Then::Status(status) = then {
        return format!("answers {status}");
    }
    let mut words = Vec::new();
    if rule.substitution.is_some() {
        let mut target = String::from_utf8_lossy(host.filename()).into_owned();
        if let Some(query) = host.query() {
            target = format!("{target}?{}", String::from_utf8_lossy(query));
        }
        words.push(match progress.redirect {
            None if progress.proxy => format!("has {target} answer"),
            Some(status) => format!("redirects ({status}) to {target}"),
            None => format!("becomes {target}"),
        });
    } else {
        words.push("applies, and leaves the URL as it is".to_owned());
    }
    match then {
        Then::End => words.push("no further rules".to_owned()),
        Then::Skip(count) => words.push(format!("skips {count} rules")),
        Then::Again(_) => words.push("begins again at the first rule".to_owned()),
        Then::Next | Then::Status(_) => {}
    }
    words.join("; ")
}
