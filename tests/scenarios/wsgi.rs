//! WSGI applications in the site's own Python, configured as mod_wsgi is. What one request is told and may answer is in
//! `conformance/cases/wsgi.toml`, beside mod_wsgi itself; here are processes.

use hostler_tests::{Server, Site, await_that, needs_program, needs_root};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The interpreter that is taken where nothing is said.
macro_rules! needs_python {
    () => {
        needs_program!("/usr/bin/python3")
    };
}

mod ahead;
mod faults;
mod remembered;

/// The start of all scripts here.
const ANSWER: &str = r#"
import os, sys
def say(start_response, text, status="200 OK"):
    start_response(status, [("Content-Type", "text/plain")])
    return [str(text).encode()]
"#;

/// A site whose `/` is an application, with further lines of configuration.
fn site(text: &str, config: &str) -> Site {
    let config = format!(
        "WSGIScriptAlias / \"@ROOT@/app/app.wsgi\"\n<Directory \"@ROOT@/app\">\nRequire all granted\n</Directory>\n{config}"
    );
    Site::new().file("app/app.wsgi", format!("{ANSWER}{text}")).config(&config)
}

const PID: &str = "def application(environ, start_response):\n    return say(start_response, os.getpid())\n";

/// Makes a virtual environment of the system's Python, without packages.
fn venv(site: &Site, name: &str) {
    let made =
        Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(site.path(name)).status();
    assert!(made.is_ok_and(|status| status.success()), "python3 -m venv works (package python3-venv)");
}

fn pid(server: &Server, target: &str) -> u32 {
    server.get(target).text().trim().parse().unwrap_or_else(|_| panic!("{}", server.error_log()))
}

#[test]
fn an_application_is_loaded_once_and_keeps_what_it_knows() {
    needs_python!();
    let text = "count = 0\ndef application(environ, start_response):\n    global count\n    count += 1\n    \
                return say(start_response, count)\n";
    let server = site(text, "MaxRequestWorkers 1\n").start();
    assert_eq!([1, 2, 3].map(|_| server.get("/").text()), ["1", "2", "3"]);
}

#[test]
fn static_files_stand_beside_an_application() {
    needs_python!();
    let site = site(
        PID,
        "Alias /static \"@ROOT@/static\"\n<Directory \"@ROOT@/static\">\nRequire all granted\n</Directory>\n",
    );
    let server = site.file("static/a.css", "css").start();
    assert_eq!(server.get("/static/a.css").text(), "css");
    assert_eq!(server.get("/static/b.css").status, 404);
    assert!(pid(&server, "/x") > 1);
}

#[test]
fn a_script_that_is_written_anew_takes_the_place_of_the_old_one() {
    needs_python!();
    let server = site(PID, "").start();
    let before = pid(&server, "/");
    let file = server.site().path("app/app.wsgi");
    let text =
        "def application(environ, start_response):\n    return say(start_response, 'new %d' % os.getpid())\n";
    fs::write(&file, format!("{ANSWER}{text}")).unwrap();
    await_that("the new script", || server.get("/").text().starts_with("new "));
    // All of the application is new, not only the script: it is another process, of another parent.
    assert_ne!(server.get("/").text(), format!("new {before}"));
    assert!(!server.error_log().contains("unasked"), "{}", server.error_log());
}

#[test]
fn a_handler_s_script_answers_for_files_of_any_name_and_is_loaded_anew() {
    needs_python!();
    let script = |word: &str| {
        let answer = format!("return say(start_response, '{word} ' + environ['SCRIPT_NAME'])");
        format!("{ANSWER}def handle_request(environ, start_response):\n    {answer}\n")
    };
    let config =
        "WSGIHandlerScript mine \"@ROOT@/app/handler.py\" application-group=mine\nAddHandler mine .mine\n";
    let site = Site::new().file("htdocs/a.mine", "").file("app/handler.py", script("one")).config(config);
    let server = site.start();
    assert_eq!(server.get("/a.mine").text(), "one /a.mine");
    fs::write(server.site().path("app/handler.py"), script("another")).unwrap();
    await_that("the new script", || server.get("/a.mine").text() == "another /a.mine");
    assert_eq!(server.get("/b.txt").status, 404);
}

#[test]
fn a_script_stays_as_it_is_where_that_is_said() {
    needs_python!();
    let server = site(PID, "WSGIScriptReloading Off\nMaxRequestWorkers 1\n").start();
    let before = pid(&server, "/");
    fs::write(server.site().path("app/app.wsgi"), "x = 1\n# another length").unwrap();
    // The front looks at files anew when the kernel tells it that they have changed.
    // Time: that nothing changes meanwhile is what is tested.
    sleep(Duration::from_millis(300));
    assert_eq!(pid(&server, "/"), before);
}

#[test]
fn applications_have_interpreters_of_their_own_unless_they_are_of_one_group() {
    needs_python!();
    let text = "def application(environ, start_response):\n    sys.met = getattr(sys, 'met', '') + environ['SCRIPT_NAME']\n    \
                return say(start_response, sys.met)\n";
    let config = "WSGIScriptAlias /a @ROOT@/app/one.wsgi\nWSGIScriptAlias /b @ROOT@/app/two.wsgi\n\
                  WSGIScriptAlias /c @ROOT@/app/one.wsgi application-group=%{GLOBAL}\n\
                  WSGIScriptAlias /d @ROOT@/app/two.wsgi application-group=%{GLOBAL}\n\
                  <Directory @ROOT@/app>\nRequire all granted\n</Directory>\nMaxRequestWorkers 1\n";
    let site = Site::new()
        .file("app/one.wsgi", format!("{ANSWER}{text}"))
        .file("app/two.wsgi", format!("{ANSWER}{text}"));
    let server = site.config(config).start();
    assert_eq!(
        ["/a", "/b", "/a", "/b"].map(|target| server.get(target).text()),
        ["/a", "/b", "/a/a", "/b/b"]
    );
    assert_eq!(["/c", "/d", "/c"].map(|target| server.get(target).text()), ["/c", "/c/d", "/c/d/c"]);
}

#[test]
fn a_process_group_has_its_own_interpreter_paths_and_name() {
    needs_python!();
    let text = "import own\ndef application(environ, start_response):\n    import os\n    mask = os.umask(0); os.umask(mask)\n    \
                return say(start_response, (sys.prefix, own.name, oct(mask), os.getcwd(), environ['mod_wsgi.process_group'], \
                open('/proc/self/cmdline').read().rstrip('\\0'), os.environ.get('LANG')))\n";
    let config = "WSGIDaemonProcess blue processes=2 threads=1 python-home=@ROOT@/venv python-path=@ROOT@/lib home=@ROOT@/lib \
                  umask=0027 display-name='%{GROUP}' lang=C.UTF-8\nWSGIProcessGroup blue\n";
    let site = site(text, config).file("lib/own.py", "name = 'mine'\n");
    venv(&site, "venv");
    let server = site.start();
    let root = server.site().root().display().to_string();
    let answer = server.get("/").text();
    for part in [
        &format!("'{root}/venv'"),
        "'mine'",
        "'0o27'",
        &format!("'{root}/lib'"),
        "'blue'",
        "'(wsgi:blue) worker'",
        "'C.UTF-8'",
    ] {
        assert!(answer.contains(part), "{part} is not in {answer}\n{}", server.error_log());
    }
}

#[test]
fn a_program_can_ask_what_serves_it() {
    needs_python!();
    let text = "import mod_wsgi\ndef application(environ, start_response):\n    return say(start_response, \
                (mod_wsgi.version[0], mod_wsgi.process_group, mod_wsgi.application_group, \
                mod_wsgi.maximum_processes * mod_wsgi.threads_per_process))\n";
    let config =
        "WSGIDaemonProcess one processes=2 threads=3\nWSGIProcessGroup one\nWSGIApplicationGroup two\n";
    assert_eq!(site(text, config).start().get("/").text(), "(4, 'one', 'two', 6)");
}

#[test]
fn parts_of_an_installed_mod_wsgi_can_be_imported() {
    needs_python!();
    let text = "import mod_wsgi, mod_wsgi.part\ndef application(environ, start_response):\n    \
                return say(start_response, (mod_wsgi.part.said, mod_wsgi.version, mod_wsgi.application_group))\n";
    let config = "WSGIPythonPath @ROOT@/lib\nWSGIApplicationGroup own\n";
    let site = site(text, config)
        .file("lib/mod_wsgi/__init__.py", "")
        .file("lib/mod_wsgi/part.py", "said = 'a part'\n");
    assert_eq!(site.start().get("/").text(), "('a part', (4, 9, 4), 'own')");
}

#[test]
fn an_environment_that_cannot_be_used_is_told_in_one_line() {
    needs_python!();
    let site = site(PID, "WSGIPythonHome @ROOT@/venv\n").dir("venv/bin");
    std::os::unix::fs::symlink("/nowhere/python3.7", site.path("venv/bin/python3")).unwrap();
    let server = site.start();
    assert_eq!(server.get("/").status, 500);
    let line = server.await_error("WSGIPythonHome");
    assert!(line.contains("which is not there any more: make the virtual environment anew"), "{line}");
}

#[test]
fn an_interpreter_that_is_none_is_told() {
    needs_python!();
    let script = "#!/bin/sh\necho broken beyond repair >&2\nexit 3\n";
    let server = site(PID, "HostlerPython @ROOT@/python\n").script("python", script).start();
    assert!(server.get("/").status >= 500);
    let line = server.await_error("exited with status 3");
    assert!(line.contains("broken beyond repair"), "{line}");
}

#[test]
fn what_cannot_be_loaded_is_told_with_its_traceback_and_hurts_no_other() {
    needs_python!();
    let config = "WSGIScriptAlias /fine @ROOT@/app/fine.wsgi\n";
    let site = Site::new()
        .file("app/fine.wsgi", format!("{ANSWER}{PID}"))
        .file("app/bad.wsgi", "import nothing_of_this_name\n");
    let config = format!(
        "{config}WSGIScriptAlias /bad @ROOT@/app/bad.wsgi\n<Directory @ROOT@/app>\nRequire all granted\n</Directory>"
    );
    let server = site.config(&config).start();
    let answer = server.get("/bad");
    assert_eq!(answer.status, 500);
    let line = server.await_error("ModuleNotFoundError");
    assert!(line.contains("nothing_of_this_name") && line.contains("[id "), "{line}");
    assert!(pid(&server, "/fine") > 1);
}

#[test]
fn one_process_for_each_request_is_that() {
    needs_python!();
    let text = "kept = []\ndef application(environ, start_response):\n    kept.append(1)\n    \
                return say(start_response, (os.getpid(), len(kept), environ['wsgi.run_once']))\n";
    let server = site(text, "<Location />\nIsolation fork\n</Location>\n").start();
    let answers = [1, 2, 3].map(|_| server.get("/").text());
    assert!(answers.iter().all(|answer| answer.ends_with(", 1, True)")), "{answers:?}");
    assert!(answers[0] != answers[1] && answers[1] != answers[2], "{answers:?}");
}

#[test]
fn applications_are_imported_once_for_all_workers() {
    needs_python!();
    let text = "here = os.getpid()\ndef application(environ, start_response):\n    \
                return say(start_response, here == os.getppid())\n";
    let server = site(text, "").start();
    assert_eq!(server.get("/").text(), "True", "{}", server.error_log());
    let server = site(text, "HostlerPythonPreload off\n").start();
    assert_eq!(server.get("/").text(), "False");
}

#[test]
fn what_starts_threads_or_connects_is_imported_in_each_worker() {
    needs_python!();
    let threads =
        "import threading, time\nthreading.Thread(target=lambda: time.sleep(1000), daemon=True).start()\n";
    let sockets = "import socket\nkept = socket.socketpair()\n";
    for (begins, why) in [(threads, "it starts threads"), (sockets, "it opens connections")] {
        let text = format!(
            "{begins}here = os.getpid()\ndef application(environ, start_response):\n    return say(start_response, here == os.getpid())\n"
        );
        let server = site(&text, "").start();
        assert_eq!(server.get("/").text(), "True", "{why}");
        // Nothing is wrong with that.
        assert!(server.await_error(why).contains("[wsgi:notice]"));
    }
}

#[test]
fn what_a_trial_of_importing_has_started_ends_with_it() {
    needs_python!();
    let text = "import subprocess\nkept = subprocess.Popen(['/bin/sleep', '150'])\n\
                with open(os.path.join(os.path.dirname(__file__), 'pids'), 'a') as file:\n    file.write('%d\\n' % kept.pid)\n\
                def application(environ, start_response):\n    return say(start_response, 'ok')\n";
    let server = site(text, "LogLevel info\n").mode("app", 0o777).start();
    assert_eq!(server.get("/").text(), "ok");
    let _ = server.await_error("it starts processes (1)");
    let pids = fs::read_to_string(server.site().path("app/pids")).unwrap();
    let of_trial = format!("/proc/{}/cmdline", pids.lines().next().unwrap());
    // Of one that nobody has reaped yet it is empty.
    await_that("the trial's process has ended", || fs::read(&of_trial).unwrap_or_default().is_empty());
}

/// Bytes of which each says where it stands.
const LARGE: &str = r#"
import io, tempfile
FILE = os.path.join(os.path.dirname(__file__), "large")
def application(environ, start_response):
    path, wrap = environ["PATH_INFO"], environ["wsgi.file_wrapper"]
    headers = [("Content-Type", "application/octet-stream")]
    if path == "/other":
        return say(start_response, os.getpid())
    if path == "/part":
        headers.append(("Content-Length", "1000000"))
    start_response("200 OK", headers)
    if path == "/temporary":
        file = tempfile.TemporaryFile()
        file.write(b"%07d\n" % 1 * 100000)
        file.seek(8)
        return wrap(file)
    if path == "/bytes":
        return wrap(io.BytesIO(b"%07d\n" % 2 * 100000))
    file = open(FILE, "rb")
    if path == "/part":
        file.seek(8000000)
    if path == "/replaced":
        os.rename(FILE, FILE + ".old")
        with open(FILE, "wb") as other:
            other.write(b"another!" * 2000000)
    return wrap(file)
"#;

#[test]
fn a_file_is_sent_by_the_front_and_its_worker_is_free() {
    needs_python!();
    let large: String = (0..2_000_000_u32).map(|number| format!("{number:07}\n")).collect();
    let site = site(LARGE, "MaxRequestWorkers 1\n").file("app/large", &large).mode("app", 0o777);
    let server = site.start();
    let mut slow = server.connect();
    slow.send("GET /all HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(slow.sender().peek(&mut [0]).unwrap(), 1);
    // The only worker serves others, though nobody takes the file.
    assert!(pid(&server, "/other") > 1);
    let part = server.get("/part");
    assert_eq!((part.status, part.field("content-length")), (200, Some("1000000")));
    assert_eq!(part.text(), large[8_000_000..9_000_000]);
    let range = server.get_with("/all", "Host: a\r\nRange: bytes=16000-16007\r\n");
    assert_eq!((range.status, range.text().as_str()), (206, "0002000\n"));
    let temporary = server.get("/temporary");
    assert_eq!((temporary.body.len(), &temporary.body[..8]), (799_992, &b"0000001\n"[..]));
    assert_eq!(server.get("/bytes").body, b"0000002\n".repeat(100_000));
    // Another file stands there by then: what was opened is sent.
    let replaced = server.get("/replaced");
    assert!(replaced.text() == large, "{}", replaced.body.len());
    assert!(slow.response().text() == large);
}

#[test]
fn threads_of_a_program_go_on_between_requests() {
    needs_python!();
    let text = "import threading, time\ncount = 0\ndef run():\n    global count\n    while True:\n        count += 1\n        time.sleep(0.005)\n\
                started = []\ndef application(environ, start_response):\n    if not started:\n        started.append(threading.Thread(target=run, daemon=True))\n        \
                started[0].start()\n    return say(start_response, count)\n";
    let server = site(text, "MaxRequestWorkers 1\n").start();
    let _ = server.get("/");
    await_that("a count", || server.get("/").text().parse::<u32>().is_ok_and(|count| count > 20));
}

#[test]
fn pieces_go_as_they_come() {
    needs_python!();
    let text = "import time\ndef application(environ, start_response):\n    start_response('200 OK', [('Content-Type', 'text/plain')])\n    \
                yield b'first;'\n    while not os.path.exists(environ['DOCUMENT_ROOT'] + '/go'):\n        time.sleep(0.01)\n    yield b'second'\n";
    let server = site(text, "").start();
    let mut connection = server.connect();
    connection.send("GET / HTTP/1.0\r\n\r\n");
    let mut seen = Vec::new();
    while !seen.ends_with(b"first;") {
        seen.push(connection.byte().expect("the first piece comes alone"));
    }
    fs::write(server.site().path("htdocs/go"), "").unwrap();
    assert!(connection.rest().ends_with(b"second"));
}

#[test]
fn an_answer_that_nobody_takes_any_more_is_closed() {
    needs_python!();
    let text = "class Endless:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return b'x' * 10000\n    \
                def close(self):\n        print('closed at last')\n\
                def application(environ, start_response):\n    start_response('200 OK', [('Content-Type', 'text/plain')])\n    return Endless()\n";
    let server = site(text, "").start();
    let mut connection = server.connect();
    connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let _ = connection.byte();
    drop(connection);
    let _ = server.await_error("closed at last");
}

#[test]
fn a_request_that_never_ends_is_ended_and_others_go_on() {
    needs_python!();
    let text = "def application(environ, start_response):\n    while environ['PATH_INFO'] == '/loop':\n        pass\n    \
                return say(start_response, os.getpid())\n";
    let config = "WSGIDaemonProcess p processes=2 threads=1 request-timeout=1\nWSGIProcessGroup p\n";
    let server = site(text, config).start();
    let mut connection = server.connect();
    connection.send("GET /loop HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(pid(&server, "/") > 1);
    assert_eq!(connection.response().status, 504);
    assert!(pid(&server, "/") > 1);
}

#[test]
fn what_ends_a_worker_costs_its_own_request() {
    needs_python!();
    let text = "def application(environ, start_response):\n    if environ['PATH_INFO'] == '/end':\n        os._exit(3)\n    \
                if environ['PATH_INFO'] == '/kill':\n        os.kill(os.getpid(), 9)\n    return say(start_response, os.getpid())\n";
    let server = site(text, "").start();
    for (target, cause) in [("/end", "exited with status 3"), ("/kill", "signal 9")] {
        assert!(server.get(target).status >= 500);
        let _ = server.await_error(cause);
        assert!(pid(&server, "/") > 1);
    }
}

#[test]
fn processes_that_a_request_forks_have_no_part_in_it() {
    needs_python!();
    let text = "def application(environ, start_response):\n    child = os.fork()\n    if child:\n        os.waitpid(child, 0)\n    \
                return say(start_response, 'parent' if child else 'child')\n";
    let server = site(text, "MaxRequestWorkers 1\n").start();
    assert_eq!([1, 2, 3].map(|_| server.get("/").text()), ["parent"; 3]);
}

#[test]
fn workers_go_after_so_many_requests_whatever_programs_do_with_signals() {
    needs_python!();
    let text = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n";
    let config = "WSGIDaemonProcess p processes=1 threads=1 maximum-requests=2\nWSGIProcessGroup p\n";
    let server = site(&format!("{text}{PID}"), config).start();
    let pids = [1, 2, 3, 4].map(|_| pid(&server, "/"));
    assert!(pids[0] == pids[1] && pids[2] == pids[3] && pids[1] != pids[2], "{pids:?}");
    let _ = server.await_error("Callback registration for signal 15 ignored");
}

#[test]
fn a_script_can_be_run_before_requests() {
    needs_python!();
    let config = "WSGIImportScript @ROOT@/app/first.py process-group=%{GLOBAL} application-group=one\nWSGIApplicationGroup one\n";
    let text = "def application(environ, start_response):\n    return say(start_response, getattr(sys, 'first', None))\n";
    let server = site(text, config).file("app/first.py", "import sys\nsys.first = 'was here'\n").start();
    assert_eq!(server.get("/").text(), "was here");
}

#[test]
fn an_application_is_valid_by_python_s_own_judge() {
    needs_python!();
    let text = "from wsgiref.validate import validator\n@validator\ndef application(environ, start_response):\n    \
                data = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))\n    \
                line = environ['wsgi.input'].readline()\n    \
                environ['wsgi.errors'].write('an error\\n')\n    environ['wsgi.errors'].flush()\n    \
                write = start_response('200 OK', [('Content-Type', 'text/plain')])\n    \
                return [b'read ', data]\n";
    let server = site(text, "").start();
    for (request, expected) in [
        ("GET /a%20b?c=d HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "read "),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "read abc"),
    ] {
        let answer = server.request(request.as_bytes());
        assert_eq!((answer.status, answer.text()), (200, expected.to_owned()), "{}", server.error_log());
    }
}

#[test]
fn a_group_that_would_run_as_somebody_else_is_refused() {
    for config in [
        "<VirtualHost *:1>\nServerName b\nAssignUserID one one\nWSGIDaemonProcess p user=somebody-else\n</VirtualHost>\nUser www-data\n",
        "<VirtualHost *:1>\nServerName b\nWSGIDaemonProcess a user=one\nWSGIDaemonProcess p user=somebody-else\n</VirtualHost>\nUser www-data\n",
        "WSGIDaemonProcess p user=somebody-else\nUser www-data\n",
    ] {
        let Err(said) = Site::new().config(config).try_start() else { panic!("it starts") };
        assert!(said.contains("user=somebody-else") && said.contains("AssignUserID"), "{said}");
    }
}

#[test]
fn a_virtual_host_runs_as_its_process_group_s_user_where_nobody_says_another() {
    needs_root!();
    needs_python!();
    let text = "def application(environ, start_response):\n    return say(start_response, os.getuid())\n";
    let host = |name: &str, words: &str| {
        format!(
            "<VirtualHost *:@PORT@>\nServerName {name}.test\n{words}WSGIScriptAlias / \"@ROOT@/app/app.wsgi\"\n\
             <Directory \"@ROOT@/app\">\nRequire all granted\n</Directory>\n</VirtualHost>\n"
        )
    };
    let own = "WSGIDaemonProcess own user=#64111 group=#64111 threads=2\nWSGIProcessGroup own\n";
    let config = host("plain", "") + &host("own", own);
    let server = Site::new().file("app/app.wsgi", format!("{ANSWER}{text}")).config(&config).start();
    let of = |name: &str| server.get_with("/", &format!("Host: {name}.test\r\n")).text();
    assert_eq!(of("own"), "64111");
    assert_ne!(of("plain"), "64111");
}

#[test]
fn mod_python_is_refused_with_what_to_write_instead() {
    for (line, instead) in [
        ("PythonHandler mod_python.publisher", "WSGIScriptAlias"),
        ("PythonPath \"sys.path + ['/srv']\"", "WSGIPythonPath"),
        ("PythonAccessHandler guard", "Require"),
    ] {
        let Err(said) = Site::new().config(line).try_start() else { panic!("it starts with {line}") };
        assert!(said.contains(instead), "{line}: {said}");
    }
}

/// The packages to install.
const PACKAGES: [&str; 6] =
    ["django==5.*", "flask==3.*", "fastapi", "python-multipart", "uvloop", "channels==4.*"];

/// Packages that real applications need, in an environment that further runs of the tests use again. `None`: they can't be
/// had here.
fn packages() -> Option<std::path::PathBuf> {
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONCE.lock();
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python-applications");
    let done = target.join("complete");
    if fs::read_to_string(&done).is_ok_and(|of| of != PACKAGES.join(" ")) || !done.exists() {
        let run = |program: &Path, words: &[&str]| {
            Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
        };
        let folder = target.to_string_lossy().into_owned();
        let made = run(Path::new("/usr/bin/python3"), &["-m", "venv", "--clear", "--copies", &folder])
            && run(
                &target.join("bin/pip"),
                &[&["install", "--quiet", "--timeout", "10"], &PACKAGES[..]].concat(),
            );
        if !made {
            return None;
        }
        fs::write(&done, PACKAGES.join(" ")).ok()?;
    }
    target.canonicalize().ok()
}

/// Copies them into the site, since the tests' folder may be closed to its user, and gives the name of the folder of their
/// version; `None`: they can't be had, which is said.
pub(crate) fn packages_in(site: &Site) -> Option<String> {
    let Some(folder) = packages() else {
        let why = "packages can't be fetched from PyPI (or there is no python3-venv)";
        hostler_tests::skipped(module_path!(), why);
        return None;
    };
    let copied = Command::new("cp").arg("-r").arg(folder.join("lib")).arg(site.path("packages")).status();
    assert!(copied.is_ok_and(|status| status.success()));
    let found = fs::read_dir(site.path("packages")).expect("the copy").flatten();
    let names = found.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.into_iter().find(|name| name.starts_with("python3"))
}

#[test]
fn flask_answers() {
    needs_python!();
    let text = "from flask import Flask, request, session\napplication = Flask(__name__)\napplication.secret_key = 'x'\n\
                @application.route('/hello/<name>')\ndef hello(name):\n    session['met'] = session.get('met', 0) + 1\n    \
                return 'hello %s %d' % (name, session['met'])\n\
                @application.post('/upload')\ndef upload():\n    return str(len(request.files['f'].read()))\n";
    let site = site(text, "");
    let Some(version) = packages_in(&site) else { return };
    let server = site.config(&format!("WSGIPythonPath @ROOT@/packages/{version}/site-packages")).start();
    let answer = server.get("/hello/you");
    assert_eq!(answer.text(), "hello you 1", "{}", server.error_log());
    let cookie = answer.field("Set-Cookie").and_then(|cookie| cookie.split(';').next()).unwrap().to_owned();
    assert_eq!(
        server.get_with("/hello/you", &format!("Host: localhost\r\nCookie: {cookie}\r\n")).text(),
        "hello you 2"
    );
    let body =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n0123456789\r\n--b--\r\n";
    let head = "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n";
    let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    assert_eq!(server.request(request.as_bytes()).text(), "10");
    assert_eq!(server.get("/nothing").status, 404);
}

#[test]
fn a_django_project_runs_with_the_configuration_of_its_documentation() {
    needs_python!();
    // As docs.djangoproject.com has it (How to use Django with Apache and mod_wsgi).
    let config = "WSGIScriptAlias / @ROOT@/mysite/mysite/wsgi.py process-group=example.com\n\
                  WSGIPythonPath @ROOT@/mysite\n\
                  Alias /static/ @ROOT@/static/\n<Directory @ROOT@/static>\nRequire all granted\n</Directory>\n\
                  <Directory @ROOT@/mysite/mysite>\n<Files wsgi.py>\nRequire all granted\n</Files>\n</Directory>\n";
    let site = Site::new().file("static/a.css", "css");
    let Some(version) = packages_in(&site) else { return };
    let packages = site.path(&format!("packages/{version}/site-packages"));
    let django = |folder: &Path, words: &[&str]| {
        let mut command = Command::new("/usr/bin/python3");
        command.env("PYTHONPATH", &packages).current_dir(folder).args(words);
        command.env("DJANGO_SUPERUSER_PASSWORD", "secret-word");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (project, root) = (site.path("mysite"), site.root().to_owned());
    django(&root, &["-m", "django", "startproject", "mysite"]);
    let settings = project.join("mysite/settings.py");
    let text = fs::read_to_string(&settings).unwrap().replace("ALLOWED_HOSTS = []", "ALLOWED_HOSTS = ['*']");
    fs::write(&settings, text).unwrap();
    django(&project, &["manage.py", "migrate", "-v0"]);
    django(
        &project,
        &["manage.py", "createsuperuser", "--noinput", "--username", "admin", "--email", "a@example.com"],
    );
    // The database is the site's to write to.
    for name in ["mysite", "mysite/db.sqlite3"] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let daemon = format!("WSGIDaemonProcess example.com python-path=@ROOT@/mysite:{}\n", packages.display());
    let server = site.config(&format!("{daemon}{config}")).start();
    let page = server.get("/admin/login/");
    assert_eq!(page.status, 200, "{}", server.error_log());
    let token = page.text();
    let token =
        token.split("csrfmiddlewaretoken\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let cookie = page.field("Set-Cookie").and_then(|cookie| cookie.split(';').next()).unwrap();
    let body = format!("csrfmiddlewaretoken={token}&username=admin&password=secret-word&next=/admin/");
    let head = format!(
        "POST /admin/login/ HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    );
    let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let answer = server.request(request.as_bytes());
    assert_eq!((answer.status, answer.field("Location")), (302, Some("/admin/")), "{}", answer.text());
    assert_eq!(server.get("/static/a.css").text(), "css");
}
