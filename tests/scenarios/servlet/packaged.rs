//! Applications of others as Debian packages them: Tomcat's first page, its documentation and its examples, not a file of them
//! changed.

use hostler_tests::{Server, Site, needs_program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages tomcat10, tomcat10-docs and tomcat10-examples, installed or unpacked by `setup.sh`.
fn packages() -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/tomcat10/usr/share");
    let places = [PathBuf::from("/usr/share"), unpacked];
    places.into_iter().find(|folder| folder.join("tomcat10-examples/examples/WEB-INF").is_dir())
}

/// All three, at the paths that their packages give them; `None`, which is said: they are not here.
fn serve() -> Option<Server> {
    let Some(packages) = packages() else {
        hostler_untested::untested("tomcat10-examples is not here; ./setup.sh test unpacks it");
        return None;
    };
    let site = Site::new().dir("state").mode("state", 0o1777).config(
        "ServletApp / @ROOT@/root heap=64m work=@ROOT@/state\n\
         ServletApp /docs @ROOT@/docs work=@ROOT@/state\n\
         ServletApp /examples @ROOT@/examples work=@ROOT@/state\n",
    );
    let names = [
        ("tomcat10-root/default_root", "root"),
        ("tomcat10-docs/docs", "docs"),
        ("tomcat10-examples/examples", "examples"),
    ];
    for (from, to) in names {
        // What links lead to, too: a site is one folder, as a user would upload it.
        let copied = Command::new("cp")
            .arg("-RL")
            .arg(packages.join(from))
            .arg(site.root().join(to))
            .status()
            .unwrap();
        assert!(copied.success(), "{from}");
    }
    Some(site.start())
}

fn says(server: &Server, target: &str, status: u16, text: &str) {
    let answer = server.get(target);
    assert_eq!(answer.status, status, "{target}: {}\n{}", answer.text(), server.error_log());
    assert!(answer.text().contains(text), "{target}: {}", answer.text());
}

#[test]
fn tomcat_s_own_applications_are_served_as_they_are() {
    needs_java!();
    let Some(server) = serve() else { return };
    for (target, status, text) in [
        ("/", 200, "It works !"),
        ("/index.html", 200, "It works !"),
        ("/nothing", 404, ""),
        ("/docs/", 200, "Documentation Index"),
        ("/docs/RELEASE-NOTES.txt", 200, "Apache Tomcat Version 10"),
        ("/docs/config/ajp.html", 200, "secretRequired"),
        ("/docs/WEB-INF/", 404, ""),
        ("/examples/", 200, "Apache Tomcat Examples"),
        ("/examples/servlets/servlet/HelloWorldExample", 200, "Hello"),
        (
            "/examples/servlets/servlet/RequestInfoExample/more?a=b",
            200,
            "/examples/servlets/servlet/RequestInfoExample/more",
        ),
        ("/examples/servlets/servlet/RequestInfoExample", 200, "127.0.0.1"),
        ("/examples/servlets/servlet/RequestHeaderExample", 200, "host"),
        ("/examples/servlets/servlet/RequestParamExample?firstname=A%26B&lastname=C", 200, "A&amp;B"),
        ("/examples/servlets/servlet/SessionExample?dataname=x&datavalue=kept", 200, "x = kept"),
        ("/examples/servlets/chat/", 404, ""),
        ("/examples/jsp/dates/date.jsp", 200, "Year: is"),
        ("/examples/jsp/num/numguess.jsp", 200, "Number Guess"),
        ("/examples/jsp/snp/snoop.jsp", 200, "Request URI: /examples/jsp/snp/snoop.jsp"),
        ("/examples/jsp/include/include.jsp", 200, ""),
        ("/examples/jsp/forward/forward.jsp", 200, ""),
        ("/examples/jsp/jsp2/el/basic-arithmetic.jsp", 200, "<td>${1 + 2}</td>"),
        ("/examples/jsp/jsp2/el/implicit-objects.jsp?foo=bar", 200, "bar"),
        ("/examples/jsp/jsp2/simpletag/hello.jsp", 200, "Hello, world!"),
        ("/examples/jsp/jsp2/tagfiles/hello.jsp", 200, "Hello, world!"),
        ("/examples/jsp/jsp2/jspx/textRotate.jspx?name=x", 200, "svg"),
        ("/examples/jsp/tagplugin/if.jsp", 200, "Tag Plugin Examples: if"),
        ("/examples/jsp/xml/xml.jsp", 200, "Example JSP in XML format"),
        ("/examples/async/async0", 200, ""),
        ("/examples/async/async1", 200, ""),
        ("/examples/jsp/security/protected/index.jsp", 200, "j_security_check"),
        ("/examples/WEB-INF/web.xml", 404, ""),
        ("/examples/websocket/echo.xhtml", 200, "echoAnnotation"),
    ] {
        says(&server, target, status, text);
    }
}

/// A session of an application's own, by a cookie that holds for its path.
#[test]
fn tomcat_s_example_of_sessions_remembers_a_visitor() {
    needs_java!();
    let Some(server) = serve() else { return };
    let first = server.get("/examples/servlets/servlet/SessionExample?dataname=who&datavalue=Anna");
    let set = first.field("Set-Cookie").unwrap_or_default().to_owned();
    assert!(set.contains("Path=/examples") && set.contains("SameSite=Strict"), "{set}");
    let cookie = set.split(';').next().unwrap_or_default();
    let again = server
        .get_with("/examples/servlets/servlet/SessionExample", &format!("Host: a\r\nCookie: {cookie}\r\n"));
    assert!(again.text().contains("who = Anna"), "{}", again.text());
}
