//! Members of balancers over time: checks in advance, what the operator does with them, and what a reload leaves of that.

use crate::faults::await_that;
use crate::proxy::{backend, head};
use hostler_tests::{Response, Server, Site, hostler};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A server that answers its checks as the flag says, and all else with its name. How often it was asked for more.
fn named(name: &'static str) -> (u16, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (fine, asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is_fine, count) = (fine.clone(), asked.clone());
    let (port, _) = backend(move |mut stream| {
        while let Some(request) = head(&mut stream) {
            let is_check = request.starts_with("GET /up ");
            count.fetch_add(usize::from(!is_check), SeqCst);
            let body = match (is_check, is_fine.load(SeqCst)) {
                (false, _) => name,
                (true, true) => "open",
                (true, false) => "closed",
            };
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        }
    });
    (port, fine, asked)
}

fn balanced(ports: [u16; 2], more: &str) -> Server {
    let [one, two] = ports;
    let config = format!(
        "ProxyHCExpr open {{hc('body') =~ /open/}}\n\
         ProxyHCTemplate look hcmethod=GET hcuri=/up hcinterval=100ms hcexpr=open\n\
         <Proxy balancer://app>\nBalancerMember http://127.0.0.1:{one} route=one {more}\n\
         BalancerMember http://127.0.0.1:{two} route=two {more}\nProxySet stickysession=SID\n</Proxy>\n\
         ProxyPass /p/ balancer://app/\n"
    );
    Site::new().config(&config).start()
}

/// Returns the members that answer this many requests.
fn answers(server: &Server, many: usize) -> String {
    (0..many).map(|_| server.get("/p/a").text().chars().next().unwrap_or('?')).collect()
}

fn operator(server: &Server, words: &[&str]) -> Output {
    let file = server.site().path("httpd.conf");
    let mut command = Command::new(hostler());
    command.arg("backend").args(words).arg("-f").arg(file).output().expect("hostler runs")
}

fn done(server: &Server, words: &[&str]) -> String {
    let list = || operator(server, &["list"]);
    await_that("the command finds the server", || list().status.success());
    let output = operator(server, words);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_member_that_fails_its_checks_gets_no_requests_until_it_passes_them() {
    let ((one, fine, asked), (two, ..)) = (named("1"), named("2"));
    let server = balanced([one, two], "hctemplate=look hcfails=2");
    fine.store(false, SeqCst);
    let _ = server.await_error("it takes no requests until it passes its checks: open does not hold");
    let before = asked.load(SeqCst);
    assert_eq!(answers(&server, 6), "222222");
    assert_eq!(asked.load(SeqCst), before);
    assert!(done(&server, &["list"]).contains("HcFl"));
    fine.store(true, SeqCst);
    await_that("it is asked again", || answers(&server, 4).contains('1'));
}

#[test]
fn members_are_drained_and_disabled_and_come_back() {
    let ((one, ..), (two, ..)) = (named("1"), named("2"));
    let server = balanced([one, two], "");
    assert!(answers(&server, 4).contains('1'));
    let url = format!("http://127.0.0.1:{one}");
    let said = done(&server, &["drain", "app", &url]);
    assert!(said.lines().any(|line| line.contains(&url) && line.contains("Drn")), "{said}");
    assert_eq!(answers(&server, 6), "222222");
    let own =
        server.request(b"GET /p/a HTTP/1.1\r\nHost: a\r\nCookie: SID=x.one\r\nConnection: close\r\n\r\n");
    assert_eq!(own.text(), "1", "its sessions stay with it");
    let _ = done(&server, &["disable", "balancer://app", "one"]);
    let other =
        server.request(b"GET /p/a HTTP/1.1\r\nHost: a\r\nCookie: SID=x.one\r\nConnection: close\r\n\r\n");
    assert_eq!(other.text(), "2");
    let _ = done(&server, &["enable", "app"]);
    assert!(answers(&server, 4).contains('1'));
    for (words, why) in [
        (&["drain", "nothing"][..], "there is no balancer nothing"),
        (&["drain", "app", "three"], "has no member"),
        (&["drain"], "which balancer"),
    ] {
        let output = operator(&server, words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}

#[test]
fn what_the_operator_wants_goes_on_over_a_reload() {
    let ((one, ..), (two, ..)) = (named("1"), named("2"));
    let server = balanced([one, two], "");
    let _ = done(&server, &["disable", "app", "one"]);
    let file = server.site().path("httpd.conf");
    let reloaded = Command::new(hostler()).arg("reload").arg("-f").arg(&file).output().expect("hostler runs");
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert_eq!(answers(&server, 6), "222222");
    let listed = done(&server, &["list"]);
    assert!(listed.contains("Dis"), "{listed}");
    let _ = done(&server, &["reset", "app"]);
    assert!(answers(&server, 4).contains('1'));
}

/// The page of balancer-manager for a balancer that has a nonce of the server's own.
fn managed(ports: [u16; 2], more: &str) -> Server {
    let [one, two] = ports;
    let config = format!(
        "<Proxy balancer://app>\nBalancerMember http://127.0.0.1:{one} route=one\n\
         BalancerMember http://127.0.0.1:{two} route=two\nProxySet stickysession=SID\n</Proxy>\n\
         ProxyPass /p/ balancer://app/\n<Location /manager>\nSetHandler balancer-manager\n</Location>\n\
         <Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n{more}"
    );
    Site::new()
        .config(&config)
        .file("htdocs/led/.htaccess", "RewriteEngine On\nRewriteRule ^ /manager [L]\n")
        .file("htdocs/own/.htaccess", "SetHandler balancer-manager\n")
        .start()
}

/// Sends a form of the page's own to this path.
fn submit(server: &Server, path: &str, nonce: &str, fields: &str) -> Response {
    let body = format!("b=app&nonce={nonce}&{fields}");
    let length = body.len();
    server.request(
        format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nReferer: http://a/manager\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .as_bytes(),
    )
}

fn nonce(server: &Server) -> String {
    let page = server.get("/manager").text();
    let (_, rest) = page.split_once("b=app&amp;nonce=").expect("the page links to the balancer");
    rest.split('"').next().expect("a link ends").to_owned()
}

#[test]
fn balancer_manager_changes_members_and_reloads_keep_the_changes() {
    let ((one, ..), (two, ..)) = (named("1"), named("2"));
    let server = managed([one, two], "");
    let old = nonce(&server);
    assert!(old.len() > 30, "{old}");
    let member = format!("w=http://127.0.0.1:{one}");
    let page = submit(&server, "/manager", "guessed", &format!("{member}&w_status_D=1")).text();
    assert!(!page.contains("Dis "), "{page}");
    let _ = server.await_error("the form has another nonce");
    let page = submit(&server, "/manager", &old, "b_wyes=1&b_nwrkr=http://127.0.0.1:1/").text();
    assert!(page.contains("[2 Used]"), "{page}");
    let _ = server.await_error("members are added in the configuration only");
    let page = submit(&server, "/manager", &old, &format!("{member}&w_status_D=1&w_lf=7&w_wr=uno")).text();
    assert!(page.contains("Init Dis "), "{page}");
    let _ = server.await_error(&format!("http://127.0.0.1:{one} of balancer://app changed by 127.0.0.1"));
    assert!(submit(&server, "/manager", &old, "b_lbm=bybusyness&b_ss=JS|js").text().contains("JS|js"));
    assert_eq!(answers(&server, 4), "2222");
    assert!(done(&server, &["list"]).contains("Dis"), "both ways of the operator change the same");

    let file = server.site().path("httpd.conf");
    let reloaded = Command::new(hostler()).arg("reload").arg("-f").arg(&file).output().expect("hostler runs");
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert_eq!(answers(&server, 4), "2222");
    let page = server.get("/manager").text();
    for kept in ["Init Dis ", "<td>uno</td><td></td><td>7.00</td>", "JS|js", "<td>bybusyness</td>"] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    assert_ne!(nonce(&server), old);
    let page = submit(&server, "/manager", &old, &format!("{member}&w_status_D=0")).text();
    assert!(page.contains("Init Dis "), "pages of the generation before change nothing: {page}");
    let _ = done(&server, &["reset", "app"]);
    let page = server.get("/manager").text();
    assert!(page.contains("<td>one</td><td></td><td>1.00</td>") && page.contains("<td>SID</td>"), "{page}");
}

/// A tenant's access file has no say: it can neither name the handler nor lead a request to it that changes something.
#[test]
fn balancer_manager_changes_nothing_for_access_files() {
    let ((one, ..), (two, ..)) = (named("1"), named("2"));
    let server = managed([one, two], "");
    let member = format!("w=http://127.0.0.1:{one}");
    let page = submit(&server, "/led/x", &nonce(&server), &format!("{member}&w_status_D=1")).text();
    assert!(page.contains("Balancer Manager") && !page.contains("Init Dis "), "{page}");
    let _ = server.await_error("only a client's own request may change it");
    assert_eq!(server.get("/own/").status, 500);
}

/// Two virtual hosts may have balancers of one name: neither's page changes the other's, nor does a reload mix them.
#[test]
fn balancer_manager_changes_its_own_virtual_host() {
    let ((one, ..), (two, ..)) = (named("1"), named("2"));
    let other = format!(
        "<VirtualHost *:@PORT@>\nServerName first.test\n</VirtualHost>\n\
         <VirtualHost *:@PORT@>\nServerName other.test\nBalancerInherit Off\nProxyPassInherit Off\n\
         <Proxy balancer://app>\nBalancerMember http://127.0.0.1:{one}\nBalancerMember http://127.0.0.1:{two}\n\
         </Proxy>\nProxyPass /p/ balancer://app/\n</VirtualHost>\n"
    );
    let server = managed([one, two], &other);
    let fields = format!("w=http://127.0.0.1:{one}&w_status_D=1");
    assert!(submit(&server, "/manager", &nonce(&server), &fields).text().contains("Init Dis "));
    let of_other = || -> String {
        let request = b"GET /p/a HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n";
        (0..4).map(|_| server.request(request).text().chars().next().unwrap_or('?')).collect()
    };
    assert_eq!(answers(&server, 4), "2222");
    assert!(of_other().contains('1'));
    let file = server.site().path("httpd.conf");
    let reloaded = Command::new(hostler()).arg("reload").arg("-f").arg(&file).output().expect("hostler runs");
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert_eq!(answers(&server, 4), "2222");
    assert!(of_other().contains('1'));
}

/// A servlet container as far as AJP13 goes: it answers questions whether it is there, and each request with one word.
fn container(mut stream: TcpStream) {
    let mut head = [0; 4];
    while stream.read_exact(&mut head).is_ok() {
        let mut packet = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]]))];
        if stream.read_exact(&mut packet).is_err() {
            return;
        }
        let answer: &[u8] = match packet.first() {
            Some(10) => b"AB\0\x01\x09",
            _ => b"AB\0\x08\x04\0\xc8\0\0\0\0\0AB\0\x08\x03\0\x04here\0AB\0\x02\x05\x01",
        };
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}

#[test]
fn a_container_that_hangs_is_found_out_before_it_gets_a_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let (hangs, _) = backend(move |mut stream| {
        let mut bytes = [0; 4096];
        // A request is longer than the question.
        while let Ok(read @ 1..) = stream.read(&mut bytes) {
            seen.fetch_add(usize::from(read > 5), SeqCst);
        }
    });
    let (works, _) = backend(container);
    let members = [hangs, works].map(|port| format!("BalancerMember ajp://127.0.0.1:{port} ping=200ms\n"));
    let config = format!("<Proxy balancer://b>\n{}</Proxy>\nProxyPass /p/ balancer://b/\n", members.concat());
    let server = Site::new().config(&config).start();
    for _ in 0..4 {
        let answer = server.get("/p/a");
        assert_eq!((answer.status, answer.text().as_str()), (200, "here"), "{}", server.error_log());
    }
    let _ = server.await_error("it does not say within 200ms that it is there");
    assert_eq!(asked.load(SeqCst), 0);
}

/// Reads as much, or less where the other side ends.
fn bytes(stream: &mut TcpStream, length: usize) -> usize {
    let mut space = vec![0; length];
    stream.read_exact(&mut space).map_or(0, |()| length)
}

/// An SCGI program that tells how much body it has been sent.
fn scgi() -> u16 {
    let (port, _) = backend(|mut stream| {
        let mut length = Vec::new();
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() && byte != *b":" {
            length.push(byte[0]);
        }
        let length = String::from_utf8(length).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut variables = vec![0; length + 1];
        if stream.read_exact(&mut variables).is_err() {
            return;
        }
        let text = String::from_utf8_lossy(&variables).into_owned();
        let announced = text.split('\0').nth(1).and_then(|value| value.parse().ok()).unwrap_or(0);
        let read = bytes(&mut stream, announced);
        let _ = write!(stream, "Content-Type: text/plain\r\n\r\nprogram {read}");
    });
    port
}

/// A body that was partly read for an unreachable member goes to the next one, whatever its protocol.
#[test]
fn a_body_reaches_a_member_of_another_protocol() {
    let (web, _) = backend(|mut stream| {
        while let Some(request) = head(&mut stream) {
            let announced =
                request.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.trim().parse().ok());
            let read = bytes(&mut stream, announced.unwrap_or(0));
            let body = format!("server {read}");
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let program = scgi();
    let mut config = String::new();
    for name in ["plain", "chunks"] {
        config.push_str(&format!(
            "<Proxy balancer://{name}-web>\nBalancerMember scgi://127.0.0.1:1\nBalancerMember http://127.0.0.1:{web}\n</Proxy>\n\
             <Proxy balancer://{name}-program>\nBalancerMember http://127.0.0.1:1\nBalancerMember scgi://127.0.0.1:{program}\n\
             </Proxy>\nProxyPass /{name}/web balancer://{name}-web/\nProxyPass /{name}/program balancer://{name}-program/\n"
        ));
    }
    let server = Site::new().config(&config).start();
    let body = "b".repeat(500);
    for (member, answer) in [("web", "server 500"), ("program", "program 500")] {
        let head = |name: &str, framing: &str| {
            format!("POST /{name}/{member} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{framing}\r\n\r\n")
        };
        let plain = head("plain", "Content-Length: 500") + &body;
        assert_eq!(server.request(plain.as_bytes()).text(), answer, "{}", server.error_log());
        let chunks = head("chunks", "Transfer-Encoding: chunked") + &format!("1f4\r\n{body}\r\n0\r\n\r\n");
        assert_eq!(server.request(chunks.as_bytes()).text(), answer, "{}", server.error_log());
    }
}
