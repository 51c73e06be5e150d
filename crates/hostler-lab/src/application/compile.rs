//! Programs in C: compiled where there is a compiler, and otherwise said to be not available.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program's requirements of the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// Headers that it includes: `sqlite3.h`.
    pub(super) headers: &'static [&'static str],
    /// Options that name its libraries.
    pub(super) libraries: &'static [&'static str],
    /// Options for the compiler, `-I` among them.
    pub(super) flags: &'static [&'static str],
    /// The package to install when the headers are missing.
    pub(super) package: &'static str,
}

/// Why this cannot be compiled here.
pub(super) fn unavailable(needs: Needs) -> Option<String> {
    let program: String = needs.headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    match syntax(needs, &program) {
        None => Some("no C compiler found; apt-get install gcc libc6-dev".to_owned()),
        Some(false) => Some(format!("its headers are missing; apt-get install {}", needs.package)),
        Some(true) => None,
    }
}

/// Returns whether the compiler takes a text; `None` if there is no compiler.
fn syntax(needs: Needs, program: &str) -> Option<bool> {
    let mut command = Command::new("cc");
    command.args(["-fsyntax-only", "-x", "c"]).args(needs.flags).arg("-");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    // A compiler that does not read it fails anyway.
    let _ = child.stdin.take()?.write_all(program.as_bytes());
    Some(child.wait().ok()?.success())
}

/// Compiles `source` to `program`; both below `root`.
pub(super) fn compile(root: &Path, source: &str, program: &str, needs: Needs) -> Result<()> {
    let mut command = Command::new("cc");
    command.arg("-O2").args(needs.flags).arg("-o").arg(root.join(program)).arg(root.join(source));
    let output = command.args(needs.libraries).stdin(Stdio::null()).output().context("cannot run cc")?;
    if !output.status.success() {
        bail!("cc cannot compile {source}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    fs::set_permissions(root.join(program), fs::Permissions::from_mode(0o755))?;
    Ok(())
}
