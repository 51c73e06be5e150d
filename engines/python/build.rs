//! Tells the program where the extension is that it carries: cargo builds a package's library before its programs.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // target/<profile>/build/<package>/out
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).unwrap_or(&out);
    let extension = profile.join("deps").join("libhostler_python_extension.so");
    println!("cargo::rustc-env=HOSTLER_PYTHON_EXTENSION={}", extension.display());
    // Python's functions are the interpreter's that loads the extension.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,lazy");
}
