//! Starts the virtual machine in this process, with the launcher's library (`libjli`) of the Java that was chosen, instead of
//! executing `java`: what a process does to confine itself an execution undoes, and Java has no means to do it.
//!
//! **Diagnostics**: a Java without that library is executed, and a line says what that means.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the descriptor for the list of files that are run (`hostler-wire`, `site`).
const CODE: &str = "HOSTLER_CODE";

/// The function of that name (`launcher/main.c` calls it with what `java` was started with, since Java 9).
type JliLaunch = unsafe extern "C" fn(
    argc: c_int,
    argv: *mut *mut c_char,
    jargc: c_int,
    jargv: *const *const c_char,
    appclassc: c_int,
    appclassv: *const *const c_char,
    fullversion: *const c_char,
    dotversion: *const c_char,
    pname: *const c_char,
    lname: *const c_char,
    javaargs: u8,
    cpwildcard: u8,
    javaw: u8,
    ergo: c_int,
) -> c_int;

/// The launcher of a Java.
#[derive(Debug)]
pub(crate) struct Launcher {
    launch: JliLaunch,
    /// The libraries of that Java.
    libraries: PathBuf,
}

impl Launcher {
    /// # Errors
    /// The library or function that is missing.
    pub(crate) fn load(java: &Path) -> Result<Self, String> {
        let home = java.parent().and_then(Path::parent).ok_or("no home of Java")?;
        let libraries = home.join("lib");
        let library = open(&libraries.join("libjli.so"))?;
        // SAFETY: a library that is open, and a name that ends with NUL.
        let found = unsafe { libc::dlsym(library, c"JLI_Launch".as_ptr()) };
        if found.is_null() {
            return Err(format!("{}/libjli.so has no JLI_Launch", libraries.display()));
        }
        // What it runs is known with what its libraries need. The launcher opens this one anyway.
        open(&libraries.join("server/libjvm.so"))?;
        // SAFETY: the function of that name has this type in all versions that are taken here.
        Ok(Self { launch: unsafe { std::mem::transmute::<*mut c_void, JliLaunch>(found) }, libraries })
    }

    /// Becomes the virtual machine that the command describes, until it ends: its exit status. `files`: archives that it
    /// reads classes from.
    pub(crate) fn run(&self, command: &Command, files: &[PathBuf]) -> c_int {
        if let Err(error) = self.prepare(command, files) {
            eprintln!("hostler-servlet: {error}");
            return 2;
        }
        let words = std::iter::once(OsStr::new("java")).chain(command.get_args());
        let words: Vec<CString> = words.filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
        let mut pointers: Vec<*mut c_char> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        let count = pointers.len() as c_int;
        pointers.push(std::ptr::null_mut());
        let (none, nothing, java): (_, &CStr, _) = (std::ptr::null(), c"", c"java".as_ptr());
        let nothing = nothing.as_ptr();
        // SAFETY: lists that end with null pointers, of strings that end with NUL and live until it comes back; lists of
        // length 0; numbers as `launcher/main.c` has them for `java`.
        unsafe {
            (self.launch)(
                count,
                pointers.as_mut_ptr(),
                0,
                none,
                0,
                none,
                nothing,
                nothing,
                java,
                java,
                0,
                1,
                0,
                0,
            )
        }
    }

    fn prepare(&self, command: &Command, files: &[PathBuf]) -> std::io::Result<()> {
        if let Some(folder) = command.get_current_dir() {
            std::env::set_current_dir(folder)?;
        }
        self.say_code(files)?;
        // As all warm workers: no other process of the user traces it, or reads its memory and descriptors.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        rustix::thread::set_name(c"hostler-servlet")?;
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGPIPE] {
            // SAFETY: a default action; what this language's library has set is the virtual machine's to decide.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    }

    /// Lists the files that are run, for the site's process, which cannot look into this one any more.
    fn say_code(&self, files: &[PathBuf]) -> std::io::Result<()> {
        let Some(number) = std::env::var(CODE).ok().and_then(|number| number.parse().ok()) else {
            return Ok(());
        };
        // SAFETY: the site's process has set the variable and opened the descriptor for this; the process has one thread.
        let mut code = unsafe {
            std::env::remove_var(CODE);
            fs::File::from_raw_fd(number)
        };
        let maps = fs::read_to_string("/proc/self/maps")?;
        let mapped = maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
        let of_java = fs::read_dir(&self.libraries)?.flatten().map(|entry| entry.path());
        let mut all: Vec<PathBuf> = mapped.chain(of_java).chain(files.iter().cloned()).collect();
        all.sort();
        all.dedup();
        let mut text = String::new();
        for path in all {
            let Ok(facts) = path.symlink_metadata() else { continue };
            let _ = writeln!(text, "{} {} {}", facts.dev(), facts.ino(), path.display());
        }
        code.write_all(text.as_bytes())
    }
}

/// Opens a library, for good.
fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a string; the library's code is the Java's that is to be run.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        // SAFETY: after a failure it is a string.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) };
        return Err(why.to_string_lossy().into_owned());
    }
    Ok(library)
}
