//! The showcase's page of JSP.

use super::showcase;
use hostler_tests::needs_program;

#[test]
fn a_page_of_jsp_says_who_runs_it() {
    needs_program!("/usr/bin/javac");
    needs_program!("/usr/share/java/tomcat10-embed-core.jar");
    needs_program!("/usr/share/java/tomcat10-annotations-api.jar");
    needs_program!("/usr/share/java/eclipse-jdt-core.jar");
    let server = showcase();
    let index = server.get("/").text();
    assert!(index.contains("id=\"java\"") && index.contains("ServletApp /java"), "{index}");
    let page = server.get("/java/");
    let text = page.text();
    assert_eq!(page.status, 200, "{text}{}", server.error_log());
    assert!(text.contains("answers GET /java/") && text.contains("You have been here 1 time."), "{text}");
    let cookie = page.field("Set-Cookie").and_then(|field| field.split(';').next()).unwrap_or_default();
    let again = server.get_with("/java/", &format!("Host: localhost\r\nCookie: {cookie}\r\n")).text();
    assert!(again.contains("You have been here 2 times."), "{again}");
}
