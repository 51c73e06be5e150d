//! Applications of others as Debian packages them: Tomcat's first page, its documentation and its examples, not a file of them
//! changed.

use hostler_tests::{Server, Site, needs_program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the packages tomcat10, tomcat10-docs and tomcat10-examples, or tomcat10-admin: installed or
/// unpacked by `setup.sh`.
fn packages(name: &str, application: &str) -> Option<PathBuf> {
    let unpacked =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle").join(name).join("usr/share");
    let places = [PathBuf::from("/usr/share"), unpacked];
    places.into_iter().find(|folder| folder.join(application).join("WEB-INF").is_dir())
}

/// Copies it into the site, with what links lead to: a site is one folder, as a user would upload it.
fn copy(from: &Path, site: &Site, to: &str) {
    let copied = Command::new("cp").arg("-RL").arg(from).arg(site.root().join(to)).status().unwrap();
    assert!(copied.success(), "{}", from.display());
}

/// All three, at the paths that their packages give them; `None`, which is said: they are not here.
fn serve() -> Option<Server> {
    let Some(packages) = packages("tomcat10", "tomcat10-examples/examples") else {
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
        copy(&packages.join(from), &site, to);
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

/// A user who may log in to it starts, stops and reloads applications; the configuration determines which exist.
#[test]
fn tomcat_s_manager_manages_the_other_applications() {
    needs_java!();
    let Some(packages) = packages("tomcat10-admin", "tomcat10-admin/manager") else {
        return hostler_untested::untested("tomcat10-admin is not here; ./setup.sh test unpacks it");
    };
    let site = Site::new()
        .dir("state")
        .mode("state", 0o1777)
        .file("shop/a.txt", "sold")
        .file("shop/WEB-INF/web.xml", "<web-app/>")
        .file("users.xml", "<tomcat-users><user username='eve' password='x' roles='manager-gui,manager-script'/></tomcat-users>")
        .config(
            "ServletApp /manager @ROOT@/manager heap=64m work=@ROOT@/state descriptor=@ROOT@/manager.xml\n\
             ServletApp /shop @ROOT@/shop work=@ROOT@/state\n",
        );
    let users = site.path("users.xml");
    let realm = "<Realm className='org.apache.catalina.realm.MemoryRealm' pathname";
    let descriptor = format!("<Context privileged='true'>{realm}='{}'/></Context>", users.display());
    let site = site.file("manager.xml", descriptor);
    copy(&packages.join("tomcat10-admin/manager"), &site, "manager");
    let server = site.start();
    assert_eq!(server.get("/manager/html").status, 401, "{}", server.error_log());
    let ask = |what: &str| {
        let fields = "Host: a\r\nAuthorization: Basic ZXZlOng=\r\n";
        server.get_with(&format!("/manager/{what}"), fields).text()
    };
    assert!(ask("html").contains("manager&#47;html&#47;reload"), "{}", ask("html"));
    assert!(ask("text/list").contains("/shop:running:0:"), "{}", ask("text/list"));
    for (what, said, status) in [
        ("reload?path=/shop", "OK - Reloaded application at context path [/shop]", 200),
        ("stop?path=/shop", "OK - Stopped application at context path [/shop]", 404),
        ("start?path=/shop", "OK - Started application at context path [/shop]", 200),
        ("undeploy?path=/shop", "FAIL - ", 200),
        ("deploy?path=/other&war=file:/etc", "ServletApp says which there are", 200),
    ] {
        let text = ask(&format!("text/{what}"));
        assert!(text.contains(said), "{what}: {text}{}", server.error_log());
        assert_eq!(server.get("/shop/a.txt").status, status, "{what}");
    }
}
