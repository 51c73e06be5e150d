//! Interpreters of different versions at once, each with what it has: WSGI and ASGI of one server.

use super::needs_python;
use hostler_tests::Site;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a Python that is later than the system's, as those build it who have several (pyenv and its like).
fn later() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    let folders = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let is_later = |folder: &PathBuf| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let minor = name.and_then(|name| name.strip_prefix("3.")?.split('.').next()?.parse::<u32>().ok());
        minor.is_some_and(|minor| minor >= 12) && folder.join("bin/python3").exists()
    };
    folders.map(|entry| entry.path()).filter(is_later).max()
}

/// A copy of it that the site's user may read. Where its program says where its library is, the copy says that it is
/// beside it.
fn copied(from: &Path, to: &Path) {
    let script = "set -e; mkdir -p \"$2\"; cd \"$1\"; tar cf - --exclude=test --exclude=site-packages --exclude='*.a' \
                  --exclude=__pycache__ bin/python3* lib/libpython3* lib/python3.* | tar xf - -C \"$2\"";
    let status = Command::new("sh").args(["-c", script, "sh"]).arg(from).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()));
    let program = fs::canonicalize(to.join("bin/python3")).expect("the program");
    let mut bytes = fs::read(&program).expect("the program");
    let old = from.join("lib").into_os_string().into_encoded_bytes();
    if let Some(at) =
        bytes.windows(old.len() + 1).position(|part| part[..old.len()] == old && part[old.len()] == 0)
    {
        let new = b"$ORIGIN/../lib";
        bytes[at..at + old.len()].fill(0);
        bytes[at..at + new.len()].copy_from_slice(new);
        fs::write(&program, bytes).expect("ours");
    }
}

const WSGI: &str = "import sys\ndef application(environ, start):\n    start('200 OK', [])\n    \
                    return [('%d.%d' % sys.version_info[:2]).encode()]\n";

/// True if the first step of a request is taken at once, and whether it is a task's for all that.
const ASGI: &str = "import asyncio, sys\nasync def app(scope, receive, send):\n    assert scope['type'] == 'http'\n    \
                    task = asyncio.current_task()\n    await asyncio.sleep(0)\n    \
                    same = asyncio.current_task() is task and task is not None\n    \
                    async with asyncio.timeout(5):\n        await receive()\n    \
                    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n    \
                    body = '%d.%d %s' % (*sys.version_info[:2], same)\n    \
                    await send({'type': 'http.response.body', 'body': body.encode()})\n";

#[test]
fn two_versions_serve_at_once() {
    needs_python!();
    let Some(from) = later() else {
        return hostler_tests::skipped(
            module_path!(),
            "there is no Python 3.12 or later beside the system's",
        );
    };
    let site = Site::new().file("who.wsgi", WSGI).file("app/app.py", ASGI);
    copied(&from, &site.path("later"));
    let asgi = |path: &str, words: &str| {
        format!(
            "<Location {path}>\nSetHandler asgi\nASGIApp app/app.py {words}\nRequire all granted\n</Location>\n"
        )
    };
    let config = format!(
        "WSGIDaemonProcess later python-home=@ROOT@/later\nWSGIDaemonProcess usual\n\
         WSGIScriptAlias /later @ROOT@/who.wsgi process-group=later application-group=%{{GLOBAL}}\n\
         WSGIScriptAlias /usual @ROOT@/who.wsgi process-group=usual application-group=%{{GLOBAL}}\n\
         <Directory @ROOT@>\nRequire all granted\n</Directory>\n{}{}",
        asgi("/asgi-later", "python-home=@ROOT@/later"),
        asgi("/asgi-usual", "")
    );
    let server = site.config(&config).start();
    let name = from.file_name().expect("a version").to_string_lossy().into_owned();
    let version = name.rsplit_once('.').expect("3.N.M").0.to_owned();
    for _ in 0..3 {
        assert_eq!(server.get("/later").text(), version, "{}", server.error_log());
        let usual = server.get("/usual").text();
        assert!(usual.starts_with("3.") && usual != version, "{usual}");
        // Eager tasks (3.12) are tasks all the same: libraries ask which one they run in.
        assert_eq!(server.get("/asgi-later").text(), format!("{version} True"), "{}", server.error_log());
        assert_eq!(server.get("/asgi-usual").text(), format!("{usual} True"), "{}", server.error_log());
    }
}
