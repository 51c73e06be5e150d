//! Java's archive of classes (AppCDS): what starting Tomcat and a page of JSP takes, read and verified once, at installation.
//! Virtual machines map it, which saves each of them processor time at its start, and memory where there are several.
//!
//! It belongs to the program, not to a site: it lies beside it, and one that anybody else could have written is not used. Java
//! itself takes none that was made by another Java or for other jars; it starts without, then.

use crate::{jars, java};
use hostler_ajp::ForwardRequest;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Its name, beside the program.
const NAME: &str = "hostler-servlet.jsa";
/// The longest silence of a virtual machine that records which classes are needed.
const PATIENCE: Duration = Duration::from_secs(60);
/// The page it serves meanwhile.
const PAGE: &str = "<%@ page contentType=\"text/plain\" %><%= session.getId() %>";
const DESCRIPTOR: &str = "<web-app xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" version=\"6.0\"/>";

/// The one that may be used by the program that runs.
pub(crate) fn find() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let (archive, own) = (program.with_file_name(NAME), program.metadata().ok()?);
    let found = archive.symlink_metadata().ok()?;
    let is_own = found.is_file() && found.uid() == own.uid() && found.mode() & 0o022 == 0;
    is_own.then_some(archive)
}

/// Makes it, in this folder.
///
/// # Errors
/// Why it can't be made.
pub(crate) fn make(folder: &Path, program: &[u8], jars: &[PathBuf]) -> Result<PathBuf, String> {
    let archive = folder.join(NAME);
    let work = folder.join(format!(".{NAME}.{}", std::process::id()));
    let made = lay_out(&work, program).map_err(|error| format!("{}: {error}", work.display()));
    let made = made.and_then(|()| {
        let java = java::Home::find(None)?;
        learn(java.program(), &work, jars).map_err(|error| format!("a trial run: {error}"))?;
        dump(java.program(), &work, jars)?;
        fs::rename(work.join("archive"), &archive).map_err(|error| format!("{}: {error}", archive.display()))
    });
    // What is left of it is of no use to anybody.
    let _ = fs::remove_dir_all(&work);
    made.map(|()| archive)
}

fn lay_out(work: &Path, program: &[u8]) -> io::Result<()> {
    fs::create_dir_all(work.join("app/WEB-INF"))?;
    fs::write(work.join("app/WEB-INF/web.xml"), DESCRIPTOR)?;
    fs::write(work.join("app/page.jsp"), PAGE)?;
    fs::create_dir(work.join("tmp"))?;
    fs::write(work.join("program.jar"), program)
}

/// Runs a virtual machine that serves a page, and has it write down the classes that it takes.
fn learn(java: &Path, work: &Path, jars: &[PathBuf]) -> io::Result<()> {
    let socket = work.join("socket");
    let listener = UnixListener::bind(&socket)?;
    let mut all = jars.to_vec();
    all.push(work.join("program.jar"));
    let mut command = Command::new(java);
    command.args(["-Xmx64m", "-XX:+UseSerialGC", "-Xshare:off", "-Djava.awt.headless=true"]);
    command.arg(format!("-XX:DumpLoadedClassList={}", work.join("classes").display()));
    command.arg("-cp").arg(jars::class_path(&all)).arg("hostler.Main");
    command.arg(format!("--work={}", work.display()));
    command.arg(format!("--app=v0\t\t{}", work.join("app").display()));
    command.current_dir(work).stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let learnt = ask(&socket, &mut child);
    // It writes its list down as it goes.
    let _ = child.kill();
    child.wait()?;
    learnt
}

/// Asks for the page, twice: compiled, and as it is then.
fn ask(socket: &Path, child: &mut Child) -> io::Result<()> {
    let lines = lines(child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?);
    let mut said = String::new();
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other(said)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(io::Error::other(format!("{said}nothing more for {PATIENCE:?}")));
            }
        };
        said.push_str(&line);
        said.push('\n');
        if line.starts_with("serving") {
            break;
        }
    }
    for _ in 0..2 {
        let mut connection = UnixStream::connect(socket)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.write_all(&request()?)?;
        // AJP13: `A`, `B`, a length, and the kind of the packet; 4: the head of an answer, then its status.
        let mut head = [0; 7];
        connection.read_exact(&mut head)?;
        if head[4] != 4 || head[5..] != 200_u16.to_be_bytes() {
            return Err(io::Error::other(format!("{said}the page was answered with {head:?}")));
        }
    }
    Ok(())
}

/// Returns the virtual machine's lines. A thread reads them to their end, because no other reader could stop to wait
/// for more.
fn lines(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // Nobody listens any more once it serves; it is read all the same, so that it does not wait for that.
            let _ = sender.send(line);
        }
    });
    lines
}

fn request() -> io::Result<Vec<u8>> {
    let forward = ForwardRequest {
        method: b"GET",
        protocol: b"HTTP/1.1",
        req_uri: b"/page.jsp",
        remote_addr: b"127.0.0.1",
        remote_host: None,
        server_name: b"v0",
        server_port: 80,
        is_ssl: false,
        headers: &[(b"Host", b"localhost")],
        attributes: &[],
    };
    let mut packet = Vec::new();
    forward
        .encode(hostler_ajp::DEFAULT_PACKET, &mut packet)
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(packet)
}

/// Makes the archive of the classes of that list that the jars have: those of a site's own folder are not in it.
fn dump(java: &Path, work: &Path, jars: &[PathBuf]) -> Result<(), String> {
    let output = Command::new(java)
        .args(["-Xshare:dump", "-XX:+UseSerialGC"])
        .arg(format!("-XX:SharedClassListFile={}", work.join("classes").display()))
        .arg(format!("-XX:SharedArchiveFile={}", work.join("archive").display()))
        .arg("-cp")
        .arg(jars::class_path(jars))
        .output()
        .map_err(|error| format!("{}: {error}", java.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("java -Xshare:dump: {}", String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for() {
        let packet = request().unwrap();
        assert!(packet.starts_with(b"\x12\x34") && packet.windows(9).any(|part| part == b"/page.jsp"));
    }
}
