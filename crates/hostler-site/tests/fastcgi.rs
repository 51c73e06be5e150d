//! A FastCGI application that is not ours, run by the site's process, connected to through it, and served by a pool:
//! all that a request goes through but the front.

#![allow(clippy::unwrap_used)]

mod client;

use client::*;
use hostler_gateway::backend::OnAbandon;
use hostler_gateway::backend::fastcgi::{Ask, Keep, Pool, head};
use hostler_gateway::backend::stream::{Event, Work};
use hostler_gateway::pool::Settings;
use hostler_gateway::supervisor::connect::Host;
use hostler_gateway::{Error, Kind};
use hostler_wire::site::Program;
use serde_bytes::ByteBuf;
use std::cell::RefCell;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Tells which process it is, what it was told, and how long a body was.
const APPLICATION: &str = r#"#!/usr/bin/perl
use FCGI;
my $request = FCGI::Request();
while ($request->Accept() >= 0) {
    # To its end: the library closes a connection on which it has left something unread.
    my $body = do { local $/; <STDIN> } // "";
    print STDERR "asked for $ENV{PATH_INFO}\n";
    print "Content-Type: text/plain\r\n\r\n$$ $ENV{PATH_INFO} ", length($body), " ", "x" x ($ENV{WANTED} // 0);
}
"#;

/// The connections are made by the site's process.
struct ThroughSite {
    site: Rc<RefCell<Site>>,
    socket: PathBuf,
}

impl Host for ThroughSite {
    async fn connect(&self) -> Result<OwnedFd, Error> {
        self.site.borrow_mut().connect(&self.socket).map_err(Error::from)
    }

    fn in_use(&self) {}

    fn line(&self, _: &[u8]) {}
}

fn has_application() -> bool {
    let perl = std::process::Command::new("/usr/bin/perl").args(["-MFCGI", "-e1"]).output();
    let has = perl.is_ok_and(|output| output.status.success());
    if !has {
        hostler_untested::untested("it takes perl and FCGI.pm (libfcgi-perl)");
    }
    has
}

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async { tokio::time::timeout(PATIENCE, test()).await.expect("the test hangs") };
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// A pool with one connection: the application serves one connection at a time.
fn pool(site: &Rc<RefCell<Site>>, socket: PathBuf) -> Arc<Pool> {
    let settings = Settings { start: 1, min_spare: 0, max_spare: 1, max_workers: 1, ..Settings::default() };
    let pool = Pool::new("test".into(), settings, 1);
    tokio::task::spawn_local(pool.clone().maintain(ThroughSite { site: site.clone(), socket }));
    pool
}

/// The output and the lines for the log.
async fn ask(pool: &Arc<Pool>, path: &str, body: &[u8], wanted: usize) -> Result<(String, String), Error> {
    let (length, wanted) = (body.len().to_string(), wanted.to_string());
    let variables = [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("REQUEST_METHOD", "POST"),
        ("PATH_INFO", path),
        ("CONTENT_LENGTH", &length),
        ("WANTED", &wanted),
    ];
    let variables = variables.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let timeout = Duration::from_secs(10);
    let on_abandon = OnAbandon::TakeBackOrKill(timeout);
    let head = head(variables, !body.is_empty(), Keep::Connection).unwrap();
    let ask = Ask { keep: Keep::Connection, own: None };
    let work = Work { thread: 0, head, has_body: !body.is_empty(), timeout, on_abandon, ask };
    let mut exchange = pool.begin(work).await?;
    for piece in body.chunks(100_000) {
        exchange.send(piece);
        poll_fn(|context| exchange.poll_room(context)).await;
    }
    exchange.finish();
    let (mut output, mut log) = (Vec::new(), Vec::new());
    while let Some(event) = poll_fn(|context| exchange.poll_next(context)).await.transpose()? {
        match event {
            Event::Output(piece) => output.extend_from_slice(&piece),
            Event::Log(piece) => log.extend_from_slice(&piece),
            Event::End { trouble } => assert_eq!(trouble, None),
        }
    }
    Ok((String::from_utf8(output).unwrap(), String::from_utf8(log).unwrap()))
}

#[test]
fn an_application_answers_request_after_request_over_one_connection() {
    if !has_application() {
        return;
    }
    run(async || {
        let (tree, mut site) = (Tree::new(), Site::start());
        let path = tree.executable("application", APPLICATION, 0o755);
        let program = Program::Listener {
            path: ByteBuf::from(path.to_str().unwrap()),
            args: vec![],
            directory: ByteBuf::from("/"),
            backlog: 16,
            shared: false,
        };
        let (started, socket) = site.start_listener(program).unwrap();
        let site = Rc::new(RefCell::new(site));
        let pool = pool(&site, socket);
        let pid = started.pid;
        for (path, body, wanted) in [("/one", 0, 0), ("/two", 3, 200_000), ("/three", 1_000_000, 1)] {
            let (output, log) = ask(&pool, path, &vec![b'b'; body], wanted).await.unwrap();
            let header = "Content-Type: text/plain\r\n\r\n";
            assert_eq!(output, format!("{header}{pid} {path} {body} {}", "x".repeat(wanted)));
            assert_eq!(log, format!("asked for {path}\n"));
        }
        let asked: Vec<_> = ["/a", "/b", "/c"]
            .map(|path| {
                let pool = pool.clone();
                tokio::task::spawn_local(async move { ask(&pool, path, b"", 0).await })
            })
            .into();
        for asked in asked {
            asked.await.unwrap().unwrap();
        }
        assert_eq!(pool.status().forked, 1);
        pool.close();
    });
}

#[test]
fn a_socket_that_nothing_listens_at_is_told_with_the_site_s_words() {
    run(async || {
        let (tree, site) = (Tree::new(), Site::start());
        let site = Rc::new(RefCell::new(site));
        let pool = pool(&site, tree.path("nothing"));
        let error = ask(&pool, "/", b"", 0).await.unwrap_err();
        assert_eq!((error.kind, error.status()), (Kind::NotConnected, 503));
        assert!(error.to_string().contains("there is no such socket"), "{error}");
        pool.close();
    });
}
