//! Builds the glue between the worker and the system's perl, and the table of the embedded Perl modules.
//!
//! Without perl, or without what it is linked with, everything else of Hostler must still build: then the program is
//! one that says so when it is started.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set for the build: perl's library instead of its archive, so that updates of the system's perl reach the engine.
const SHARED: &str = "HOSTLER_SHARED_PERL";

/// The headers that all engines in C share.
const HEADERS: &str = "../../crates/hostler-engine/include";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    println!("cargo::rustc-check-cfg=cfg(with_perl)");
    for folder in ["build.rs", "glue", "xs", "lib", HEADERS] {
        println!("cargo::rerun-if-changed={folder}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("embedded.rs"), embedded(Path::new("lib"))?)?;
    println!("cargo::rerun-if-env-changed={SHARED}");
    let perl = match Perl::find(&out) {
        Ok(perl) => perl,
        Err(missing) => {
            // A file that is never there: looked for again with each build, until perl is.
            println!("cargo::rerun-if-changed=no-perl-yet");
            println!("cargo::warning={missing} (libperl-dev): hostler-perl will not run");
            return Ok(());
        }
    };
    println!("cargo::rustc-cfg=with_perl");
    println!("cargo::rustc-env=SYSTEM_PERL_PLACES={}", places());
    let version = ask(&["-e", "printf '%vd', $^V"]).unwrap_or_default();
    println!("cargo::rustc-env=SYSTEM_PERL_VERSION={version}");
    perl.compile(&out)
}

/// Returns the folders of the system's modules, separated by colons.
fn places() -> String {
    const NAMES: &str = "qw(sitearchexp sitelibexp vendorarchexp vendorlibexp archlibexp privlibexp)";
    let code = format!("print join q(:), grep {{ $_ }} @Config{{{NAMES}}}");
    ask(&["-MConfig", "-e", &code]).unwrap_or_default()
}

/// The facts about the installed perl that the build needs.
struct Perl {
    compile_flags: Vec<String>,
    search: Vec<String>,
    /// The libraries that perl itself needs.
    libraries: Vec<String>,
    /// `libperl.a`, where there is one that is wanted.
    archive: Option<PathBuf>,
    xsubpp: String,
    typemap: String,
}

impl Perl {
    /// # Errors
    /// The missing part. Debian's perl brings the headers along, but not the library for the linker.
    fn find(out: &Path) -> Result<Self, &'static str> {
        let headers = ask(&["-MConfig", "-e", "print qq($Config{archlibexp}/CORE/perl.h)"]);
        if !headers.is_some_and(|headers| Path::new(&headers).exists()) {
            return Err("perl's headers are missing");
        }
        let perl = Self::described().ok_or("perl does not say how it is linked")?;
        if perl.can_be_linked(out) { Ok(perl) } else { Err("perl's library can't be linked") }
    }

    fn described() -> Option<Self> {
        let library = ask(&["-MConfig", "-e", "print $Config{privlibexp}"])?;
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let linking = words(ask(&["-MExtUtils::Embed", "-e", "ldopts"])?);
        Some(Self {
            compile_flags: words(ask(&["-MExtUtils::Embed", "-e", "ccopts"])?),
            search: linking.iter().filter_map(|word| word.strip_prefix("-L").map(str::to_owned)).collect(),
            libraries: words(ask(&["-MConfig", "-e", "print $Config{perllibs}"])?)
                .iter()
                .filter_map(|word| word.strip_prefix("-l").map(str::to_owned))
                .collect(),
            archive: archive().filter(|_| std::env::var_os(SHARED).is_none()),
            xsubpp: format!("{library}/ExtUtils/xsubpp"),
            typemap: format!("{library}/ExtUtils/typemap"),
        })
    }

    /// Returns whether the linker finds all that [`Self::link`] is going to name: tried with a library in which nothing
    /// is.
    fn can_be_linked(&self, out: &Path) -> bool {
        let mut linker = Command::new("cc");
        linker.args(["-x", "c", "/dev/null", "-x", "none", "-shared", "-o"]).arg(out.join("tried"));
        linker.args(self.search.iter().map(|folder| format!("-L{folder}")));
        match &self.archive {
            Some(archive) => linker.arg(archive).args(self.libraries.iter().map(|name| format!("-l{name}"))),
            None => linker.arg("-lperl"),
        };
        linker.output().is_ok_and(|done| done.status.success())
    }

    fn compile(&self, out: &Path) -> Outcome<()> {
        let mut build = cc::Build::new();
        for flag in &self.compile_flags {
            build.flag(flag);
        }
        // Perl's own headers do not pass these; everything of ours is compiled optimised, as perl itself is.
        build.include("glue").include(HEADERS).opt_level(2).warnings(true).flag("-Wno-unused-parameter");
        build.flag("-Wno-missing-field-initializers").flag("-fvisibility=hidden");
        build.files(with_extension(Path::new("glue"), "c")?);
        let mut modules = Vec::new();
        for source in with_extension(Path::new("xs"), "xs")? {
            build.file(self.translate(&source, out)?);
            modules.push(module_of(&source)?);
        }
        let table = out.join("modules.c");
        fs::write(&table, boot_table(&modules)?)?;
        build.file(table).compile("hostler_perl_glue");
        self.link();
        Ok(())
    }

    /// The interpreter as a part of the program where its archive is installed, as in perl's own program: calls inside
    /// of it are direct then, and there is less to map. Compiled modules find its names in the program, as they do in
    /// perl's.
    fn link(&self) {
        for folder in &self.search {
            println!("cargo::rustc-link-search=native={folder}");
        }
        let Some(archive) = &self.archive else {
            println!("cargo::rustc-link-lib=dylib=perl");
            return;
        };
        println!("cargo::rerun-if-changed={}", archive.display());
        if let Some(folder) = archive.parent() {
            println!("cargo::rustc-link-search=native={}", folder.display());
        }
        println!("cargo::rustc-link-lib=static:+whole-archive,-bundle=perl");
        for library in &self.libraries {
            // Each library is five more mappings for every fork to copy.
            let kind =
                if library == "crypt" && has_archive("libcrypt.a") { "static:-bundle" } else { "dylib" };
            println!("cargo::rustc-link-lib={kind}={library}");
        }
        if has_archive("libgcc_eh.a") {
            // What panics need, in place of libgcc_s, which is named later and then not asked for anything.
            println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
        }
        println!("cargo::rustc-link-arg-bins=-rdynamic");
        // Code begins with a huge page, see glue/text.c.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size=0x200000,-z,separate-code");
    }

    /// XS to C.
    fn translate(&self, source: &Path, out: &Path) -> Outcome<PathBuf> {
        let stem = source.file_stem().ok_or("no name")?.to_string_lossy();
        let target = out.join(format!("xs_{stem}.c"));
        let mut xsubpp = Command::new("perl");
        xsubpp.args([&self.xsubpp, "-noversioncheck", "-typemap", &self.typemap]);
        let own = Path::new("xs/typemap");
        if own.exists() {
            xsubpp.arg("-typemap").arg(own.canonicalize()?);
        }
        let made = xsubpp.arg("-output").arg(&target).arg(source).status()?;
        if made.success() { Ok(target) } else { Err(format!("xsubpp {}: {made}", source.display()).into()) }
    }
}

/// The interpreter's archive: beside its headers, or where the compiler finds libraries.
fn archive() -> Option<PathBuf> {
    let own = PathBuf::from(ask(&["-MConfig", "-e", "print qq($Config{archlibexp}/CORE/libperl.a)"])?);
    if own.exists() { Some(own) } else { find_archive("libperl.a") }
}

/// Finds an archive where the compiler does.
fn find_archive(name: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    (path.is_absolute() && path.exists()).then_some(path)
}

/// Returns whether there is an archive; its folder is then searched.
fn has_archive(name: &str) -> bool {
    let archive = find_archive(name);
    if let Some(folder) = archive.as_deref().and_then(Path::parent) {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    archive.is_some()
}

fn ask(arguments: &[&str]) -> Option<String> {
    let output = Command::new("perl").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn with_extension(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The name after `MODULE =` in an XS file.
fn module_of(source: &Path) -> Outcome<String> {
    let text = fs::read_to_string(source)?;
    let line = text.lines().find_map(|line| line.strip_prefix("MODULE = "));
    let name = line.and_then(|rest| rest.split_whitespace().next());
    Ok(name.ok_or_else(|| format!("{}: no MODULE line", source.display()))?.to_owned())
}

/// C: what to call for each XS file.
fn boot_table(modules: &[String]) -> Outcome<String> {
    let mut text = String::from("#include \"request.h\"\n#include \"perl_glue.h\"\n");
    for module in modules {
        writeln!(text, "XS_EXTERNAL(boot_{});", module.replace("::", "__"))?;
    }
    text.push_str("const hp_module hp_modules[] = {\n");
    for module in modules {
        writeln!(text, "    {{\"{module}\", boot_{}}},", module.replace("::", "__"))?;
    }
    text.push_str("    {NULL, NULL}};\n");
    Ok(text)
}

/// Rust: every module below `lib`, sorted by its path.
fn embedded(library: &Path) -> Outcome<String> {
    let mut found = Vec::new();
    collect(library, &mut found)?;
    // As bytes: a path's own order goes by component.
    found.sort_by_key(|path| path.display().to_string());
    let mut text = String::from("&[\n");
    for path in found {
        let name = path.strip_prefix(library)?;
        let whole = path.canonicalize()?;
        writeln!(text, "    ({:?}, include_bytes!({:?})),", name.display().to_string(), whole)?;
    }
    text.push(']');
    Ok(text)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Outcome<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "pm" || e == "pl") {
            found.push(path);
        }
    }
    Ok(())
}
