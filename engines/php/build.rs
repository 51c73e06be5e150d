//! Builds the interface between the worker and the system's PHP.
//!
//! Without PHP's library and headers everything else of Hostler must still build: then the program is one that says so
//! when it is started.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that tell how PHP was built: Debian's of the tested version, else the usual one.
const CONFIG: [&str; 2] = ["php-config8.2", "php-config"];
/// The variable that names another one, to build for a version beside these.
const CHOSEN: &str = "HOSTLER_PHP_CONFIG";

/// The first version that has all that the interface uses.
const OLDEST: (u32, u32) = (8, 1);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    println!("cargo::rustc-check-cfg=cfg(with_php)");
    println!("cargo::rerun-if-env-changed={CHOSEN}");
    for folder in ["build.rs", "sapi"] {
        println!("cargo::rerun-if-changed={folder}");
    }
    let php = match Php::find() {
        Ok(php) => php,
        Err(missing) => {
            println!("cargo::rustc-env=PHP_PARTS=");
            println!("cargo::rustc-env=PHP_INCLUDES=");
            // A file that is never there: looked for again with each build, until PHP is.
            println!("cargo::rerun-if-changed=no-php-yet");
            println!("cargo::warning={missing} (libphp8.2-embed, php8.2-dev): hostler-php will not run");
            return Ok(());
        }
    };
    println!("cargo::rustc-cfg=with_php");
    println!("cargo::rustc-env=PHP_VERSION={}", php.version);
    println!("cargo::rustc-env=PHP_LIBRARY={}", php.library.display());
    println!("cargo::rerun-if-changed={}", php.library.display());
    php.compile(&PathBuf::from(std::env::var("OUT_DIR")?))
}

/// The facts about the installed PHP that the build needs.
struct Php {
    includes: Vec<String>,
    version: String,
    /// The library's file, with the version in its name.
    library: PathBuf,
}

impl Php {
    /// # Errors
    /// The missing part.
    fn find() -> Result<Self, &'static str> {
        let chosen = std::env::var(CHOSEN).ok();
        let programs = chosen.as_deref().map_or_else(|| CONFIG.to_vec(), |one| vec![one]);
        let of = |option: &str| programs.iter().find_map(|program| ask(program, &[option]));
        let includes = of("--includes").ok_or("PHP's headers are missing")?;
        let version = of("--version").ok_or("php-config does not say its version")?;
        let minor = minor(&version).ok_or("php-config's version is none")?;
        if minor < OLDEST {
            return Err("PHP is older than 8.1");
        }
        let library = library(minor, of("--prefix")).ok_or("PHP's library is missing")?;
        Ok(Self { includes: includes.split_whitespace().map(str::to_owned).collect(), version, library })
    }

    fn compile(&self, out: &Path) -> Outcome<()> {
        let mut build = cc::Build::new();
        for flag in &self.includes {
            build.flag(flag);
        }
        build.include("sapi").opt_level(2).warnings(true).flag("-Wno-unused-parameter").flag("-std=gnu11");
        build.flag("-fvisibility=hidden").pic(true);
        let mut sources = Vec::new();
        for entry in fs::read_dir("sapi")? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "c") {
                sources.push(path);
            }
        }
        sources.sort();
        build.files(sources).compile("hostler_php_sapi");
        self.link(out)
    }

    /// All versions of the library call themselves `libphp.so`, and a link that the administrator may turn decides which
    /// of them a program finds. So the program is linked with a library of ours in which nothing is but the names, and
    /// which calls itself by the versioned file's path: that is what the loader opens.
    fn link(&self, out: &Path) -> Outcome<()> {
        let wanted: BTreeSet<String> =
            symbols(&["-u"], &out.join("libhostler_php_sapi.a"))?.into_keys().collect();
        let defined = symbols(&["-D", "--defined-only"], &self.library)?;
        let mut text = String::new();
        for (name, kind) in defined.iter().filter(|(name, _)| wanted.contains(*name)) {
            let (section, word) = if kind == "T" { (".text", "function") } else { (".data", "object") };
            writeln!(
                text,
                "{section}\n.globl {name}\n.type {name},@{word}\n{name}: .quad 0\n.size {name},8"
            )?;
        }
        text.push_str(".section .note.GNU-stack,\"\",@progbits\n");
        let source = out.join("names.s");
        fs::write(&source, text)?;
        let soname = format!("-Wl,-soname,{}", self.library.display());
        let made = Command::new("cc")
            .args(["-shared", "-nostdlib", &soname, "-o"])
            .arg(out.join("libhostler_php_names.so"))
            .arg(&source)
            .status()?;
        if !made.success() {
            return Err(format!("the library of names: {made}").into());
        }
        println!("cargo::rustc-link-search=native={}", out.display());
        // Tests build programs of their own with the same.
        println!("cargo::rustc-env=PHP_PARTS={}", out.display());
        println!("cargo::rustc-env=PHP_INCLUDES={}", self.includes.join(" "));
        println!("cargo::rustc-link-lib=dylib=hostler_php_names");
        Ok(())
    }
}

/// The first two numbers of a version.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The library of this version: of its own folder, else of the system. One that somebody has built for himself has no version in
/// its name, and beside several of a system stands a link of that name, which leads to any of them: so each is looked into.
fn library((major, minor): (u32, u32), prefix: Option<String>) -> Option<PathBuf> {
    let names = [format!("libphp{major}.{minor}.so"), "libphp.so".to_owned()];
    let folder = prefix.map(|prefix| Path::new(&prefix).join("lib"));
    let own = names.iter().filter_map(|name| Some(folder.as_ref()?.join(name)));
    let of_system = names.iter().filter_map(|name| ask("cc", &[&format!("-print-file-name={name}")]));
    let files = own.chain(of_system.map(PathBuf::from)).filter(|file| file.is_absolute());
    // What it tells clients that it is.
    let told = format!("PHP/{major}.{minor}.");
    let is_of = |file: &PathBuf| {
        fs::read(file).is_ok_and(|bytes| bytes.windows(told.len()).any(|part| part == told.as_bytes()))
    };
    files.filter_map(|file| file.canonicalize().ok()).find(is_of)
}

/// The names in a library or archive, and their kinds.
fn symbols(options: &[&str], file: &Path) -> Outcome<BTreeMap<String, String>> {
    let output = Command::new("nm").args(options).arg(file).output()?;
    if !output.status.success() {
        return Err(format!("nm {}: {}", file.display(), output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().rev().take(2).collect();
        let [name, kind] = words[..] else { return None };
        // A name may carry its version: name@@VERSION.
        Some((name.split('@').next().unwrap_or(name).to_owned(), kind.to_owned()))
    };
    Ok(text.lines().filter_map(of_line).collect())
}

fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
