//! The Java that runs a site's servlets, and its options.

use crate::arguments::Arguments;
use crate::place::Place;
use crate::{archive, jars, launch};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest version that Tomcat 10.1 with our program runs on.
const OLDEST: u32 = 17;
/// The heap where nothing is said.
const HEAP: &str = "256m";
/// The paths at which Java is looked for.
const PROGRAMS: [&str; 3] = ["/usr/lib/jvm/default-java/bin/java", "/usr/bin/java", "/usr/local/bin/java"];

/// Java's numbers: 17.0.15.
type Version = [u32; 3];

/// The home of a Java.
#[derive(Debug)]
pub(crate) struct Home {
    java: PathBuf,
    /// `None`: it does not say.
    version: Option<Version>,
}

impl Home {
    /// # Errors
    /// There is none, or none that will do: what to do about it.
    pub(crate) fn find(configured: Option<&str>) -> Result<Self, String> {
        let java = match configured {
            Some(home) => fs::canonicalize(Path::new(home).join("bin/java"))
                .map_err(|error| format!("java-home={home}: {home}/bin/java: {error}"))?,
            None => PROGRAMS
                .iter()
                .find_map(|path| fs::canonicalize(path).ok())
                .ok_or("there is no Java: install openjdk-17-jre-headless, or say java-home=DIRECTORY with ServletApp")?,
        };
        match release(&java) {
            Some([version, ..]) if version < OLDEST => Err(format!(
                "{} is Java {version}, and Tomcat 10.1 needs {OLDEST}: say java-home=DIRECTORY of a newer one with ServletApp",
                java.display()
            )),
            version => Ok(Self { java, version }),
        }
    }

    /// The program.
    pub(crate) fn program(&self) -> &Path {
        &self.java
    }

    /// Becomes the virtual machine; what is returned is why that fails.
    pub(crate) fn replace(&self, arguments: &Arguments, jars: &[PathBuf], place: Place) -> String {
        let Place { folder, program, .. } = &place;
        let mut jars = jars.to_vec();
        jars.push(program.clone());
        let mut java = Command::new(&self.java);
        java.arg("-Xmx".to_owned() + arguments.heap.as_deref().unwrap_or(HEAP));
        // A small heap is collected fastest by one thread, threads of a server need no deep stacks, and what follows takes
        // memory or files that nobody looks at.
        java.args(["-XX:+UseSerialGC", "-Xss512k", "-XX:-UsePerfData", "-XX:+DisableAttachMechanism"]);
        // Java would begin with a sixty-fourth of the machine's memory, and touch all of it before it looks for what can be thrown
        // away: with many sites that adds up.
        java.args(["-Xms8m", "-XX:MinHeapFreeRatio=20", "-XX:MaxHeapFreeRatio=40"]);
        // With it half of the classes need not be read and verified. One that is of another Java is passed over in silence.
        if let Some(archive) = archive::find() {
            java.arg(format!("-XX:SharedArchiveFile={}", archive.display()));
            java.args(["-Xshare:auto", "-Xlog:cds*=off"]);
            // Where it was made for, and not elsewhere, which would change nearly all of its pages: sites could not share them.
            java.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0"]);
        }
        // The compiler that optimizes most takes memory, and most of a start's time: it is for what is called really often.
        java.args(["-XX:Tier4InvocationThreshold=20000", "-XX:Tier4MinInvocationThreshold=2400"]);
        java.args(["-XX:Tier4CompileThreshold=60000", "-XX:Tier4BackEdgeThreshold=160000"]);
        // What was freed after the start goes back to the system.
        if self.version.is_some_and(trims) {
            java.arg("-XX:TrimNativeHeapInterval=5000");
        }
        // What is left of a program without memory answers nobody.
        java.args(["-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true"]);
        // With these Tomcat finds what applications leave behind when they are deployed anew.
        for package in [
            "java.base/java.io",
            "java.base/java.lang",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.rmi/sun.rmi.transport",
        ] {
            java.arg(format!("--add-opens={package}=ALL-UNNAMED"));
        }
        java.arg(format!("-XX:ErrorFile={}/hs_err.log", folder.display()));
        java.arg(format!("-Djava.io.tmpdir={}/tmp", folder.display()));
        java.args(&arguments.jvm).arg("-cp").arg(jars::class_path(&jars)).arg("hostler.Main");
        java.arg(format!("--work={}", folder.display())).args(&arguments.rest);
        let migration = jars::migration(Path::new(jars::MIGRATION));
        java.args(migration.as_ref().map(|tool| format!("--migration={}", tool.display())));
        java.current_dir(folder);
        let files = jars.iter().cloned().chain(archive::find()).chain(migration).collect::<Vec<_>>();
        let why = match launch::Launcher::load(&self.java) {
            // It comes back when the virtual machine has ended.
            Ok(launcher) => std::process::exit(launcher.run(&java, &files)),
            Err(why) => why,
        };
        eprintln!("other programs of the site can look into its virtual machine: {why}");
        let error = java.exec();
        drop(place);
        format!("{}: {error}", self.java.display())
    }
}

/// Returns whether a Java can give freed memory of its own back (JDK-8293114): the word would keep an older one from
/// starting.
const fn trims(version: Version) -> bool {
    match version {
        [17, 0, update] => update >= 9,
        [21, 0, update] => update >= 1,
        [major, ..] => major >= 22,
    }
}

/// The version that a Java says of itself in its file `release`: `JAVA_VERSION="17.0.15"`.
fn release(java: &Path) -> Option<Version> {
    let text = fs::read_to_string(java.parent()?.parent()?.join("release")).ok()?;
    version(&text)
}

fn version(release: &str) -> Option<Version> {
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    let mut numbers = line.trim_matches('"').split(['.', '+', '-', '_']).map(str::parse);
    let mut first = numbers.next()?.ok()?;
    if first == 1 {
        // 1.8 is 8.
        first = numbers.next()?.ok()?;
    }
    // `25` says no more, and `22-ea` no number.
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    Some([first, next(), next()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            ("IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n", Some([17, 0, 15])),
            ("JAVA_VERSION=\"1.8.0_412\"", Some([8, 0, 412])),
            ("JAVA_VERSION=\"25\"", Some([25, 0, 0])),
            ("JAVA_VERSION=\"22-ea\"", Some([22, 0, 0])),
            ("", None),
        ] {
            assert_eq!(version(text), expected);
        }
    }

    #[test]
    fn no_java_is_told_what_it_does_not_know() {
        for (version, expected) in [
            ([17, 0, 8], false),
            ([17, 0, 9], true),
            ([18, 0, 2], false),
            ([21, 0, 0], false),
            ([21, 0, 1], true),
            ([25, 0, 0], true),
        ] {
            assert_eq!(trims(version), expected, "{version:?}");
        }
    }

    #[test]
    fn a_java_that_is_not_there_or_too_old_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        assert!(Home::find(Some(home)).unwrap_err().contains("java-home="));
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/java"), "").unwrap();
        fs::write(folder.path().join("release"), "JAVA_VERSION=\"11.0.2\"").unwrap();
        assert!(Home::find(Some(home)).unwrap_err().contains("is Java 11"));
    }
}
