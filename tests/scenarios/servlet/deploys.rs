//! Applications and files from an existing Tomcat: descriptors, pools of database connections, applications for older
//! servers.

use super::{packed, run};
use crate::faults::await_that;
use hostler_tests::{Server, Site, needs_program};
use std::fs;
use std::process::Command;

/// Tells what it finds under its names, and what a form says.
const SERVLET: &str = r#"
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.*;
import java.io.*;
import javax.naming.*;

@WebServlet("/do/*")
public class Named extends HttpServlet {
    protected void service(HttpServletRequest q, HttpServletResponse r) throws IOException {
        switch (q.getPathInfo()) {
            case "/form" -> r.getWriter().print(q.getParameter("a"));
            case "/named" -> r.getWriter().print(find(q.getQueryString()));
            case "/class" -> r.getWriter().print(find(q.getQueryString()).getClass().getName());
            default -> r.sendError(404);
        }
    }

    private Object find(String name) {
        try { return new InitialContext().lookup("java:comp/env/" + name); } catch (NamingException e) { return e; }
    }
}
"#;

const OWN: &str = r#"<Context><Environment name="told" value="by its own" type="java.lang.String"/>
    <Resource name="jdbc/pool" type="javax.sql.DataSource" driverClassName="none" url="jdbc:none:"/></Context>"#;

fn site(words: &str) -> Site {
    let line = format!("ServletApp /shop @ROOT@/app.war heap=64m work=@ROOT@/state {words}\n");
    let archive = packed(&[("Named.java", SERVLET)], &[("META-INF/context.xml", OWN)], &[]);
    Site::new().file("app.war", archive).dir("state").mode("state", 0o1777).config(&line)
}

fn says(server: &Server, target: &str) -> String {
    let answer = server.get(target);
    assert_eq!(answer.status, 200, "{target}: {}\n{}", answer.text(), server.error_log());
    answer.text()
}

#[test]
fn a_pool_of_database_connections_needs_no_factory() {
    needs_java!();
    needs_program!("/usr/share/java/tomcat10-dbcp.jar");
    let server = site("").start();
    assert_eq!(
        says(&server, "/shop/do/class?jdbc/pool"),
        "org.apache.tomcat.dbcp.dbcp2.BasicDataSource",
        "{}",
        server.error_log()
    );
}

/// As conf/web.xml of a Tomcat has it.
#[test]
fn forms_and_answers_are_utf_8_where_nothing_is_said() {
    needs_java!();
    let server = site("").start();
    let answer = server.request(
        "POST /shop/do/form HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\na=%C3%A4"
            .as_bytes(),
    );
    assert_eq!(answer.text(), "ä");
    let answer = server.get("/shop/do/form?a=%C3%A4");
    assert_eq!(answer.text(), "ä");
}

/// As applications do that want listings of their directories, or other pages of JSP.
const OWN_DEFAULTS: &str = r#"<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
    <servlet><servlet-name>default</servlet-name><servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>
    <init-param><param-name>listings</param-name><param-value>true</param-value></init-param></servlet>
    <servlet><servlet-name>jsp</servlet-name><servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class>
    <init-param><param-name>trimSpaces</param-name><param-value>true</param-value></init-param></servlet></web-app>"#;

#[test]
fn an_application_says_of_tomcat_s_own_servlets_what_it_likes() {
    needs_java!();
    let files =
        [("WEB-INF/web.xml", OWN_DEFAULTS), ("dir/listed.txt", ""), ("page.jsp", "<%= 1 + 1 %>   <%= 2 %>")];
    let server = Site::new()
        .file("app.war", packed(&[("Named.java", SERVLET)], &files, &[]))
        .dir("state")
        .mode("state", 0o1777)
        .config("ServletApp /shop @ROOT@/app.war heap=64m work=@ROOT@/state\n")
        .start();
    let listing = says(&server, "/shop/dir/");
    assert!(listing.contains("listed.txt"), "{listing}");
    assert_eq!(says(&server, "/shop/page.jsp").trim_end(), "22");
}

#[test]
fn a_descriptor_takes_the_place_of_an_application_s_own_and_counts_when_it_changes() {
    needs_java!();
    let context = |value: &str| {
        format!(r#"<Context><Environment name="told" value="{value}" type="java.lang.String"/></Context>"#)
    };
    let server = site("descriptor=@ROOT@/shop.xml").file("shop.xml", context("from outside")).start();
    assert_eq!(says(&server, "/shop/do/named?told"), "from outside");
    fs::write(server.site().path("shop.xml"), context("changed since")).unwrap();
    await_that("it is deployed anew", || says(&server, "/shop/do/named?told") == "changed since");
}

/// The old packages, as far as the test's servlet needs them to be compiled. They are not part of its archive.
const STUBS: [(&str, &str); 3] = [
    (
        "javax/servlet/http/HttpServlet.java",
        "package javax.servlet.http; public abstract class HttpServlet { \
         protected void doGet(HttpServletRequest q, HttpServletResponse r) throws java.io.IOException { } }",
    ),
    (
        "javax/servlet/http/HttpServletRequest.java",
        "package javax.servlet.http; public interface HttpServletRequest { String getContextPath(); }",
    ),
    (
        "javax/servlet/http/HttpServletResponse.java",
        "package javax.servlet.http; public interface HttpServletResponse { java.io.PrintWriter getWriter() throws java.io.IOException; }",
    ),
];

const OLD: &str = r#"
import javax.servlet.http.*;

public class Old extends HttpServlet {
    protected void doGet(HttpServletRequest q, HttpServletResponse r) throws java.io.IOException {
        r.getWriter().print(HttpServlet.class.getName() + " " + q.getContextPath());
    }
}
"#;

const OLD_DESCRIPTOR: &str = r#"<web-app xmlns="http://xmlns.jcp.org/xml/ns/javaee" version="3.1">
    <servlet><servlet-name>old</servlet-name><servlet-class>Old</servlet-class></servlet>
    <servlet-mapping><servlet-name>old</servlet-name><url-pattern>/old</url-pattern></servlet-mapping></web-app>"#;

const OLD_PAGE: &str = "<%@ page contentType=\"text/plain\" import=\"javax.servlet.http.Cookie\" %><%= Cookie.class.getName() %>";

/// An application for servers before Tomcat 10, as an archive and unpacked.
#[test]
fn an_application_for_older_servers_is_converted() {
    needs_java!();
    needs_program!("/usr/share/tomcat-jakartaee-migration/lib");
    let files = [("WEB-INF/web.xml", OLD_DESCRIPTOR), ("page.jsp", OLD_PAGE)];
    let archive = packed(&[("Old.java", OLD)], &files, &STUBS);
    let site = Site::new().file("app.war", archive).dir("state").mode("state", 0o1777).dir("unpacked");
    run(Command::new("jar").arg("xf").arg(site.path("app.war")).current_dir(site.path("unpacked")));
    let server = site
        .config("ServletApp /shop @ROOT@/app.war heap=64m work=@ROOT@/state\n")
        .config("ServletApp /open @ROOT@/unpacked work=@ROOT@/state\n")
        .start();
    for path in ["/shop", "/open"] {
        assert_eq!(says(&server, &format!("{path}/old")), format!("jakarta.servlet.http.HttpServlet {path}"));
        assert_eq!(says(&server, &format!("{path}/page.jsp")), "jakarta.servlet.http.Cookie");
    }
    assert_eq!(server.error_log().matches("is converted").count(), 2, "{}", server.error_log());
}

/// The API of an application is determined once; another file of it is inspected again.
#[test]
fn an_application_is_looked_through_once_and_again_when_its_classes_change() {
    needs_java!();
    needs_program!("/usr/share/tomcat-jakartaee-migration/lib");
    let site = Site::new()
        .dir("state")
        .mode("state", 0o1777)
        .file("app/a.txt", "plain")
        .file("app/WEB-INF/web.xml", "<web-app/>")
        .config("ServletApp /shop @ROOT@/app heap=64m work=@ROOT@/state\n");
    let server = site.start();
    assert_eq!(says(&server, "/shop/a.txt"), "plain");
    let kept = files_named(server.site(), "legacy-");
    let [(_, before)] = &kept[..] else { panic!("{kept:?}") };
    assert!(before.ends_with("not old"), "{before}");
    // The virtual machine starts anew, with one page more; nothing else of the application has changed.
    fs::write(server.site().path("app/page.jsp"), OLD_PAGE).unwrap();
    assert!(server.get("/shop/none.jsp").status == 404);
    fs::write(
        server.site().path("httpd.conf"),
        fs::read_to_string(server.site().path("httpd.conf")).unwrap().replace("heap=64m", "heap=65m"),
    )
    .unwrap();
    assert!(crate::faults::process::reload(&server).status.success());
    crate::faults::await_that("it is converted", || {
        server.get("/shop/page.jsp").text() == "jakarta.servlet.http.Cookie"
    });
    let kept = files_named(server.site(), "legacy-");
    assert!(kept.iter().any(|(_, text)| text.ends_with(" page.jsp\n old")), "{kept:?}");
}

/// Files of this name below a site's folder, with what is in them.
fn files_named(site: &Site, prefix: &str) -> Vec<(std::path::PathBuf, String)> {
    let find = Command::new("find").arg(site.root()).args(["-name", &format!("{prefix}*")]).output().unwrap();
    let paths = String::from_utf8_lossy(&find.stdout).into_owned();
    paths.lines().map(|path| (path.into(), fs::read_to_string(path).unwrap())).collect()
}
