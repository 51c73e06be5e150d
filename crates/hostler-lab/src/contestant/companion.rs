//! Contestants that are more than one server, or none that reads a configuration of its own: nginx before php-fpm, Apache
//! before a Tomcat, a Tomcat, gunicorn, uvicorn, Granian. Each is one command, a script where something has to be started first.

use super::Site;
use super::configuration::Place;
use super::kind::{Kind, installed};
use super::users::site_user;
use anyhow::{Context, Result};
use rustix::process::geteuid;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

const SERVER_XML: &str = include_str!("../../../../lab/peers/tomcat.xml");
const WEB_XML: &str = include_str!("../../../../lab/peers/tomcat-web.xml");
const FPM: &str = include_str!("../../../../lab/peers/php-fpm.conf");

/// The log of a server that another one is started for.
pub(super) const LOG: &str = "first.log";
/// Debian's folder of Java archives.
const JARS: &str = "/usr/share/java";
/// A Tomcat's archives, with its pool of database connections and its JSP compiler.
const TOMCAT: [&str; 8] = [
    "tomcat10-embed-core",
    "tomcat10-embed-el",
    "tomcat10-embed-jasper",
    "tomcat10-embed-websocket",
    "tomcat10-annotations-api",
    "tomcat10-jdbc",
    "tomcat10-juli",
    "eclipse-jdt-core",
];
/// As much as Hostler gives to a site that says nothing.
const HEAP: &str = "-Xmx256m";

/// The archives of a Tomcat; `None`: not all of them are here.
pub(super) fn tomcat() -> Option<Vec<PathBuf>> {
    let jars = TOMCAT.iter().map(|name| Path::new(JARS).join(format!("{name}.jar")));
    jars.map(|jar| jar.exists().then_some(jar)).collect()
}

/// php-fpm as Debian installs it, or unpacked by `setup.sh`; its name has PHP's version.
pub(super) fn php_fpm() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let unpacked = this.ancestors().take(5).map(|folder| folder.join("oracle"));
    let packages = unpacked.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let folders = packages.map(|package| package.path().join("usr/sbin"));
    std::iter::once(PathBuf::from("/usr/sbin")).chain(folders).find_map(|folder| {
        let programs = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_one = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("php-fpm"))
        };
        programs.filter(is_one).max()
    })
}

/// The command of a server that php-fpm is to be started for.
pub(super) fn before_fpm(site: &Site, place: Place<'_>, server: &[String]) -> Result<Vec<String>> {
    let fpm = php_fpm().context("php-fpm is not installed")?;
    let file = place.folder.join("php-fpm.conf");
    let user =
        if geteuid().is_root() { format!("user = {0}\ngroup = {0}", site_user()) } else { String::new() };
    let text = FPM
        .replace("@USER@", &user)
        .replace("@RUN@", &place.run.to_string_lossy())
        .replace("@LOGS@", &place.folder.to_string_lossy())
        .replace("@WORKERS@", &site.workers.unwrap_or(64).to_string());
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let mut first: Vec<String> = settings(&fpm).into_iter().flatten().collect();
    first.extend([fpm.to_string_lossy().into_owned(), "--nodaemonize".to_owned()]);
    if geteuid().is_root() {
        first.push("--allow-to-run-as-root".to_owned());
    }
    if let Some(ini) = &site.php_ini {
        first.extend(["-c".to_owned(), site.root.join(ini).to_string_lossy().into_owned()]);
    }
    first.extend(["--fpm-config".to_owned(), file.to_string_lossy().into_owned()]);
    after(place, &first, &format!("[ -S '{}/fpm.sock' ]", place.run.display()), server)
}

/// The settings of an unpacked PHP, which finds none of its own: mod_php's, or those of another PHP of its version.
fn settings(fpm: &Path) -> Option<[String; 2]> {
    let version = fpm.file_name()?.to_str()?.strip_prefix("php-fpm")?;
    let folder = |kind: &str| PathBuf::from(format!("/etc/php/{version}/{kind}/conf.d"));
    if folder("fpm").is_dir() {
        return None;
    }
    let found = ["apache2", "embed", "cli"].into_iter().map(folder).find(|folder| folder.is_dir())?;
    Some(["/usr/bin/env".to_owned(), format!("PHP_INI_SCAN_DIR={}", found.display())])
}

/// The command of a server that a Tomcat is to be started for, which speaks AJP.
pub(super) fn before_tomcat(site: &Site, place: Place<'_>, server: &[String]) -> Result<Vec<String>> {
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let first = tomcat_at(site, place, own)?;
    let is_up = format!("grep -q 'Starting ProtocolHandler.*ajp' '{}'", log(place).display());
    after(place, &first, &is_up, server)
}

/// The command of a server that programs are to be started for, by a script, as the site's user.
pub(super) fn before_programs(place: Place<'_>, script: &str, server: &[String]) -> Result<Vec<String>> {
    let file = place.folder.join("programs.sh");
    fs::write(&file, script).with_context(|| format!("cannot write {}", file.display()))?;
    let mut first = as_site_user()?;
    first.extend(["/bin/sh".to_owned(), file.to_string_lossy().into_owned()]);
    after(place, &first, &format!("[ -e '{}/state/ready' ]", place.run.display()), server)
}

/// Words before a command that make its process the site's user.
fn as_site_user() -> Result<Vec<String>> {
    if !geteuid().is_root() {
        return Ok(Vec::new());
    }
    let user = site_user().to_string();
    let setpriv = installed("setpriv").context("setpriv is not installed")?.to_string_lossy().into_owned();
    let words = ["--reuid", &user, "--regid", &user, "--clear-groups", "--"];
    Ok(std::iter::once(setpriv).chain(words.map(str::to_owned)).collect())
}

/// The command of a Tomcat with its own connector at this port.
pub(super) fn tomcat_at(site: &Site, place: Place<'_>, port: u16) -> Result<Vec<String>> {
    let jars = tomcat().context("Tomcat is not installed")?;
    let base = place.folder.join("tomcat");
    fs::create_dir_all(base.join("conf"))?;
    let text = SERVER_XML.replace("@PORT@", &port.to_string()).replace("@AJP@", &place.second.to_string());
    fs::write(base.join("conf/server.xml"), text.replace("@RUN@", &place.run.to_string_lossy()))?;
    fs::write(base.join("conf/web.xml"), WEB_XML)?;
    let class_path: Vec<_> = jars.iter().map(|jar| jar.to_string_lossy()).collect();
    let work = place.run.join("tomcat");
    fs::create_dir_all(&work)?;
    if geteuid().is_root() {
        std::os::unix::fs::chown(&work, Some(site_user()), Some(site_user()))?;
    }
    let mut words = as_site_user()?;
    let java = installed("java").context("Java is not installed")?;
    words.extend([java.to_string_lossy().into_owned(), HEAP.to_owned()]);
    // What it writes is removed with the run; what it is configured with stays.
    fs::create_dir_all(work.join("conf"))?;
    for name in ["server.xml", "web.xml"] {
        fs::copy(base.join("conf").join(name), work.join("conf").join(name))?;
    }
    words.push(format!("-Dcatalina.base={}", work.display()));
    words.push(format!("-Dcatalina.home={}", work.display()));
    // It would go on without a connector whose port is taken.
    words.push("-Dorg.apache.catalina.startup.EXIT_ON_INIT_FAILURE=true".to_owned());
    words.extend(["-cp".to_owned(), class_path.join(":"), "org.apache.catalina.startup.Tomcat".to_owned()]);
    let application = site.root.join("servlet").to_string_lossy().into_owned();
    words.extend(["--path", "/servlet", "--war", &application, "--await"].map(str::to_owned));
    Ok(words)
}

/// Gunicorn's arguments. Five workers: twice the processors and one, as its documentation has it for two.
pub(super) fn gunicorn(site: &Site, place: Place<'_>) -> Result<Vec<String>> {
    let mut words = vec![format!("--bind=127.0.0.1:{}", place.port), "--worker-tmp-dir=/dev/shm".to_owned()];
    if geteuid().is_root() {
        words.extend([format!("--user={}", site_user()), format!("--group={}", site_user())]);
    }
    words.push(format!("--workers={}", site.workers.unwrap_or(5)));
    words.push(format!("--chdir={}", site.root.join("wsgi").display()));
    words.push(application_in_python(site)?);
    Ok(words)
}

fn application_in_python(site: &Site) -> Result<String> {
    Ok(format!("{}:application", site.python.context("this application has no program in Python")?))
}

/// Uvicorn's command, with uvloop and httptools where its environment has them. As many workers as gunicorn's.
pub(super) fn uvicorn(site: &Site, place: Place<'_>, program: Vec<String>) -> Result<Vec<String>> {
    let mut words = as_site_user()?;
    words.extend(program);
    words.extend(["--host=127.0.0.1".to_owned(), format!("--port={}", place.port)]);
    words.extend(["--no-access-log", "--log-level=warning", "--lifespan=off"].map(str::to_owned));
    words.push(format!("--workers={}", site.workers.unwrap_or(5)));
    words.push(format!("--app-dir={}", site.root.join("asgi").display()));
    words.push(application_in_python(site)?);
    Ok(words)
}

/// Granian's command.
pub(super) fn granian(
    site: &Site,
    place: Place<'_>,
    program: Vec<String>,
    interface: &str,
) -> Result<Vec<String>> {
    let mut words = as_site_user()?;
    words.extend(program);
    words.extend([format!("--interface={interface}"), "--host=127.0.0.1".to_owned()]);
    words.extend([format!("--port={}", place.port), "--no-access-log".to_owned()]);
    words.extend(["--log-level=warning".to_owned(), format!("--workers={}", site.workers.unwrap_or(5))]);
    words.push(format!("--working-dir={}", site.root.join(interface).display()));
    words.push(application_in_python(site)?);
    Ok(words)
}

/// Returns the log of a Tomcat beside another server.
fn log(place: Place<'_>) -> PathBuf {
    place.folder.join(LOG)
}

/// A script that starts one server, waits until a test says that it is there, and becomes the other. The first one ends with
/// the other.
fn after(place: Place<'_>, first: &[String], is_up: &str, then: &[String]) -> Result<Vec<String>> {
    let quoted = |words: &[String]| {
        let words: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        words.join(" ")
    };
    let setpriv = installed("setpriv").context("setpriv is not installed")?;
    let script = format!(
        "#!/bin/sh\n{} --pdeathsig TERM -- {} >'{}' 2>&1 &\nfirst=$!\nuntil {is_up}; do\n  kill -0 $first || exit 1\n  \
         sleep 0.02\ndone\nexec {}\n",
        setpriv.display(),
        quoted(first),
        log(place).display(),
        quoted(then)
    );
    let file = place.folder.join("start.sh");
    fs::write(&file, script).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(vec!["/bin/sh".to_owned(), file.to_string_lossy().into_owned()])
}

/// Why one of these cannot take part; the inner one: what helps.
pub(super) fn missing(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::NginxFpm | Kind::ApacheFpm if php_fpm().is_none() => {
            Some("php-fpm is not installed; ./setup.sh test unpacks it")
        }
        Kind::Tomcat | Kind::ApacheAjp | Kind::HostlerAjp
            if tomcat().is_none() || installed("java").is_none() =>
        {
            Some("Tomcat is not installed; ./setup.sh test installs it, with Java")
        }
        _ => None,
    }
}
