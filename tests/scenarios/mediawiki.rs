//! MediaWiki as Debian packages it, on SQLite, set up by its own installer: what its readers and writers do.

use crate::wordpress::{Visitor, between};
use hostler_tests::{SITE_UID, Site, is_root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// PHP's command, which runs the installer.
const PHP: &str = "/usr/bin/php8.2";
const EXTENSIONS: [&str; 4] = ["mbstring", "dom", "intl", "pdo_sqlite"];

/// Returns MediaWiki's folder; reports a missing requirement.
fn files() -> Option<PathBuf> {
    let unpacked =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/mediawiki/usr/share/mediawiki");
    let installed = PathBuf::from("/usr/share/mediawiki");
    let found = [installed, unpacked].into_iter().find(|folder| folder.join("index.php").exists());
    let is_there = |name: &&str| Path::new("/usr/lib/php/20220829").join(format!("{name}.so")).exists();
    let all = Path::new(PHP).exists()
        && Path::new("/usr/lib/libphp8.2.so").exists()
        && EXTENSIONS.iter().all(is_there);
    if found.is_none() || !all {
        hostler_tests::untested(
            "MediaWiki, PHP's library or one of its extensions is missing (./setup.sh test)",
        );
        return None;
    }
    found.filter(|_| all).map(|folder| folder.canonicalize().expect("it is there"))
}

/// Installs a wiki into the site's folder, and says what its author would write into its settings.
fn install(site: &Site, files: &Path) {
    let data = site.path("data");
    let output = Command::new(PHP)
        .arg(files.join("maintenance/install.php"))
        .args([
            "--dbtype",
            "sqlite",
            "--dbname",
            "wiki",
            "--scriptpath",
            "/w",
            "--server",
            "http://localhost",
        ])
        .args(["--pass", "a-long-secret"])
        .arg("--dbpath")
        .arg(&data)
        .arg("--confpath")
        .arg(site.path("conf"))
        .args(["Wiki", "Author"])
        .output()
        .expect("the installer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let file = site.path("conf/LocalSettings.php");
    let own = format!(
        "\n$wgServer = WebRequest::detectServer();\n$wgEnableUploads = true;\n$wgUploadDirectory = '{}';\n\
         $wgCacheDirectory = '{}';\n$wgUploadPath = '/images';\n$wgMainCacheType = CACHE_DB;\n$wgUsePathInfo = true;\n",
        site.path("htdocs/images").display(),
        data.display()
    );
    let settings = fs::read_to_string(&file).expect("the installer has written it");
    fs::write(&file, settings + &own).expect("ours");
    let mut all = vec![file, data.clone(), site.path("htdocs/images")];
    all.extend(fs::read_dir(&data).expect("a database").flatten().map(|entry| entry.path()));
    if is_root() {
        for path in all {
            std::os::unix::fs::chown(path, Some(SITE_UID), Some(SITE_UID)).expect("root may give files away");
        }
    }
}

fn config(files: &Path) -> String {
    format!(
        "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\nPHPINIDir \"@ROOT@/php.ini\"\n\
         Alias /w \"{folder}\"\n<Directory \"{folder}\">\nOptions FollowSymLinks\nDirectoryIndex index.php\nAllowOverride All\n\
         Require all granted\nSetEnv MW_CONFIG_FILE \"@ROOT@/conf/LocalSettings.php\"\n</Directory>\n\
         <Directory \"@ROOT@/htdocs/images\">\nphp_admin_flag engine off\n</Directory>",
        folder = files.display()
    )
}

/// Returns the token that a form has to repeat against forgery.
fn token(author: &mut Visitor<'_>, kind: &str) -> String {
    let said = author.get(&format!("/w/api.php?action=query&meta=tokens&type={kind}&format=json")).1;
    between(&said, &format!("\"{kind}token\":\""), "\"").replace("\\\\", "\\")
}

/// As a form writes it.
fn encoded(token: &str) -> String {
    token.replace('\\', "%5C").replace('+', "%2B")
}

/// A picture of one point.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

#[test]
fn mediawiki_is_read_written_to_and_uploaded_to() {
    let Some(files) = files() else { return };
    let site = Site::new()
        .dir("data")
        .dir("conf")
        .dir("htdocs/images")
        .file("php.ini", "log_errors=1\ndisplay_errors=0\noutput_buffering=4096\n");
    install(&site, &files);
    let server = site.config(&config(&files)).start();
    let mut author = Visitor { server: &server, cookies: Vec::new() };

    assert_eq!(author.get("/w/index.php").0, 301);
    let (status, page) = author.get("/w/index.php/Main_Page");
    assert!(status == 200 && page.contains("MediaWiki has been installed"), "{status} {page}");
    assert_eq!(author.get("/w/index.php/No_such_page").0, 404);
    assert!(author.get("/w/load.php?lang=en&modules=startup&only=scripts&raw=1").1.contains("mw.loader"));

    let login = encoded(&token(&mut author, "login"));
    let form = format!("action=login&lgname=Author&lgpassword=a-long-secret&lgtoken={login}&format=json");
    assert!(author.form("/w/api.php", &form).1.contains("\"Success\""));
    let csrf = token(&mut author, "csrf");
    let form = format!(
        "action=edit&title=Of%20a%20test/%C3%A9&text=%27%27%27bold%27%27%27&token={}&format=json",
        encoded(&csrf)
    );
    assert!(author.form("/w/api.php", &form).1.contains("\"Success\""));
    let (status, page) = author.get("/w/index.php/Of_a_test/%C3%A9");
    assert!(status == 200 && page.contains("<b>bold</b>"), "{status} {page}");

    let part = |name: &str, value: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let fields = [
        ("action", "upload"),
        ("filename", "Dot.png"),
        ("ignorewarnings", "1"),
        ("format", "json"),
        ("token", &*csrf),
    ];
    let mut body: Vec<u8> = fields.map(|(name, value)| part(name, value)).concat().into_bytes();
    body.extend_from_slice(
        b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"Dot.png\"\r\nContent-Type: image/png\r\n\r\n",
    );
    body.extend_from_slice(PICTURE);
    body.extend_from_slice(b"\r\n--x--\r\n");
    let said = author.send("/w/api.php", "Content-Type: multipart/form-data; boundary=x\r\n", &body).1;
    assert!(said.contains("\"Success\""), "{said}");
    let (_, page) = author.get("/w/index.php/File:Dot.png");
    let picture = format!("/images/{}", between(&page, "href=\"/images/", "\""));
    assert_eq!(author.get(&picture).0, 200);
}
