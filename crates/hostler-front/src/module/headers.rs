//! Header and RequestHeader (mod_headers).

use crate::hook::phases::Phase;
use crate::hook::registry::{Answer, Change, Effect, Filter, Hook, Module, Run, Stage};
use crate::limits::budget;
use crate::request::Request;
use crate::request::expr_host::RequestHost;
use crate::request::flow::{Continue, Flow, Outcome};
use hostler_config::directives::headers::{self, Message, Pause, Phase as Moment, Rule, Table};
use hostler_expr::{Host, effort};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) static MODULE: Module = Module {
    hooks: &[
        Hook {
            phase: Phase::PostRead,
            after: &["names"],
            before: &[],
            when: |request| request.is_read_anew() && request.resource.dir.headers.is_set(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(early(request))),
        },
        Hook {
            phase: Phase::Fixup,
            after: &["env"],
            before: &[],
            when: |request| request.resource.dir.headers.is_set(),
            effect: Effect::Notes,
            run: Run::Later(|request| Box::pin(request_fields(request))),
        },
    ],
    filters: &[Filter {
        stage: Stage::Content,
        after: &["deflate", "session"],
        sees_errors: true,
        when: |request| request.resource.dir.headers.is_set() && !request.budget.has_failed(),
        run: Change::Later(|request, body, answer| {
            Box::pin(async move {
                response_fields(request, answer).await;
                body
            })
        }),
    }],
    has_say_in_kept: Some(|request| !request.resource.dir.headers.is_same_for_all()),
    has_say_before_handler: Some(|request| {
        let headers = &request.resource.dir.headers;
        !headers.request.is_empty() || headers.response.iter().chain(&headers.always).any(|rule| rule.early)
    }),
    ..Module::new("headers", |request| request.resource.dir.headers.is_set())
};

/// `early` ones, before access control.
async fn early(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    carry_out(request, &dir.headers.request, Moment::Early, Table::Request).await?;
    carry_out(request, &dir.headers.response, Moment::Early, Table::Response).await?;
    carry_out(request, &dir.headers.always, Moment::Early, Table::Always).await?;
    Ok(Flow::Ok)
}

/// RequestHeader, among the fixups.
async fn request_fields(request: &mut Request) -> Outcome {
    let dir = request.resource.dir.clone();
    carry_out(request, &dir.headers.request, Moment::Late, Table::Request).await?;
    Ok(Flow::Ok)
}

/// Header, on the way out; an error's answer has only the `always` table. Whoever calls it looks whether the request
/// has failed meanwhile.
async fn response_fields(request: &mut Request, answer: Answer) {
    let dir = request.resource.dir.clone();
    let always = carry_out(request, &dir.headers.always, Moment::Late, Table::Always).await;
    if answer == Answer::Content && always.is_ok() {
        let _ = carry_out(request, &dir.headers.response, Moment::Late, Table::Response).await;
    }
}

async fn carry_out(request: &mut Request, rules: &[Arc<Rule>], moment: Moment, table: Table) -> Continue {
    let mut from = 0;
    let mut host = RequestHost::new(&mut *request);
    while let Err(Pause { at, need }) =
        effort::resumable(|| headers::apply(rules, from, moment, table, &mut host))
    {
        from = at;
        match need {
            Some(need) => Box::pin(host.fetch(&need)).await,
            None => budget::turn_at(host.request, Some(&rules[at].place)).await?,
        }
    }
    budget::check(request)
}

/// Most fields that rules may add, and the longest value in bytes: rules can double a value again and again.
const MOST: usize = 1000;
const LONGEST: usize = 64 << 10;

impl RequestHost<&mut Request> {
    fn table(&self, table: Table) -> &crate::values::table::Table {
        match table {
            Table::Request => &self.request.target.headers_in,
            Table::Response => &self.request.reply.headers_out,
            Table::Always => &self.request.reply.err_headers_out,
        }
    }

    fn table_mut(&mut self, table: Table) -> &mut crate::values::table::Table {
        match table {
            Table::Request => &mut self.request.target.headers_in,
            Table::Response => &mut self.request.reply.headers_out,
            Table::Always => &mut self.request.reply.err_headers_out,
        }
    }
}

/// The type becomes a field only after these directives, so they work on the request's own.
fn is_content_type(table: Table, name: &str) -> bool {
    table == Table::Response && name.eq_ignore_ascii_case("content-type")
}

fn micros(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
}

impl Message for RequestHost<&mut Request> {
    fn values(&self, table: Table, name: &str) -> Vec<Vec<u8>> {
        if is_content_type(table, name) {
            return self.request.resource.content_type.iter().map(|v| v.to_vec()).collect();
        }
        self.table(table).all(name.as_bytes()).map(|v| v.to_vec()).collect()
    }

    fn add(&mut self, table: Table, name: &str, value: Vec<u8>) {
        if value.len() > LONGEST || self.table(table).len() >= MOST {
            self.gave_up(&format!("there is no room for the field {name}"));
            return;
        }
        if is_content_type(table, name) {
            self.request.resource.content_type = Some(value.into());
            return;
        }
        if table == Table::Request {
            self.request.target.claim(name.as_bytes());
        }
        self.table_mut(table).add(name.to_owned(), value);
    }

    fn remove(&mut self, table: Table, name: &str) {
        if is_content_type(table, name) {
            self.request.resource.content_type = None;
            return;
        }
        self.table_mut(table).unset(name);
    }

    fn request_fields(&self) -> Vec<(String, Vec<u8>)> {
        let fields = self.request.target.headers_in.iter();
        fields.map(|(n, v)| (String::from_utf8_lossy(n).into_owned(), v.to_vec())).collect()
    }

    fn env(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.env.find(name).map(|v| Cow::Borrowed(&**v))
    }

    fn ssl_variable(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        match Host::ssl_variable(self, name) {
            hostler_expr::Answer::Ready(value) => value,
            hostler_expr::Answer::Pending => None,
        }
    }

    fn set_note(&mut self, name: &str, value: Option<Vec<u8>>) {
        match value {
            Some(value) => self.request.notes.set(name.to_owned(), value),
            None => self.request.notes.unset(name),
        }
    }

    fn times(&self) -> (i64, i64) {
        (micros(self.request.client.received), micros(SystemTime::now()))
    }

    fn load(&self) -> [f64; 3] {
        let info = rustix::system::sysinfo();
        // The kernel counts in 65536ths.
        std::array::from_fn(|n| info.loads[n] as f64 / 65_536.0)
    }

    fn busy_percent(&self) -> u32 {
        let shared = &self.request.thread.shared;
        let busy = shared.connections.load(std::sync::atomic::Ordering::Relaxed);
        let most = shared.config.process.max_request_workers;
        most.map_or(0, |most| (busy * 100 / most.max(1) as usize).min(100) as u32)
    }

    fn expression_host(&self) -> &dyn Host {
        self
    }

    fn failed(&self, reason: &str) {
        budget::log_failure(self.request, "headers", reason);
    }

    fn gave_up(&self, reason: &str) {
        budget::fail_rule(self.request, "headers", reason);
    }

    fn is_overdue(&self) -> bool {
        let _ = effort::spend(200);
        budget::is_overdue() || self.request.budget.has_failed()
    }
}
