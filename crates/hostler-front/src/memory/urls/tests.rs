use super::*;
use crate::hook::phases::Phase;
use crate::hook::plan;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::io::body::RequestBody;
use crate::modules::MODULES;
use crate::process::start;
use crate::request::flow::Flow;
use bytes::Bytes;
use hostler_http1::head;
use hostler_wire::plan::{FrontPlan, SiteLimits};
use std::net::SocketAddr;
use std::sync::Once;

/// A module that nobody here knows of: it looks at a cookie, at one URL.
static LOOKER: Module = Module {
    hooks: &[Hook {
        phase: Phase::HeaderParser,
        after: &["perl"],
        before: &[],
        when: |request| &*request.target.uri == b"/looked-at",
        effect: Effect::Decides,
        run: Run::Now(|request| {
            request.looked_at(Looks::MORE);
            Ok(Flow::Declined)
        }),
    }],
    ..Module::new("looker", |_| false)
};

/// One that changes answers at one URL.
static CHANGER: Module = Module::new("changer", |request| &*request.target.uri == b"/changed");

fn thread(config: &str) -> Rc<Thread> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let all: Vec<&'static Module> = MODULES.into_iter().chain([&LOOKER, &CHANGER]).collect();
        plan::install(Box::leak(all.into())).unwrap();
        // Another test may have been here with a table of its own, which does as well.
        let _ = hostler_techniques::install();
    });
    let tree = hostler_config::read_text(config, "/").unwrap();
    let hosts = hostler_config::Config::build(&tree).unwrap().servers.len();
    let plan = FrontPlan {
        config: tree.encode().unwrap(),
        logs: Vec::new(),
        secrets: Vec::new(),
        sites: (0..hosts as u32).collect(),
        site_names: (0..hosts).map(|n| n.to_string()).collect(),
        site_limits: vec![SiteLimits::default(); hosts],
        site_idle_secs: 0,
        versions: Vec::new(),
        backends: hostler_wire::plan::BackendStates::default(),
    };
    Thread::new(start::begin(plan, Vec::new(), 0).unwrap().shared, 0)
}

fn peer(thread: &Rc<Thread>) -> Rc<Peer> {
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Peer::new(thread, address(80), address(1234), address(1234), None)
}

fn parsed(text: &str) -> (Head, Bytes) {
    let buffer = Bytes::copy_from_slice(text.as_bytes());
    let limits = head::Limits::default();
    (head::Partial::default().parse(&buffer, &limits).unwrap().unwrap(), buffer)
}

fn text(host: &str, path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n")
}

/// A request whose host and path are set.
fn request(thread: &Rc<Thread>, host: &str, path: &str) -> Request {
    let (head, buffer) = parsed(&text(host, path, ""));
    let peer = peer(thread);
    let mut request = Request::from_http1(thread, &peer, &buffer, &head, RequestBody::Empty);
    request.set_local_target(path.as_bytes());
    request.server = peer.hosts.find(host.as_bytes()).unwrap_or(peer.hosts.default_server()).clone();
    request.site();
    request
}

async fn is_kept(thread: &Rc<Thread>, path: &str) -> bool {
    let mut request = request(thread, "a.test", path);
    assert!(plan::run(Phase::HeaderParser, &mut request).await.is_ok());
    is_same_for_all(&request, Looks::NOTHING, "")
}

const ONE: &str = "Listen 80\nServerName a.test\n";

#[tokio::test]
async fn what_a_module_looks_at_is_kept_for_nobody_else() {
    let thread = thread(ONE);
    assert!(is_kept(&thread, "/any").await);
    assert!(!is_kept(&thread, "/looked-at").await);
    assert!(!is_kept(&thread, "/changed").await);
}

fn keep(thread: &Rc<Thread>, host: &str, path: &str, size: usize) {
    remember(&request(thread, host, path), How::Worker(Rc::new(())), size);
}

fn is_known(thread: &Rc<Thread>, host: &str, path: &str, fields: &str) -> bool {
    let (head, buffer) = parsed(&text(host, path, fields));
    find(thread, &peer(thread), &head, &buffer).is_some()
}

#[tokio::test]
async fn a_url_is_known_whatever_stands_behind_its_question_mark() {
    let thread = thread(ONE);
    keep(&thread, "a.test", "/one", 0);
    assert!(is_known(&thread, "a.test", "/one", ""));
    assert!(is_known(&thread, "a.test", "/one?x=1", "If-None-Match: *\r\n"));
    assert!(!is_known(&thread, "a.test", "/two", ""));
    assert!(!is_known(&thread, "b.test", "/one", ""));
    for fields in
        ["Expect: 100-continue\r\n", "Content-Length: 0\r\n", "Upgrade: h2c\r\n", "Host: a.test\r\n"]
    {
        assert!(!is_known(&thread, "a.test", "/one", fields), "{fields}");
    }
}

const TWO: &str = "Listen 80\n<VirtualHost *:80>\nServerName a.test\n</VirtualHost>\n\
                   <VirtualHost *:80>\nServerName b.test\n</VirtualHost>\n";

#[tokio::test]
async fn one_site_s_urls_take_nothing_from_another_s() {
    let thread = thread(TWO);
    keep(&thread, "b.test", "/", 0);
    for n in 0..MOST + 1 {
        keep(&thread, "a.test", &format!("/{n}"), 0);
    }
    assert!(!is_known(&thread, "a.test", "/0", "") && is_known(&thread, "a.test", &format!("/{MOST}"), ""));
    keep(&thread, "a.test", "/large", MOST_BYTES);
    keep(&thread, "a.test", "/after", 0);
    assert!(is_known(&thread, "b.test", "/", ""));
    assert!(is_known(&thread, "a.test", "/after", ""));
    assert!(!is_known(&thread, "a.test", "/large", ""));
    let urls = thread.of::<RefCell<UrlCache>>();
    let urls = urls.borrow();
    assert_eq!(urls.bytes, urls.known.values().map(|url| url.size).sum::<usize>());
    assert_eq!(urls.known.len(), urls.sites.values().map(|site| site.0).sum::<usize>());
}

#[tokio::test]
async fn what_is_remembered_again_counts_once() {
    let thread = thread(ONE);
    for size in [100, 200] {
        keep(&thread, "a.test", "/", size);
    }
    let urls = thread.of::<RefCell<UrlCache>>();
    let urls = urls.borrow();
    assert_eq!(urls.known.len(), 1);
    assert_eq!(urls.bytes, urls.known.values().map(|url| url.size).sum::<usize>());
}

/// Keeps what a request of this line and browser comes to, at which so much was looked.
fn keep_looked_at(thread: &Rc<Thread>, path: &str, fields: &str, looks: Looks) {
    let (head, buffer) = parsed(&text("a.test", path, fields));
    let peer = peer(thread);
    let mut request = Request::from_http1(thread, &peer, &buffer, &head, RequestBody::Empty);
    request.set_local_target(path.as_bytes());
    request.looked_at(looks);
    remember(&request, How::Worker(Rc::new(())), 0);
}

#[tokio::test]
async fn what_was_looked_at_tells_requests_of_a_path_apart() {
    let thread = thread(ONE);
    let (one, other) = ("User-Agent: one\r\n", "User-Agent: other\r\n");
    let knows = |path: &str, fields: &str| is_known(&thread, "a.test", path, fields);
    keep_looked_at(&thread, "/query?x=1", one, Looks::LINE);
    assert!(knows("/query?x=1", one) && knows("/query?x=1", other));
    assert!(!knows("/query?x=2", one) && !knows("/query", one));
    keep_looked_at(&thread, "/agent?x=1", one, Looks::AGENT);
    assert!(knows("/agent?x=2", one) && !knows("/agent?x=1", other));
    // From then on that both matter, what was kept for one of them alone is not for anybody.
    keep_looked_at(&thread, "/both?x=1", one, Looks::LINE);
    keep_looked_at(&thread, "/both?x=2", one, Looks::AGENT);
    assert!(!knows("/both?x=1", one) && knows("/both?x=2", one));
    assert!(!knows("/both?x=2", other) && !knows("/both?x=1", other));
    // What was kept for all goes, once somebody has looked.
    keep_looked_at(&thread, "/all", one, Looks::NOTHING);
    assert!(knows("/all?any", other));
    keep_looked_at(&thread, "/all?x", one, Looks::LINE);
    assert!(!knows("/all", one) && knows("/all?x", other));
    // A browser that is called as a line is no line.
    keep_looked_at(&thread, "/l", "User-Agent: GET /l HTTP/1.1\r\n", Looks::AGENT);
    assert!(!knows("/l", one));
}

/// A request counts as having looked at what the requests it continues have looked at.
#[tokio::test]
async fn a_request_is_alike_only_if_all_are_that_it_goes_on_for() {
    let thread = thread(ONE);
    let led = |looks: Looks, is_led_on: bool, path: &str| {
        let mut first = request(&thread, "a.test", path);
        first.client.target = Bytes::copy_from_slice(path.as_bytes());
        first.looked_at(looks);
        first.is_led_on = is_led_on;
        let next = first.redirected(Bytes::from_static(b"GET"), b"/index");
        next.site();
        is_same_for_all(&next, Looks::NOTHING, "")
    };
    assert!(led(Looks::NOTHING, true, "/a"));
    assert!(led(Looks::LINE, true, "/a"));
    assert!(!led(Looks::MORE, true, "/a"));
    // A program's answer, not the phases, has led there.
    assert!(!led(Looks::NOTHING, false, "/a"));
    assert!(!led(Looks::NOTHING, true, "/changed"));
}
