//! Servlets and JSP in a Tomcat of the site's own: real applications, compiled here.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::faults::frames::{Client, DATA, HEADERS, SETTINGS, status_of};
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The packages that the engine is built with.
macro_rules! needs_java {
    () => {
        needs_program!("/usr/bin/javac");
        needs_program!("/usr/share/java/tomcat10-embed-core.jar");
        needs_program!("/usr/share/java/tomcat10-annotations-api.jar");
        needs_program!("/usr/share/java/eclipse-jdt-core.jar");
    };
}

mod calls;
mod deploys;
mod faults;
mod packaged;
mod reload;
mod sessions;
mod tenants;
mod tls;

/// The servlet for the tests, each under a path of its own.
const SERVLET: &str = r#"
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.*;
import java.io.*;
import java.util.*;

@WebServlet("/do/*")
public class Asked extends HttpServlet {
    static final String VERSION = "@VERSION@";

    protected void service(HttpServletRequest q, HttpServletResponse r) throws IOException, jakarta.servlet.ServletException {
        r.setContentType("text/plain;charset=UTF-8");
        PrintWriter out = r.getWriter();
        switch (q.getPathInfo()) {
            case "/facts" -> out.print(q.getMethod() + " " + q.getRemoteAddr() + " " + q.getRemoteUser() + " " + q.getAuthType()
                + " " + q.isSecure() + " " + q.getServerName() + ":" + q.getServerPort() + " " + q.getContextPath()
                + q.getServletPath() + " " + q.getQueryString() + " " + (q.getRemotePort() > 0) + " " + q.getHeader("X-Own"));
            case "/count" -> {
                Integer count = (Integer) q.getSession().getAttribute("count");
                q.getSession().setAttribute("count", count == null ? 1 : count + 1);
                out.print(VERSION + " " + count);
            }
            case "/upload" -> {
                long sum = 0;
                byte[] buffer = new byte[5000];
                for (int n; (n = q.getInputStream().read(buffer)) > 0; sum += n) { }
                out.print(sum);
            }
            case "/large" -> {
                char[] line = new char[1000];
                Arrays.fill(line, 'x');
                for (int i = 0; i < 5000; i++) out.write(line);
            }
            case "/slowly" -> {
                out.print("first");
                r.flushBuffer();
                q.getInputStream().read();
                out.print(" last");
            }
            case "/lies" -> { r.setHeader("Content-Length", "3"); r.setHeader("X-Lie", "1"); out.print("abc"); }
            case "/status" -> { r.setStatus(418); r.setHeader("X-Own", "b"); out.print("a teapot"); }
            case "/away" -> r.sendRedirect("/elsewhere?a=b");
            case "/fails" -> throw new IllegalStateException("a failure of its own");
            case "/raw" -> {
                r.setHeader("Upgrade", q.getHeader("Upgrade"));
                r.setHeader("Connection", "Upgrade");
                r.setStatus(101);
                Raw raw = q.upgrade(Raw.class);
                raw.said = q.getRemoteAddr() + " " + q.getRemoteUser() + " " + q.getAuthType() + " " + q.isSecure() + " "
                    + q.getScheme() + " " + q.getServerName() + ":" + q.getServerPort() + " " + q.getHeader("Host") + " "
                    + q.getRequestURI() + "?" + q.getQueryString() + " " + q.getHeader("Hostler-Facts") + " " + q.getHeader("X-Named")
                    + " " + (q.getRemotePort() > 0) + " " + q.getLocalAddr() + " " + q.getLocalName();
            }
            case "/exit" -> System.exit(9);
            case "/fill" -> { List<byte[]> all = new ArrayList<>(); for (;;) all.add(new byte[1 << 20]); }
            default -> r.sendError(404);
        }
    }

    public static class Raw implements HttpUpgradeHandler {
        String said;
        public void init(WebConnection c) {
            try {
                c.getOutputStream().write((said + "\n").getBytes());
                c.getOutputStream().flush();
                for (int b; (b = c.getInputStream().read()) >= 0; c.getOutputStream().flush()) c.getOutputStream().write(b);
                c.close();
            } catch (Exception e) { throw new IllegalStateException(e); }
        }
        public void destroy() { }
    }

    @jakarta.websocket.server.ServerEndpoint("/echo")
    public static class Echo {
        @jakarta.websocket.OnMessage public String say(String text, jakarta.websocket.Session session) {
            return session.getUserPrincipal() + " " + session.getRequestURI() + " " + text;
        }
    }
}
"#;

const PAGE: &str = "<%@ page contentType=\"text/plain;charset=UTF-8\" %><%! int n = 41; %>page <%= n + 1 %> <%= request.getAttribute(\"jakarta.servlet.forward.request_uri\") %>";

/// An archive of the application, which says of itself which version it is.
fn archive(version: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let classes = folder.path().join("app/WEB-INF/classes");
    fs::create_dir_all(&classes).unwrap();
    let source = folder.path().join("Asked.java");
    fs::write(&source, SERVLET.replace("@VERSION@", version)).unwrap();
    fs::write(folder.path().join("app/page.jsp"), PAGE).unwrap();
    fs::write(folder.path().join("app/broken.jsp"), "<%= nothing of the kind %>").unwrap();
    fs::write(folder.path().join("app/plain.txt"), "as it is").unwrap();
    let jar = "/usr/share/java/tomcat10-embed-core.jar:/usr/share/java/tomcat10-embed-websocket.jar";
    run(Command::new("javac").args(["-cp", jar, "-d"]).arg(&classes).arg(&source));
    let war = folder.path().join("app.war");
    run(Command::new("jar").arg("cf").arg(&war).arg("-C").arg(folder.path().join("app")).arg("."));
    fs::read(war).unwrap()
}

/// An archive of an application with these sources and files; `stubs`: sources that are needed to compile them, and no more.
fn packed(sources: &[(&str, &str)], files: &[(&str, &str)], stubs: &[(&str, &str)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let place = |part: &str, name: &str| {
        let path = folder.path().join(part).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let write = |part: &str, (name, text): &(&str, &str)| {
        let path = place(part, name);
        fs::write(&path, text).unwrap();
        path
    };
    files.iter().for_each(|file| drop(write("app", file)));
    let sources: Vec<_> = sources.iter().map(|source| write("sources", source)).collect();
    stubs.iter().for_each(|stub| drop(write("stubs", stub)));
    let (classes, path) = (place("app", "WEB-INF/classes"), place("stubs", "javax"));
    fs::create_dir_all(&classes).unwrap();
    let stubs = path.parent().unwrap();
    let mut javac = Command::new("javac");
    javac
        .args(["-implicit:none", "-sourcepath"])
        .arg(stubs)
        .arg("-cp")
        .arg("/usr/share/java/tomcat10-embed-core.jar");
    run(javac.arg("-d").arg(classes).args(sources));
    let war = folder.path().join("app.war");
    run(Command::new("jar").arg("cf").arg(&war).arg("-C").arg(folder.path().join("app")).arg("."));
    fs::read(war).unwrap()
}

/// Runs a compiler.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The first version, compiled once.
fn first() -> &'static [u8] {
    static ARCHIVE: OnceLock<Vec<u8>> = OnceLock::new();
    ARCHIVE.get_or_init(|| archive("one"))
}

fn site(words: &str) -> Site {
    let line = format!("ServletApp /shop @ROOT@/app.war heap=64m work=@ROOT@/state {words}\n");
    Site::new().file("app.war", first()).dir("state").mode("state", 0o1777).config(&line)
}

/// The session's cookie, and what was said.
fn count(server: &Server, cookie: &str) -> (String, String) {
    let answer = server.get_with("/shop/do/count", &format!("Host: a\r\n{cookie}"));
    assert_eq!(answer.status, 200, "{}", server.error_log());
    let set = answer.field("Set-Cookie").and_then(|field| field.split(';').next());
    (set.map(|field| format!("Cookie: {field}\r\n")).unwrap_or_default(), answer.text())
}

#[test]
fn a_servlet_is_told_what_the_specification_promises() {
    needs_java!();
    let server = site("parameter=a:b")
        .file("users", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .file("htdocs/a.shtml", "[<!--#include virtual=\"/shop/page.jsp\" -->]")
        .config(
            "ErrorDocument 404 /shop/page.jsp\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n\
             <Directory @ROOT@/htdocs>\nOptions +Includes\n</Directory>\n\
             <Location /shop/do/facts>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n",
        )
        .start();
    assert_eq!(server.get("/shop/do/facts").status, 401);
    // What a client calls the server is what programs see, and no name of it chooses an application.
    let answer = server.request(
        b"GET /shop/do/facts?a=b%20c HTTP/1.1\r\nHost: www.example.com:8042\r\nAuthorization: Basic YWxpY2U6dGVzdA==\r\n\
          X-Own: c\r\nhostler.server_name: evil\r\nConnection: close\r\n\r\n",
    );
    let expected = "GET 127.0.0.1 alice Basic false www.example.com:8042 /shop/do a=b%20c true c";
    assert_eq!((answer.status, answer.text()), (200, expected.to_owned()), "{}", server.error_log());
    // A page, as itself, as a part of another one, and as that of an error.
    let page = server.get("/shop/page.jsp");
    assert_eq!((page.status, page.text().starts_with("page 42")), (200, true), "{}", page.text());
    assert!(server.get("/a.shtml").text().starts_with("[page 42"));
    let missing = server.get("/missing.html");
    assert_eq!((missing.status, missing.text().starts_with("page 42")), (404, true));
    assert_eq!(server.get("/shop/plain.txt").text(), "as it is");
    let answer = server.get("/shop/do/status");
    assert_eq!((answer.status, answer.text().as_str(), answer.field("X-Own")), (418, "a teapot", Some("b")));
    let answer = server.get("/shop/do/away");
    assert_eq!((answer.status, answer.field("Location")), (302, Some("/elsewhere?a=b")));
    assert_eq!(server.get("/shop").field("Location"), Some("/shop/"));
}

#[test]
fn bodies_stream_both_ways() {
    needs_java!();
    let server = site("").start();
    let body = "x".repeat(300_000);
    let head = "POST /shop/do/upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    let length = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(server.request(length.as_bytes()).text(), "300000", "{}", server.error_log());
    let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    assert_eq!(server.request(chunks.as_bytes()).text(), "300000");
    let nothing = format!("{head}Content-Length: 0\r\n\r\n");
    assert_eq!(server.request(nothing.as_bytes()).text(), "0");
    assert_eq!(server.get("/shop/do/large").text().len(), 5_000_000);
    let answer = server.get("/shop/do/lies");
    assert_eq!((answer.text().as_str(), answer.field("X-Lie")), ("abc", Some("1")));
    // What a program has sent is there before it goes on.
    let mut client = server.connect();
    client.send("POST /shop/do/slowly HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\n");
    let mut seen = Vec::new();
    while !seen.ends_with(b"first") {
        seen.push(client.byte().expect("more of the answer"));
    }
    client.send("x");
    assert!(String::from_utf8_lossy(&client.rest()).contains(" last"));
}

/// A request for another protocol.
fn changing(path: &str, protocol: &str, fields: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: www.example.com:8042\r\nConnection: keep-alive, Upgrade, X-Named\r\nUpgrade: {protocol}\r\n\
         X-Named: 1\r\nHostler-Facts: addr=6.6.6.6&user=eve\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
    )
}

#[test]
fn a_connection_changes_to_another_protocol() {
    needs_java!();
    let server = site("")
        .file("users", "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .config(
            "<Location /shop/echo>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n\
             <Location /shop/do/raw>\nAuthType Basic\nAuthName a\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n",
        )
        .start();
    let login = "Authorization: Basic YWxpY2U6dGVzdA==\r\n";
    // Who may not ask is told so by the front.
    assert_eq!(server.request(changing("/shop/echo", "websocket", "").as_bytes()).status, 401);
    let mut client = server.connect();
    client.send(changing("/shop/echo?a=b", "websocket", login));
    let head = until(&mut client, b"\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}: {}", server.error_log());
    // RFC 6455 §1.3
    assert!(
        head.to_ascii_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
        "{head}"
    );
    client.send(b"\x81\x82\0\0\0\0hi");
    let said = until(&mut client, b" hi");
    assert!(said.contains("alice") && said.contains("/shop/echo?a=b hi"), "{said}");
    drop(client);
    // Any other protocol; what only the front says is what the front has said.
    let mut client = server.connect();
    client.send(changing("/shop/do/raw?x=%20y", "own/1", login));
    assert!(until(&mut client, b"\r\n\r\n").starts_with("HTTP/1.1 101 "), "{}", server.error_log());
    assert_eq!(
        until(&mut client, b"\n"),
        "127.0.0.1 alice Basic false http www.example.com:8042 www.example.com:8042 /shop/do/raw?x=%20y null null \
         true 127.0.0.1 www.example.com\n"
    );
    client.send("echo\n");
    assert_eq!(until(&mut client, b"\n"), "echo\n");
    drop(client);
    // An application that stays with HTTP answers as ever.
    let answer = server.request(changing("/shop/do/status", "websocket", "").as_bytes());
    assert_eq!((answer.status, answer.text().as_str(), answer.field("X-Own")), (418, "a teapot", Some("b")));
    let answer = server.request(changing("/shop/do/large", "websocket", "").as_bytes());
    assert_eq!((answer.status, answer.text().len()), (200, 5_000_000));
    let answer = server.request(changing("/shop/do/facts", "h2c", "").as_bytes());
    assert_eq!((answer.status, answer.text().starts_with("GET 127.0.0.1 null")), (200, true));
}

#[test]
fn a_websocket_over_http_2_reaches_an_application() {
    needs_java!();
    let server = site("").config("Protocols h2c http/1.1\n").start();
    let mut client = Client::connect(&server, &[]);
    client.ask_for(1, "/shop/echo?a=b", "websocket");
    let mut said = Vec::new();
    while !said.ends_with(b" hi") {
        let frame = client.frame().expect("the connection goes on");
        match frame.kind {
            SETTINGS if frame.flags & 1 == 0 => drop(client.send(SETTINGS, 1, 0, &[])),
            HEADERS if frame.stream == 1 => {
                assert_eq!(status_of(&frame.payload), 200, "{}", server.error_log());
                client.send(DATA, 0, 1, b"\x81\x82\0\0\0\0hi");
            }
            DATA if frame.stream == 1 => said.extend_from_slice(&frame.payload),
            _ => {}
        }
    }
    assert!(String::from_utf8_lossy(&said).contains("/shop/echo?a=b hi"));
}

/// Reads up to a text.
fn until(client: &mut hostler_tests::Connection, end: &[u8]) -> String {
    let mut seen = Vec::new();
    while !seen.ends_with(end) {
        match client.byte() {
            Some(byte) => seen.push(byte),
            None => break,
        }
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn what_is_an_application_s_own_is_sent_to_nobody() {
    needs_java!();
    let server = site("")
        .file("htdocs/dir/WEB-INF/web.xml", "secret")
        .file("app/META-INF/context.xml", "<Context secret='1'/>")
        .config(
            "Alias /raw @ROOT@/app\nAlias /archive @ROOT@/app.war\nServletApp /other @ROOT@/app work=@ROOT@/state\n\
             <Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <Location /shop/do>\nRequire all denied\n</Location>\n",
        )
        .start();
    for path in [
        "/shop/WEB-INF/classes/Asked.class",
        "/shop/web-inf/",
        "/shop/WEB-INF;x=y/classes/Asked.class",
        "/shop/%57EB-INF/classes/Asked.class",
        "/shop//META-INF/MANIFEST.MF",
        "/dir/WEB-INF/web.xml",
        "/raw/META-INF/context.xml",
        "/archive",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains("secret"), "{path}");
    }
    // What holds for a path holds however it is written.
    for path in
        ["/shop/do/facts", "/shop/do;x/facts", "/shop;a=b/do/facts", "/shop//do/facts", "/shop/;/do/facts"]
    {
        assert_eq!(server.get(path).status, 403, "{path}");
    }
    for path in ["/shop/..;/other/", "/shop/x/..;a=b/do/facts"] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
}

#[test]
fn a_virtual_machine_that_ends_says_why_and_sessions_are_kept() {
    needs_java!();
    let server = site("").start();
    let (cookie, text) = count(&server, "");
    assert_eq!(text, "one null");
    let answer = server.get("/shop/do/fails");
    assert_eq!(answer.status, 500);
    assert!(!answer.text().contains("IllegalState"), "{}", answer.text());
    let _ = server.await_error("a failure of its own");
    let answer = server.get("/shop/broken.jsp");
    assert!(answer.status == 500 && !answer.text().contains("nothing of the kind"), "{}", answer.text());
    let _ = server.await_error("broken.jsp");
    assert_eq!(count(&server, &cookie).1, "one 1");
    // It ends in good order: the next one goes on with its sessions.
    assert!(server.get("/shop/do/exit").status >= 500);
    let _ = server.await_error("status 9");
    assert_eq!(count(&server, &cookie).1, "one 2");
    assert!(server.get("/shop/do/fill").status >= 500);
    let _ = server.await_error("java.lang.OutOfMemoryError: Java heap space");
    // The request that it took with it has the cause, with the machine's last words.
    let line = server.await_error("servlet:/shop/do/fill");
    assert!(line.contains("exited with status 3") && line.contains("OutOfMemoryError"), "{line}");
    let _ = server.await_error("the program ended unasked: exited with status 3");
    assert_eq!(server.get("/shop/plain.txt").text(), "as it is", "{}", server.error_log());
}

#[test]
fn virtual_hosts_of_a_site_have_their_own_applications_under_the_same_path() {
    needs_java!();
    let hosts = "<VirtualHost *:@PORT@>\nServerName one.test\nServletApp /shop @ROOT@/one.war heap=64m work=@ROOT@/state\n</VirtualHost>\n\
                 <VirtualHost *:@PORT@>\nServerName two.test\nServletApp /shop @ROOT@/two.war heap=64m work=@ROOT@/state\n</VirtualHost>\n";
    let site = Site::new().dir("state").mode("state", 0o1777).config(hosts);
    let server = site.file("one.war", first()).file("two.war", archive("two")).start();
    for (host, text) in [("one.test", "one null"), ("two.test", "two null"), ("one.test", "one null")] {
        let answer = server.get_with("/shop/do/count", &format!("Host: {host}\r\n"));
        assert_eq!(answer.text(), text, "{host}: {}", server.error_log());
    }
    // What the target names counts, not the field.
    let mut connection = server.connect();
    connection
        .send("GET http://two.test/shop/do/count HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n");
    assert_eq!(connection.response().text(), "two null");
}

#[test]
fn an_archive_that_changes_is_deployed_anew() {
    needs_java!();
    let server = site("").start();
    let (cookie, text) = count(&server, "");
    assert_eq!(text, "one null");
    let war = server.site().path("app.war");
    // Half of one does not take its place.
    replace(&war, &first()[..first().len() / 2]);
    let _ = server.await_error("goes on as it was: it is not a whole archive");
    assert_eq!(count(&server, &cookie).1, "one 1");
    replace(&war, &archive("two"));
    let _ = server.await_error("is deployed anew");
    // While it is deployed requests wait, or come too early.
    let until_it_is_new = || {
        loop {
            let answer = server.get_with("/shop/do/count", &format!("Host: a\r\n{cookie}"));
            assert_eq!(answer.status, 200, "{}: {}", answer.text(), server.error_log());
            if answer.text().starts_with("two") {
                return answer.text();
            }
        }
    };
    std::thread::scope(|scope| {
        for visitor in [(); 4].map(|()| scope.spawn(until_it_is_new)) {
            assert_ne!(visitor.join().expect("each gets the new one"), "two null", "{}", server.error_log());
        }
    });
}

/// As people do who copy beside and rename.
fn replace(war: &Path, content: &[u8]) {
    let new = war.with_extension("new");
    fs::write(&new, content).unwrap();
    fs::rename(new, war).unwrap();
}

#[test]
fn what_cannot_work_is_told() {
    needs_java!();
    let refused = |config: &str| site("").config(config).try_start().err().unwrap_or_default();
    let told = refused("Isolation fork\n");
    assert!(told.contains("Isolation") && told.contains("cannot fork"), "{told}");
    let told = refused("ServletApp /other @ROOT@/b.war heap=1\n");
    assert!(told.contains("heap: needs a size"), "{told}");
    let server = Site::new()
        .dir("state")
        .mode("state", 0o1777)
        .file("cut.war", &first()[..first().len() / 2])
        .config(
            "ServletApp /cut @ROOT@/cut.war work=@ROOT@/state\nServletApp /none @ROOT@/none.war\n\
             ServletApp /old @ROOT@/cut.war\n",
        )
        .start();
    assert_eq!((server.get("/cut/").status, server.get("/none/").status), (404, 404));
    let _ = server.await_error("cut.war at /cut cannot be deployed: it is not a whole archive");
    let _ = server.await_error("none.war at /none cannot be deployed");
}

#[test]
fn a_java_that_is_not_there_is_named() {
    needs_java!();
    let server = site("java-home=/nowhere").start();
    assert!(server.get("/shop/plain.txt").status >= 500);
    let _ = server.await_error("java-home=/nowhere");
}
