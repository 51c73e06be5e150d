//! Cases that the recordings cannot show: waiting hosts, limits, messages, files, SSI's view.

use crate::legacy::{LegacyExpr, Missing, substitute};
use crate::{
    Answer, Captures, EvalError, Expr, FileAccess, FileError, FileTest, Flags, GlobMode, Host, Kind,
    Question, Regex, RegexOptions, SubrequestTest, Variable, glob_matches,
};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// A host with a few values; file answers are `Pending` until `fetched`.
#[derive(Default)]
struct Site {
    fetched: bool,
}

impl Host for Site {
    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        match variable {
            Variable::RemoteHost if !self.fetched => Answer::Pending,
            Variable::RemoteHost => Answer::Ready(Some(Cow::Borrowed(b"client.example"))),
            _ => Answer::Ready(None),
        }
    }

    fn request_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn response_header(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn request_env<'a>(&'a self, name: &[u8], captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        match name {
            b"x" => Some(Cow::Borrowed(b"abc")),
            b"1" => captures.group(1).map(Cow::Borrowed),
            _ => None,
        }
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        if self.fetched {
            Answer::Ready(test == FileTest::Regular && path == b"/file")
        } else {
            Answer::Pending
        }
    }

    fn file_contents(&self, path: &[u8]) -> Answer<Result<Cow<'_, [u8]>, FileError>> {
        Answer::Ready(match path {
            b"/file" => Ok(Cow::Borrowed(b"ab\0cd")),
            b"/large" => Err(FileError::TooLarge),
            _ => Err(FileError::Unreadable),
        })
    }

    fn file_size(&self, path: &[u8]) -> Answer<Option<u64>> {
        Answer::Ready((path == b"/file").then_some(5))
    }

    fn subrequest(&self, _test: SubrequestTest, target: &[u8]) -> Answer<bool> {
        if self.fetched { Answer::Ready(target == b"/public") } else { Answer::Pending }
    }
}

fn test_with(source: &str, host: &Site, flags: Flags) -> Result<bool, EvalError> {
    let expr = Expr::parse(source, Kind::Boolean, flags).expect("an expression");
    expr.test(host, &mut Captures::new())
}

fn holds(source: &str) -> bool {
    test_with(source, &Site { fetched: true }, Flags::default()).expect("a result")
}

fn message(source: &str) -> String {
    Expr::parse(source, Kind::Boolean, Flags::default()).expect_err("an error").to_string()
}

#[test]
fn a_host_that_must_fetch_stops_evaluation_with_the_question() {
    let cases = [
        ("-f '/' . 'file'", Question::File(FileTest::Regular, b"/file".to_vec())),
        ("%{REMOTE_HOST} == 'client.example'", Question::Variable("REMOTE_HOST".to_owned())),
        ("-U '/public'", Question::Subrequest(SubrequestTest::Uri, b"/public".to_vec())),
    ];
    for (source, question) in cases {
        let waiting = test_with(source, &Site { fetched: false }, Flags::default());
        assert_eq!(waiting, Err(EvalError::Pending(Box::new(question))), "{source}");
        assert!(holds(source), "{source}");
    }
    assert_eq!(test_with("false && -f '/x'", &Site::default(), Flags::default()), Ok(false));
}

#[test]
fn file_functions_read_report_and_stop_at_nul() {
    assert!(holds("file('/file') == 'ab'"));
    assert!(holds("filesize('/file') -eq 5 && filesize('/none') == '0' && filemod('/none') == '0'"));
    let host = Site { fetched: true };
    for (path, reason) in [("/none", "cannot read the file"), ("/large", "larger than 10 MB")] {
        let error =
            test_with(&format!("!(file('{path}') == 'x')"), &host, Flags::default()).expect_err("an error");
        assert!(error.to_string().contains(reason) && error.to_string().contains(path), "{error}");
    }
}

#[test]
fn where_it_is_written_decides_what_files_an_expression_sees() {
    let accepts =
        |source: &str, files| Expr::parse(source, Kind::Boolean, Flags { files, ..Flags::default() }).is_ok();
    for test in ["-d", "-e", "-f", "-s", "-L", "-h", "-x"] {
        assert!(accepts(&format!("{test} 'x'"), FileAccess::TestsOnly));
        assert!(!accepts(&format!("{test} 'x'"), FileAccess::Nothing));
    }
    for function in ["file", "FILESIZE", "filemod"] {
        assert!(accepts(&format!("-n {function}('x')"), FileAccess::Full));
        assert!(!accepts(&format!("-n {function}('x')"), FileAccess::TestsOnly));
        assert!(!accepts(&format!("-n %{{{function}:x}}"), FileAccess::Nothing));
    }
    assert!(accepts("-U '/x' || -A '/x' || -F '/x'", FileAccess::Nothing));
}

#[test]
fn within_ssi_pages_v_reads_variables_and_groups() {
    let ssi = Flags { ssi: true, files: FileAccess::Nothing, ..Flags::default() };
    let page = |source| test_with(source, &Site::default(), ssi);
    assert_eq!(page("v('x') == 'abc' && reqenv('x') == %{v:x} && env('x') == 'abc'"), Ok(true));
    assert_eq!(page("v('x') =~ /(b)/ && v('1') == $1 && $1 == 'b'"), Ok(true));
    assert!(Expr::parse("v('x') == ''", Kind::Boolean, Flags::default()).is_err());
}

#[test]
fn ssl_require_compares_lengths_first() {
    let ssl = Flags { ssl_compat: true, ..Flags::default() };
    let compare = |source| test_with(source, &Site::default(), ssl);
    assert_eq!(compare("'9' < '10' && 128 lt 1024 && '010' != '10'"), Ok(true));
    assert!(!holds("'9' < '10'"));
}

#[test]
fn groups_survive_evaluation() {
    let mut captures = Captures::new();
    let host = Site::default();
    let matching =
        Expr::parse("'2026-11' =~ /(\\d+)-(\\d+)(x)?/", Kind::Boolean, Flags::default()).expect("valid");
    assert_eq!(matching.test(&host, &mut captures), Ok(true));
    assert_eq!(captures.group(0), Some(&b"2026-11"[..]));
    assert_eq!((captures.group(2), captures.group(3), captures.group(10)), (Some(&b"11"[..]), None, None));
    assert_eq!(captures.group_count(), 3);
    let using = Expr::parse("$2/%{tolower:X$1}", Kind::String, Flags::default()).expect("valid");
    assert_eq!(using.string(&host, &captures), Ok(b"11/x2026".to_vec()));
    assert_eq!(captures.expand(br"$1.$3.\$1\\x\y$\"), br"2026..$1\xy$\");
}

#[test]
fn headers_for_vary_are_known_before_evaluation() {
    let source = "%{HTTP_HOST} == req('X-A') || %{req:x-a} == %{HTTP_COOKIE} || -n req_novary('X-B')";
    let expr = Expr::parse(source, Kind::Boolean, Flags::default()).expect("valid");
    assert_eq!(expr.vary_headers(), ["X-A", "Cookie"]);
    let quiet = Flags { dont_vary: true, ..Flags::default() };
    assert!(Expr::parse(source, Kind::Boolean, quiet).expect("valid").vary_headers().is_empty());
}

#[test]
fn errors_say_where_what_and_what_instead() {
    for (source, expected) in [
        ("'a' ==", "at character 7: found the end, expected a word"),
        ("'a' = b", "at character 7: the function \"b\" does not exist (texts need quotes)"),
        ("  %{NOPE} == 'x'", "at character 5: the variable \"NOPE\" does not exist"),
        ("'a", "at character 1: found the end, expected the closing '"),
        ("true && (false", "at character 15: found the end, expected an operator or \")\""),
        (
            "'a' =~ /(/",
            "at character 8: the regular expression \"(\" does not compile: missing closing parenthesis",
        ),
        ("'a' =~ /b/gs", "at character 11: found the flags \"gs\""),
        ("'a' -ipmatch 'x'", "at character 5: -ipmatch \"x\": not an IP address or network"),
        ("'a' == 'b' xor true", "at character 12: found \"xor\", expected an operator or the end"),
        ("-q 'x'", "at character 1: found the unary operator \"-q\", expected one of"),
        ("\u{e9}", "at character 1: 'é' cannot begin a word"),
    ] {
        let found = message(source);
        assert!(found.starts_with(expected), "{source}: {found}");
    }
}

#[test]
fn nesting_is_limited_but_not_length() {
    let nested = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert!(holds(&nested(100)));
    assert!(message(&nested(101)).contains("deeper than 100"));
    let calls = format!("{}'x'{} == ''", "tolower(".repeat(5000), ")".repeat(5000));
    assert!(message(&calls).contains("deeper than 100"));
    let variables = format!("{}x", "%{tolower:".repeat(6000));
    assert!(Expr::parse(&variables, Kind::String, Flags::default()).is_err());
    assert!(holds(&vec!["true"; 5000].join(" && ")));
    assert!(holds(&("!".repeat(40_000) + "true")));
    assert!(message(&" ".repeat(70_000)).contains("longer than"));

    let legacy = format!("{}x{}", "(".repeat(101), ")".repeat(101));
    assert!(LegacyExpr::parse(legacy.as_bytes()).is_err());
    assert!(LegacyExpr::parse(vec!["x"; 50_000].join("&&").as_bytes()).is_ok());
}

#[test]
fn hostile_patterns_end_soon() {
    let started = Instant::now();
    let text = "a".repeat(5000) + "b";
    for pattern in [
        "^(a+)+$",
        "(?:a|aa)+$",
        "(*NO_JIT)^(a+)+$",
        "((a{0,5}){0,5}){0,5}[c]",
        "(*LIMIT_MATCH=4000000000)^(a+)+$",
    ] {
        let regex = Regex::new(pattern, RegexOptions::default()).expect("a pattern");
        let _gave_up_or_not = regex.is_match(text.as_bytes());
    }
    // Time: a pattern that is not stopped takes years.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let regex = Regex::new("^(a+)+$", RegexOptions::default()).expect("a pattern");
    assert!(regex.is_match(text.as_bytes()).is_err());
}

#[test]
fn patterns_that_need_much_stack_are_matched_all_the_same() {
    let regex = Regex::new("^(?:(a)|b)*c$", RegexOptions::default()).expect("a pattern");
    let text = "ab".repeat(4000) + "c";
    assert_eq!(regex.is_match(text.as_bytes()), Ok(true));
}

#[test]
fn a_dollar_is_the_very_end_only_where_it_is_an_anchor() {
    let matches = |pattern: &str, text: &str| {
        Regex::new(pattern, RegexOptions::default()).expect(pattern).is_match(text.as_bytes()).expect(pattern)
    };
    assert!(!matches(r"\.php$", "x.php\n") && matches(r"\.php$", "x.php"));
    assert!(!matches("(a|b$)$", "b\n") && matches("(?:a$|b)", "a"));
    assert!(matches(r"[$]\$\Q$\E[^$]$", "$$$x") && matches("[]$]x", "$x") && matches(r"[\]$]+$", "]$"));
    assert!(matches(r"[[:alpha:]$]+$", "a$") && matches("(?m)a$", "a\nb"));
    let everywhere = RegexOptions { dollar_end_only: false, ..RegexOptions::default() };
    assert_eq!(Regex::new("b$", everywhere).expect("valid").is_match(b"b\n"), Ok(true));
}

#[test]
fn patterns_for_shells_take_linear_time() {
    let pattern = "*a".repeat(200) + "b";
    let text = "a".repeat(20_000);
    assert!(!glob_matches(pattern.as_bytes(), text.as_bytes(), GlobMode::Anything));
}

#[test]
fn variables_have_one_name_each() {
    for variable in Variable::ALL {
        assert_eq!(Variable::from_name(&variable.name().to_ascii_lowercase()), Some(*variable));
    }
    assert_eq!(Variable::ALL.len(), 45);
}

#[test]
fn substitution_in_pages() {
    let lookup = |name: &[u8]| (name == b"x").then(|| Cow::Borrowed(&b"V"[..]));
    for (text, drop, keep) in [
        ("plain", "plain", "plain"),
        ("$x-${x}y$x_", "V-Vy", "V-Vy$x_"),
        (r"\$x \a $. $", r"$x \a $. $", r"$x \a $. $"),
        ("${nope}z $nope.", "z .", "${nopez $nope."),
        ("a${x", "a", "a"),
        ("${}x", "${}x", "${}x"),
    ] {
        assert_eq!(*substitute(text.as_bytes(), Missing::Drop, lookup), *drop.as_bytes(), "{text}");
        assert_eq!(*substitute(text.as_bytes(), Missing::KeepName, lookup), *keep.as_bytes(), "{text}");
    }
}

/// Texts of random pieces and random bytes: nothing may panic, whatever comes out.
#[test]
fn random_texts_do_not_panic() {
    const SPLIT_AT_BARS: &str = "'|\"|%{|}|:|(|)|{|,| |/|m#|#|$1|$|=~|==|!|&&|or|.|-f |-R |-ipmatch |-strmatch |in|\
        true|req|tolower|HTTP_HOST|REQUEST_URI|\\|\\1|\\n|\n|\0|é|5|-5|-|[|(?m)|10.0.0.0/8|*|-A |v|<=";
    let pieces: Vec<&str> = SPLIT_AT_BARS.split('|').collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap_or(0)
    };
    let host = Site { fetched: true };
    for round in 0..20_000 {
        let mut source = String::new();
        for _ in 0..random(14) {
            match random(8) {
                0 => source.push(char::from(u8::try_from(random(256)).unwrap_or(0))),
                _ => source.push_str(pieces[random(pieces.len())]),
            }
        }
        let kind = if round % 3 == 0 { Kind::String } else { Kind::Boolean };
        if let Ok(expr) = Expr::parse(&source, kind, Flags::default()) {
            let _any = expr.test(&host, &mut Captures::new());
            let _any = expr.string(&host, &Captures::new());
        }
        let _any = LegacyExpr::parse(source.as_bytes());
        let _any = substitute(source.as_bytes(), Missing::KeepName, |_| None);
        let (pattern, text) = source.split_at(source.floor_char_boundary(source.len() / 2));
        let _any = glob_matches(pattern.as_bytes(), text.as_bytes(), GlobMode::Path);
    }
}
