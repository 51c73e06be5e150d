//! The page that shows each technique with its source, its time and its isolation.

use super::showcase;
use hostler_tests::needs_program;

/// Titles of rows that have times wherever the tests run; others depend on what is installed.
const ALWAYS: [&str; 6] = [
    "A file",
    "Server-side includes",
    "CGI, a shell script",
    "Perl: Registry",
    "Perl: a handler",
    "Perl: PSGI",
];

/// A row of the table.
fn row<'a>(page: &'a str, title: &str) -> &'a str {
    let row = page.lines().find(|line| line.starts_with("<tr>") && line.contains(&format!(">{title}</a>")));
    row.unwrap_or_else(|| panic!("no row {title}: {page}"))
}

#[test]
fn all_techniques_are_measured_on_one_page() {
    needs_program!("/usr/bin/perl");
    let server = showcase();
    assert!(server.get("/").text().contains("/cgi-bin/techniques.pl"));
    let answer = server.get("/cgi-bin/techniques.pl");
    let page = answer.text();
    assert_eq!(answer.status, 200, "{page}{}", server.error_log());
    for title in ALWAYS {
        assert_eq!(row(&page, title).matches(" ms</td>").count(), 2, "{title}: {page}{}", server.error_log());
    }
    for title in ["PHP", "Python: WSGI", "Python: ASGI", "Java: JSP", "FastCGI", "Another server"] {
        let row = row(&page, title);
        let told = row.matches(" ms</td>").count() == 2 || row.contains("not here, or not ready: it needs");
        assert!(told, "{row}{}", server.error_log());
    }
    for source in ["cgi-bin/hello.sh", "SetHandler psgi", "ServletApp /java", "php/hello.php"] {
        assert!(page.contains(source), "{source}: {page}");
    }
    assert_eq!(page.matches("<section class=").count(), page.matches("</section>").count());
    // Where a row leads to stands whose source it is.
    for (row_of, heading) in [("CGI, a shell script", ""), ("Python: ASGI", "Python: WSGI and ")] {
        let row = row(&page, row_of);
        let part = row.split("href=\"#").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let section = format!("id=\"{part}\"><h3>{heading}{row_of}</h3>");
        assert!(page.contains(&section), "{row}: {page}");
    }
}
