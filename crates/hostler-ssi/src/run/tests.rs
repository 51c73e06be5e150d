//! Cases that the table of Apache's responses cannot show: needs and answers, literals, limits.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hostler_expr::{Captures, SubrequestTest, Variable};

use crate::{
    Answer, Environment, FileFact, FileReference, Host, Markers, Need, Output, Page, Run, Settings, Severity,
    Step, Zone,
};

#[derive(Default)]
struct TestHost {
    environment: Environment,
    log: RefCell<Vec<String>>,
    /// True if `-A` can be answered.
    knows_access: bool,
}

impl Host for TestHost {
    fn variable(&self, name: &[u8], _time_format: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.environment.value(name, <[u8]>::to_vec).map(Cow::Borrowed)
    }

    fn set_variable(&mut self, name: &[u8], value: &[u8]) {
        self.environment.set(name, value);
    }

    fn format_dates(&mut self, _time_format: &[u8]) {}

    fn format_time(&self, seconds: i64, _zone: Zone, _format: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(seconds.to_string().as_bytes());
    }

    fn each_variable(&self, _time_format: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.environment.each(<[u8]>::to_vec, visit);
    }

    fn expression(&self) -> &dyn hostler_expr::Host {
        self
    }

    fn log(&self, _severity: Severity, line: usize, message: fmt::Arguments<'_>) {
        self.log.borrow_mut().push(format!("{line}: {message}"));
    }
}

impl hostler_expr::Host for TestHost {
    fn variable(&self, _variable: Variable) -> hostler_expr::Answer<Option<Cow<'_, [u8]>>> {
        hostler_expr::Answer::Ready(None)
    }

    fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, _name: &[u8], _captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        None
    }

    fn subrequest(&self, _test: SubrequestTest, _target: &[u8]) -> hostler_expr::Answer<bool> {
        if self.knows_access { hostler_expr::Answer::Ready(true) } else { hostler_expr::Answer::Pending }
    }
}

fn run(source: &str) -> Run {
    let page = Page::parse(source.as_bytes(), &Markers::default(), false);
    Run::new(Arc::new(page), Settings { error_message: b"!"[..].into(), ..Settings::default() })
}

/// Runs to the end; whatever is needed fails.
fn output(source: &str) -> (String, Vec<String>) {
    let (mut host, mut out, mut run) = (TestHost::default(), Vec::new(), run(source));
    while let Step::Need(_) = run.step(&mut host, &mut out) {
        run.resume(Answer::Failed("no".into()));
    }
    (String::from_utf8(out).unwrap(), host.log.into_inner())
}

#[test]
fn needs_come_in_order_and_answers_are_used() {
    let (mut host, mut out) = (TestHost::default(), Vec::new());
    let mut run = run(r#"1<!--#include virtual="/u?q" file="./f" -->2<!--#fsize file="f" virtual="v" -->3"#);
    let text_only = false;
    let need = Need::Include { reference: FileReference::Virtual, target: b"/u?q", text_only };
    assert_eq!(run.step(&mut host, &mut out), Step::Need(need));
    assert_eq!(out, b"1");
    out.extend_from_slice(b"(u)");
    run.resume(Answer::Done);
    let need = Need::Include { reference: FileReference::File, target: b"f", text_only };
    assert_eq!(run.step(&mut host, &mut out), Step::Need(need));
    run.resume(Answer::Failed("gone".into()));
    let need = Need::File { reference: FileReference::File, target: b"f", fact: FileFact::Size };
    assert_eq!(run.step(&mut host, &mut out), Step::Need(need));
    run.resume(Answer::File { size: Some(1024), modified: 0 });
    assert!(matches!(run.step(&mut host, &mut out), Step::Need(Need::File { target: b"v", .. })));
    run.resume(Answer::File { size: None, modified: 0 });
    assert_eq!(run.step(&mut host, &mut out), Step::Done);
    assert_eq!(String::from_utf8_lossy(&out), "1(u)!21.0K  - 3");
    assert_eq!(host.log.into_inner(), ["1: unable to include \"f\": gone"]);
}

#[test]
fn a_need_is_reported_until_it_is_answered() {
    let (mut host, mut out) = (TestHost::default(), Vec::new());
    let mut run = run(r#"a<!--#exec cmd="c" -->b"#);
    run.resume(Answer::Done);
    for _ in 0..3 {
        assert_eq!(run.step(&mut host, &mut out), Step::Need(Need::Command { command: b"c" }));
    }
    run.resume(Answer::Done);
    for _ in 0..3 {
        assert_eq!(run.step(&mut host, &mut out), Step::Done);
    }
    assert_eq!(out, b"ab");
}

#[test]
fn an_answer_of_another_kind_is_a_failure() {
    for element in [r#"<!--#include file="f" -->"#, r#"<!--#exec cmd="c" -->"#, r#"<!--#exec cgi="c" -->"#] {
        let (mut host, mut out, mut run) = (TestHost::default(), Vec::new(), run(element));
        assert!(matches!(run.step(&mut host, &mut out), Step::Need(_)));
        run.resume(Answer::File { size: None, modified: 0 });
        assert_eq!(run.step(&mut host, &mut out), Step::Done);
        assert_eq!(out, b"!", "{element}");
    }
}

#[test]
fn an_expression_may_have_to_wait() {
    let (mut host, mut out) = (TestHost::default(), Vec::new());
    let mut run = run(r#"<!--#if expr="-A '/x'" -->yes<!--#else -->no<!--#endif -->"#);
    assert!(matches!(run.step(&mut host, &mut out), Step::Need(Need::Expression(_))));
    host.knows_access = true;
    run.resume(Answer::Done);
    assert_eq!(run.step(&mut host, &mut out), Step::Done);
    assert_eq!(out, b"yes");
}

#[test]
fn a_failed_match_forgets_the_groups() {
    let page = r#"<!--#if expr="'abc' =~ /(b)/" --><!--#endif --><!--#echo var="0" -->
<!--#if expr="'abc' =~ /(x)/" --><!--#endif --><!--#echo var="0" -->"#;
    let (out, log) = output(page);
    assert_eq!(out, "b\n(none)");
    assert_eq!(log, ["2: $0 refers to no regular expression"]);
}

#[test]
fn literals_can_be_kept_as_ranges() {
    #[derive(Default)]
    struct Ranges(Vec<Range<usize>>, Vec<u8>);
    impl Output for Ranges {
        fn literal(&mut self, page: &Arc<Page>, range: Range<usize>) {
            assert!(page.source().get(range.clone()).is_some());
            self.0.push(range);
        }
        fn text(&mut self, text: &[u8]) {
            self.1.extend_from_slice(text);
        }
    }
    let (mut host, mut out) = (TestHost::default(), Ranges::default());
    let mut run = run(r#"abc<!--#bad -->de<!--#if expr="false" -->f<!--#endif -->"#);
    assert_eq!(run.step(&mut host, &mut out), Step::Done);
    assert_eq!((out.0, out.1), (vec![0..3, 15..17], b"!".to_vec()));
}

#[test]
fn no_depth_and_no_number_is_too_much() {
    let many = 50_000;
    let skipped = r#"<!--#if expr="false" -->"#.repeat(many) + &"<!--#endif -->".repeat(many) + "end";
    assert_eq!(output(&skipped).0, "end");
    let taken = r#"<!--#if expr="true" -->"#.repeat(many) + "in" + &"<!--#endif -->".repeat(many * 2) + "end";
    assert_eq!(output(&taken).0, "inend");
    let braces = format!(r#"<!--#set var="a" value="{}" -->"#, "${a".repeat(many));
    assert_eq!(output(&braces).0, "");
    let attributes = format!("<!--#echo{}-->", r#" var="x""#.repeat(many));
    assert_eq!(output(&attributes).0.len(), many * "(none)".len());
    let entities = format!(r#"<!--#echo var="{};" -->"#, "&".repeat(many));
    assert_eq!(output(&entities).0, "(none)");
}

#[test]
fn a_message_names_the_line_and_quotes_safely() {
    let (_, log) = output("\n\n<!--#ba\u{1b}d\u{7} -->\n<!--#echo -->");
    assert_eq!(log[0], "3: unknown directive \"ba\\u{1b}d\\u{7}\"");
    assert_eq!(log[1], "4: missing argument for echo element");
}

/// An output that takes one piece at a time.
#[derive(Default)]
struct OnePiece(Vec<u8>, bool);

impl Output for OnePiece {
    fn literal(&mut self, page: &Arc<Page>, range: Range<usize>) {
        self.0.literal(page, range);
        self.1 = true;
    }

    fn text(&mut self, text: &[u8]) {
        self.0.text(text);
        self.1 = true;
    }

    fn is_full(&self) -> bool {
        self.1
    }
}

#[test]
fn a_full_output_pauses_the_run() {
    let mut host = TestHost::default();
    let mut out = OnePiece::default();
    let mut run = run("a<!--#echo var='x' -->b<!--#exec cmd='c' -->c");
    let mut pauses = 0;
    loop {
        match run.step(&mut host, &mut out) {
            Step::Full => pauses += 1,
            Step::Need(_) => run.resume(Answer::Done),
            Step::Done => break,
        }
        out.1 = false;
    }
    assert_eq!(out.0, b"a(none)bc");
    assert_eq!(pauses, 3);
}

#[test]
fn doubling_values_stay_bounded() {
    let source = format!("<!--#set var='a' value='{}' -->", "x".repeat(1000))
        + &"<!--#set var='a' value='$a$a' -->".repeat(64);
    let mut host = TestHost::default();
    assert_eq!(run(&source).step(&mut host, &mut Vec::new()), Step::Done);
    let length = host.environment.value(b"a", <[u8]>::to_vec).map_or(0, <[u8]>::len);
    assert!((256 << 10..2 << 20).contains(&length), "{length}");
}
