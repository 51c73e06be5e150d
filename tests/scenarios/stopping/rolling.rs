//! Rolling restarts in small: two instances behind Apache are stopped and started in turn while clients ask for files,
//! programs, applications, and upload. No request is lost.

use crate::faults::await_that;
use hostler_tests::{Site, free_port, hostler, needs_program};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Restarts of each instance.
const ROUNDS: usize = 3;
const CLIENTS: usize = 8;
/// More than any buffer on the way takes at once.
const UPLOAD: usize = 1 << 20;

struct Instance {
    site: Site,
    port: u16,
    running: Option<Child>,
}

impl Instance {
    fn new() -> Self {
        let config = "ScriptAlias /cgi-bin/ \"@ROOT@/cgi-bin/\"\n<Directory \"@ROOT@/cgi-bin\">\nRequire all granted\n\
                      </Directory>\nWSGIScriptAlias /wsgi \"@ROOT@/app/app.wsgi\"\n\
                      <Directory \"@ROOT@/app\">\nRequire all granted\n</Directory>\n\
                      <FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n";
        let application = "def application(environ, start_response):\n    start_response('200 OK', [])\n    return [b'wsgi']\n";
        let site = Site::new()
            .config(config)
            .file("htdocs/file", "file")
            .file("htdocs/page.php", "<?php echo 'p' . 'hp';")
            .file("app/app.wsgi", application)
            // Time: the load that a rolling restart meets has slow programs in it.
            .script("cgi-bin/slow", "#!/bin/sh\nsleep 0.3\nprintf 'Content-Type: text/plain\\n\\nslow'\n")
            .script(
                "cgi-bin/count",
                "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nwc -c | tr -d ' \\n'\n",
            );
        let mut instance = Self { site, port: free_port(), running: None };
        instance.start();
        instance
    }

    fn file(&self) -> PathBuf {
        self.site.path("httpd.conf")
    }

    fn start(&mut self) {
        let file = self.site.write_config(self.port);
        let running = Command::new(hostler()).args(["run", "-f"]).arg(file).spawn();
        self.running = Some(running.expect("hostler runs"));
        await_that("it serves", || TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok());
        await_that("the PidFile", || self.site.path("hostler.pid").exists());
    }

    /// Bytes of its access log.
    fn logged(&self) -> u64 {
        self.site.path("logs/access.log").metadata().map_or(0, |log| log.len())
    }

    fn stop(&mut self) {
        let stopped = Command::new(hostler()).args(["stop", "-f"]).arg(self.file()).status();
        assert!(stopped.expect("hostler runs").success());
        assert!(
            self.running.take().is_some_and(|mut child| child.wait().is_ok_and(|status| status.success()))
        );
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.running.is_some() {
            let _ = Command::new(hostler()).args(["stop", "--now", "-f"]).arg(self.file()).status();
            self.running.take().map(|mut child| child.wait());
        }
    }
}

/// Apache in front of both.
struct Balancer {
    site: Site,
    port: u16,
    running: Child,
}

/// The modules that it needs.
const MODULES: [&str; 7] = [
    "mpm_event",
    "authz_core",
    "proxy",
    "proxy_http",
    "slotmem_shm",
    "proxy_balancer",
    "lbmethod_byrequests",
];

impl Balancer {
    fn start(of: &[Instance]) -> Self {
        let (site, port) = (Site::new().dir("balancer"), free_port());
        let folder = site.path("balancer").display().to_string();
        let modules: String = MODULES
            .iter()
            .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
            .collect();
        let members: String = of
            .iter()
            .map(|instance| format!("BalancerMember http://127.0.0.1:{} retry=1 ttl=1\n", instance.port))
            .collect();
        let config = format!(
            "{modules}ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/pid\n\
             DefaultRuntimeDir {folder}\nErrorLog {folder}/error.log\nUser www-data\nGroup www-data\n\
             <Proxy balancer://instances>\n{members}</Proxy>\nProxyPass / balancer://instances/\n"
        );
        let site = site.file("balancer/apache.conf", config);
        let mut command = Command::new("/usr/sbin/apache2");
        command.arg("-DFOREGROUND").arg("-f").arg(site.path("balancer/apache.conf"));
        let running = command.spawn().expect("Apache runs");
        await_that("Apache listens", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
        Self { site, port, running }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = std::fs::read_to_string(self.site.path("balancer/error.log")).unwrap_or_default();
            eprintln!("Apache said:\n{log}");
        }
        let _ = Command::new("kill").arg(self.running.id().to_string()).status();
        let _ = self.running.wait();
    }
}

/// Sends a request on a connection of its own; returns the response.
fn ask(port: u16, path: &str, body: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let method = if body.is_empty() { "GET" } else { "POST" };
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")?;
    stream.write_all(body)?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

/// The requests of one client, in turn: the path, the body, and the response's body.
fn load(with_php: bool) -> Vec<(&'static str, Vec<u8>, String)> {
    let plain = |path, text: &str| (path, Vec::new(), text.to_owned());
    let mut all = vec![plain("/file", "file"), plain("/cgi-bin/slow", "slow"), plain("/wsgi", "wsgi")];
    all.push(("/cgi-bin/count", vec![b'u'; UPLOAD], UPLOAD.to_string()));
    all.extend(with_php.then(|| plain("/page.php", "php")));
    all
}

#[test]
fn no_request_is_lost_while_instances_restart() {
    needs_program!("/usr/sbin/apache2");
    let mut instances = [Instance::new(), Instance::new()];
    let balancer = Balancer::start(&instances);
    let load = load(hostler_tests::Php::usual().is_some());
    let (ends, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let lost: Vec<String> = thread::scope(|scope| {
        let client = || {
            let mut lost = Vec::new();
            for (path, body, expected) in load.iter().cycle() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                match ask(balancer.port, path, body) {
                    Ok(got)
                        if got.contains(" 200 OK\r\n") && got.ends_with(&format!("\r\n\r\n{expected}")) =>
                    {
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                    got => lost.push(format!("{path}: {got:?}")),
                }
            }
            lost
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        for _ in 0..ROUNDS {
            for instance in &mut instances {
                instance.stop();
                let before = instance.logged();
                instance.start();
                await_that("the balancer uses it again", || instance.logged() > before);
            }
        }
        ends.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect()
    });
    assert!(lost.is_empty(), "{} lost, {served:?} served: {lost:#?}", lost.len());
}
