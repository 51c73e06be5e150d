//! Compiles the part of the servlet container that is in Java, against Tomcat's packaged classes.
//!
//! Without a JDK or Tomcat everything else of Hostler must still build: then the program is one that says so when it is
//! started.

#[path = "src/jars.rs"]
mod jars;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources, in Java.
const SOURCES: &str = "java/hostler";
/// The oldest Java that it runs on: Debian 12 has this one.
const RELEASE: &str = "17";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rustc-check-cfg=cfg(with_java)");
    for file in ["build.rs", "src/jars.rs", "java"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    match compile(&out)? {
        Ok(()) => println!("cargo::rustc-cfg=with_java"),
        Err(missing) => {
            // A file that is never there: looked for again with each build, until they are.
            println!("cargo::rerun-if-changed=no-java-yet");
            println!("cargo::warning={missing}: hostler-servlet will not run");
        }
    }
    Ok(())
}

/// The inner error: what is missing.
fn compile(out: &Path) -> Result<Result<(), String>, Box<dyn Error>> {
    let jars = match jars::find(Path::new(jars::FOLDER)) {
        Ok(jars) => jars,
        Err(missing) => return Ok(Err(missing)),
    };
    let mut sources = Vec::new();
    for entry in fs::read_dir(SOURCES)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "java") {
            sources.push(path);
        }
    }
    sources.sort();
    let classes = out.join("classes");
    if classes.exists() {
        fs::remove_dir_all(&classes)?;
    }
    let mut javac = Command::new("javac");
    javac.args([
        "-Xlint:all",
        "-Xlint:-path",
        "-Xlint:-classfile",
        "-Werror",
        "--release",
        RELEASE,
        "-g:source,lines",
        "-d",
    ]);
    javac.arg(&classes).arg("-cp").arg(jars::class_path(&jars)).args(&sources);
    let compiled = match javac.status() {
        Ok(status) => status,
        Err(error) => return Ok(Err(format!("javac (openjdk-17-jdk-headless): {error}"))),
    };
    if !compiled.success() {
        return Err(format!("javac: {compiled}").into());
    }
    let archived = Command::new("jar")
        .arg("cf")
        .arg(out.join("hostler-servlet.jar"))
        .arg("-C")
        .arg(&classes)
        .arg(".")
        .status()?;
    if !archived.success() {
        return Err(format!("jar: {archived}").into());
    }
    Ok(Ok(()))
}
