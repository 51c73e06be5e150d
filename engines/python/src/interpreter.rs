//! The interpreter of the site's applications, as named in the environment, and whether it exists.

use hostler_python_frames::variable;
use std::env;
use std::ffi::CStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The system's.
const SYSTEM: &str = "/usr/bin/python3";

/// Its path.
///
/// # Errors
/// There is none that can be executed: a sentence with what to do.
pub(crate) fn find() -> Result<PathBuf, String> {
    let said = |name| env::var_os(name).map(PathBuf::from);
    let place = env::var(variable::PLACE).unwrap_or_default();
    if let Some(home) = said(variable::HOME) {
        return in_home(&home, &place);
    }
    if let Some(path) = said(variable::INTERPRETER) {
        return usable(&path)
            .map(|()| path.clone())
            .map_err(|why| format!("{place} {}: {why}", path.display()));
    }
    if usable(Path::new(SYSTEM)).is_ok() {
        return Ok(SYSTEM.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let all = env::split_paths(&path).filter(|folder| folder.is_absolute());
    all.map(|folder| folder.join("python3")).find(|path| usable(path).is_ok()).ok_or_else(|| {
        "there is no python3 on this machine: install it, or name one (HostlerPython /path/to/python3)"
            .to_owned()
    })
}

/// In a virtual environment, or wherever else Python was installed with a prefix.
fn in_home(home: &Path, place: &str) -> Result<PathBuf, String> {
    let shown = home.display();
    let candidates = ["bin/python3", "bin/python"].map(|name| home.join(name));
    if let Some(found) = candidates.iter().find(|path| usable(path).is_ok()) {
        return Ok(found.clone());
    }
    // A prefix may be /usr.
    let there = candidates.iter().find(|path| fs::symlink_metadata(path).is_ok());
    let why = match there {
        Some(path) => usable(path).err().unwrap_or_default(),
        None if fs::metadata(home).is_ok() => {
            format!(
                "there is no bin/python3 in it: make a virtual environment there (python3 -m venv {shown})"
            )
        }
        None => format!(
            "there is no such folder, or the site's user may not enter it: make a virtual environment there (python3 -m \
             venv {shown})"
        ),
    };
    Err(format!("{place} {shown}: {why}"))
}

/// Returns whether it can be executed; else why not.
fn usable(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(file) if !file.is_file() => Err(format!("{shown} is not a program")),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => Err(format!("{shown} may not be executed")),
        Ok(_) => Ok(()),
        Err(error) => Err(match fs::read_link(path) {
            Ok(target) if error.kind() == ErrorKind::PermissionDenied => {
                format!("{shown} is a link to {}, where the site's user may not go", target.display())
            }
            Ok(target) => format!(
                "{shown} is a link to {}, which is not there any more: make the virtual environment anew",
                target.display()
            ),
            Err(_) => format!("{shown}: {error}"),
        }),
    }
}

/// `HOME`, `USER` and `LOGNAME`, as applications of a user's own expect them.
pub(crate) fn home() {
    // SAFETY: the process has one thread; the record is read before the next call.
    unsafe {
        let found = libc::getpwuid(libc::geteuid());
        if found.is_null() {
            return;
        }
        let text = |pointer| CStr::from_ptr(pointer).to_string_lossy().into_owned();
        for (name, value) in
            [("HOME", (*found).pw_dir), ("USER", (*found).pw_name), ("LOGNAME", (*found).pw_name)]
        {
            if env::var_os(name).is_none() && !value.is_null() {
                env::set_var(name, text(value));
            }
        }
    }
}
