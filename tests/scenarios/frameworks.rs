//! Programs on frameworks in PHP, as Debian packages those: one entry for all URLs, below a URL of its own and at the root.

use crate::wordpress::{Visitor, between};
use hostler_tests::{SITE_UID, Server, Site, await_that, is_root};
use std::fs;

const KERNEL: &str = include_str!("frameworks/kernel.php");
const LUMEN: &str = include_str!("frameworks/lumen.php");

/// The rules that lead all URLs without a file to the entry.
const RULES: &str = "RewriteEngine On\nRewriteCond %{HTTP:Authorization} .\nRewriteRule ^ - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\n\
    RewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ index.php [L]\n";

macro_rules! needs_framework {
    ($file:literal) => {
        hostler_tests::needs_php!();
        hostler_tests::needs_program!($file);
    };
}

/// The program, with what it keeps beside its public folder; `/app` and the second server's root lead to the same.
fn serve(program: &str) -> Server {
    let site = Site::new()
        .file("php.ini", "log_errors=1\ndisplay_errors=0\noutput_buffering=4096\nerror_reporting=E_ALL&~E_DEPRECATED\n")
        .file("app/public/index.php", program)
        .file("app/public/digits.txt", "0123456789")
        .file("app/public/.htaccess", RULES)
        .dir("app/data")
        .config(
            "DirectoryIndex index.php\n<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n\
             PHPINIDir \"@ROOT@/php.ini\"\nAlias /app \"@ROOT@/app/public\"\n<Directory \"@ROOT@/app/public\">\nAllowOverride All\n\
             Options FollowSymLinks\nRequire all granted\n</Directory>\n\
             <VirtualHost *:@PORT@>\nServerName below.test\n</VirtualHost>\n\
             <VirtualHost *:@PORT@>\nServerName root.test\nDocumentRoot \"@ROOT@/app/public\"\n</VirtualHost>",
        );
    let site = if is_root() { site.owner("app/data", SITE_UID) } else { site };
    site.start()
}

fn get(server: &Server, host: &str, target: &str, fields: &str) -> (u16, String) {
    let answer = server.get_with(target, &format!("Host: {host}.test\r\n{fields}"));
    (answer.status, answer.text())
}

fn send(server: &Server, method: &str, target: &str, kind: &str, body: &str) -> (u16, String) {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: below.test\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = server.request(format!("{head}{body}").as_bytes());
    (answer.status, answer.text())
}

#[test]
fn an_application_on_symfony_s_kernel_finds_its_urls() {
    needs_framework!("/usr/share/php/Symfony/Component/HttpKernel/autoload.php");
    let server = serve(KERNEL);
    for (host, base, script) in [("below", "/app", "/app/index.php"), ("root", "", "/index.php")] {
        assert_eq!(get(&server, host, &format!("{base}/"), ""), (200, "home".into()));
        let said = get(
            &server,
            host,
            &format!("{base}/hello/W%C3%B6rld?x=1&y%5B%5D=2"),
            "Authorization: Basic YTpi\r\nX-Own: own\r\nAccept-Language: de\r\n",
        );
        let base = base.replace('/', "\\/");
        let script = script.replace('/', "\\/");
        let wanted = format!(
            "[\"W\\u00f6rld\",\"{base}\",\"\\/hello\\/W%C3%B6rld\",\"{script}\",{{\"x\":\"1\",\"y\":[\"2\"]}},\"a\",\"b\",\"own\",\"GET\",\
             false,\"{host}.test\",true,\"de\"]"
        );
        assert_eq!(said, (200, wanted));
    }
    // The entry can be named, too.
    let (status, said) = get(&server, "below", "/app/index.php/hello/a", "");
    assert!(
        status == 200 && said.starts_with("[\"a\",\"\\/app\\/index.php\",\"\\/hello\\/a\""),
        "{status} {said}"
    );
    assert_eq!(get(&server, "root", "/digits.txt", ""), (200, "0123456789".into()));
    assert_eq!(get(&server, "root", "/nothing", ""), (404, "page of error 404".into()));
    drop(server.await_error("NotFoundHttpException"));
    assert_eq!(get(&server, "root", "/broken", ""), (500, "page of error 500".into()));
    assert_eq!(send(&server, "POST", "/app/hello/a", "text/plain", "").0, 405);
}

#[test]
fn an_application_on_symfony_s_kernel_takes_forms_and_answers_in_all_its_ways() {
    needs_framework!("/usr/share/php/Symfony/Component/HttpKernel/autoload.php");
    let server = serve(KERNEL);
    let mut author = Visitor { server: &server, cookies: Vec::new() };
    let page = author.get("/app/form").1;
    let token = between(&page, "value=\"", "\"").to_owned();
    assert_eq!(author.form("/app/form", "token=wrong").0, 403);
    let body = format!(
        "--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n{token}\r\n--x\r\nContent-Disposition: form-data; \
         name=\"text\"\r\n\r\nsaid\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nof it\r\n--x--\r\n"
    );
    let sent = author.send("/app/form", "Content-Type: multipart/form-data; boundary=x\r\n", body.as_bytes());
    assert_eq!(sent.0, 303, "{}", sent.1);
    assert!(author.cookies.iter().any(|cookie| cookie == "seen=a%20b%3Bc"), "{:?}", author.cookies);
    assert!(author.get("/app/form").1.contains("<p>said 5 f.txt</p>"));
    assert_eq!(fs::read_to_string(server.site().path("app/data/kept")).expect("the upload"), "of it");

    for method in ["PUT", "DELETE", "POST"] {
        let said = send(&server, method, "/app/item", "application/json", "{\"a\":[1,2]}");
        assert_eq!(said, (201, format!("[\"{method}\",{{\"a\":[1,2]}},\"json\"]")));
    }
    let part = server.get_with("/app/file", "Host: below.test\r\nRange: bytes=2-4\r\n");
    assert_eq!(
        (part.status, part.text(), part.field("Content-Range")),
        (206, "234".into(), Some("bytes 2-4/10"))
    );
    assert_eq!(get(&server, "below", "/app/stream", ""), (200, "one\ntwo\nthree\n".into()));
    let same = server.get_with("/app/same", "Host: below.test\r\nIf-None-Match: \"own\"\r\n");
    assert_eq!((same.status, same.text(), same.field("ETag")), (304, String::new(), Some("\"own\"")));
    // What is left to do when the client has its answer.
    assert_eq!(get(&server, "below", "/app/?late=done", ""), (200, "home".into()));
    let late = server.site().path("app/data/late");
    await_that("it is done", || fs::read_to_string(&late).is_ok_and(|text| text == "done"));
}

#[test]
fn an_application_on_lumen_is_served() {
    needs_framework!("/usr/share/php/Laravel/Lumen/autoload.php");
    let server = serve(LUMEN);
    for (host, base) in [("below", "/app"), ("root", "")] {
        assert_eq!(get(&server, host, &format!("{base}/"), ""), (200, "home".into()));
        let fields = "Authorization: Bearer of-mine\r\nX-Requested-With: XMLHttpRequest\r\n";
        let said = get(&server, host, &format!("{base}/hello/you?x=1"), fields);
        let wanted = format!(
            "[\"you\",true,\"{}\",\"hello\\/you\",{{\"x\":\"1\"}},\"of-mine\",true]",
            base.replace('/', "\\/")
        );
        assert_eq!(said, (200, wanted));
        let gone = server.get_with(&format!("{base}/gone"), &format!("Host: {host}.test\r\n"));
        let wanted = format!("http://{host}.test{base}/hello/there");
        assert_eq!((gone.status, gone.field("Location")), (302, Some(&*wanted)));
    }
    let form = "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nsaid\r\n--x\r\nContent-Disposition: form-data; \
                name=\"list[]\"\r\n\r\n1\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\n\
                of it\r\n--x--\r\n";
    let said = send(&server, "POST", "/app/form", "multipart/form-data; boundary=x", form);
    assert_eq!(said, (200, "[\"said\",[\"1\"],\"f.txt\",\"of it\"]".into()));
    let said = send(&server, "PUT", "/app/item/7", "application/json", "{\"a\":1}");
    assert_eq!(said, (201, "[7,{\"a\":1}]".into()));
    let file = server.get_with("/app/download", "Host: below.test\r\n");
    assert_eq!((file.status, file.text()), (200, "0123456789".into()));
    assert!(file.field("Content-Disposition").is_some_and(|name| name.contains("numbers.txt")));
    assert_eq!(file.field("X-Middleware"), Some("GET"));
    assert_eq!(get(&server, "below", "/app/denied", "").0, 403);
    assert_eq!(get(&server, "below", "/app/nothing", "").0, 404);
    assert_eq!(get(&server, "below", "/app/broken", "").0, 500);
    drop(server.await_error("broken on purpose"));
    assert_eq!(get(&server, "below", "/app/", "").0, 200);
}
