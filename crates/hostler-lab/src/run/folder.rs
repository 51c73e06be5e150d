//! A run's folder: `run.json`, and what can be made again from it: the report, the report's tables as text, the samples as CSV.
//!
//! Each file is written under another name and then renamed, so that a full disk leaves no truncated file.

use super::{FORMAT, Run};
use crate::report;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const RUN: &str = "run.json";
/// The report's tables, for readers without a browser.
const SUMMARY: &str = "summary.txt";
/// Columns of the summary.
const WIDTH: usize = 120;

/// Now: RFC 3339, UTC.
#[must_use]
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut out = Vec::new();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    hostler_sys::time::strftime(b"%Y-%m-%dT%H:%M:%SZ", seconds, hostler_sys::time::Zone::Gmt, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Makes the folder of a new run: `out` itself, or `lab/runs/<date>-<machine>/<name>` below the current directory
/// (`<name>-2` if there is one already).
///
/// # Errors
/// It cannot be made; `out` already has a run.
pub fn folder(name: &str, out: Option<&Path>) -> Result<PathBuf> {
    let folder = match out {
        Some(out) if out.join(RUN).exists() => {
            bail!("{} has a run already; name another folder, or remove it", out.display())
        }
        Some(out) => out.to_owned(),
        None => {
            let date: String = now().chars().take(10).collect();
            let day = Path::new("lab/runs").join(format!("{date}-{}", crate::machine::this().name));
            let numbered = (2..).map(|number| day.join(format!("{name}-{number}")));
            let mut candidates = std::iter::once(day.join(name)).chain(numbered);
            candidates.find(|one| !one.exists()).unwrap_or(day)
        }
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder)
}

/// Writes a run to its folder: `run.json`, `summary.txt`, `report.html` and the tables of its samples.
///
/// # Errors
/// Which file could not be written, and why (a full disk); there is then nothing of it.
pub fn save(run: &Run, folder: &Path) -> Result<()> {
    let json = serde_json::to_vec(run).context("the run cannot be written as JSON")?;
    write(&folder.join(RUN), &json)?;
    reports(run, folder)
}

/// Makes the reports of a run again.
///
/// # Errors
/// As [`save`].
pub fn reports(run: &Run, folder: &Path) -> Result<()> {
    for (name, text) in report::csv(run) {
        write(&folder.join(name), text.as_bytes())?;
    }
    write(&folder.join(SUMMARY), report::terminal(run, WIDTH, false).as_bytes())?;
    write(&folder.join("report.html"), report::html(run).as_bytes())
}

/// The whole file or none of it.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        // Temporary files are their owner's only; a report is to be shown.
        rustix::fs::fchmod(file.as_file(), rustix::fs::Mode::from_raw_mode(0o644))?;
        file.persist(path)?;
        Ok(())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a run from its folder, or from the file itself.
///
/// # Errors
/// There is none, it is not a run, or one of another format.
pub fn open(path: &Path) -> Result<Run> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let file = if path.is_dir() { path.join(RUN) } else { path.to_owned() };
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read the run {}", file.display()))?;
    let wrong = || format!("{} is not a run of the lab", file.display());
    let head: Head = serde_json::from_str(&text).with_context(wrong)?;
    if head.format != FORMAT {
        bail!("{} has format {}; this lab reads format {FORMAT}", file.display(), head.format);
    }
    serde_json::from_str(&text).with_context(wrong)
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let run = run(&[("a", "hostler", &[100.0, 110.0])]);
        save(&run, folder.path()).unwrap();
        assert_eq!(open(folder.path()).unwrap(), run);
        assert_eq!(open(&folder.path().join(RUN)).unwrap(), run);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
    }

    #[test]
    fn other_formats_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            fs::write(folder.path().join(RUN), text).unwrap();
            format!("{:#}", open(folder.path()).unwrap_err())
        };
        assert!(refused("{\"format\": 99}").contains("has format 99"));
        assert!(refused("{\"format\": 2}").contains("is not a run"));
        assert!(refused("hello").contains("is not a run"));
        assert!(
            format!("{:#}", open(&folder.path().join("none")).unwrap_err()).contains("cannot read the run")
        );
    }

    #[test]
    fn a_disk_that_takes_nothing_is_told_and_leaves_no_file() {
        let run = run(&[]);
        let why = format!("{:#}", save(&run, Path::new("/proc/self")).unwrap_err());
        assert!(why.contains("cannot write /proc/self/run.json: "), "{why}");
    }

    /// A file system of 16 kB, until it is dropped.
    struct Small(tempfile::TempDir);

    impl Small {
        /// `None`: we may not make one.
        fn mount() -> Option<Self> {
            let folder = tempfile::tempdir().unwrap();
            let mut command = std::process::Command::new("mount");
            command.args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(folder.path());
            let mounted =
                command.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success());
            mounted.then(|| Self(folder))
        }
    }

    impl Drop for Small {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.0.path()).status();
        }
    }

    #[test]
    fn a_full_disk_is_told_and_leaves_no_part_of_a_file() {
        let Some(small) = Small::mount() else { return hostler_untested::untested("mounting takes root") };
        let run = run(&[("a", "hostler", &[100.0; 200])]);
        let why = format!("{:#}", save(&run, small.0.path()).unwrap_err());
        assert!(why.contains("cannot write") && why.contains("No space left"), "{why}");
        assert_eq!(fs::read_dir(small.0.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_with_a_run_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(super::folder("x", Some(folder.path())).unwrap(), folder.path());
        save(&run(&[]), folder.path()).unwrap();
        assert!(
            super::folder("x", Some(folder.path())).unwrap_err().to_string().contains("has a run already")
        );
    }

    #[test]
    fn moments_are_those_of_rfc_3339() {
        let now = now();
        assert!(now.len() == 20 && now.ends_with('Z') && now.starts_with("20"), "{now}");
    }
}
