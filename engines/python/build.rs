//! Has the linker put the extension into the program that carries it: cargo builds a package's library before its programs.
//! Cargo would not look again at files that the compiler includes when only those have changed.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Python's functions are the interpreter's that loads the extension.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,lazy");
    // Each program of a site has it in its memory: a tenth of it is for running, and the rest for debuggers.
    println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-debug");
    // target/<profile>/build/<package>/out
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let profile = out.ancestors().nth(3).unwrap_or(&out);
    let extension = profile.join("deps").join("libhostler_python_extension.so").display().to_string();
    // As linkers call the beginning and the end of a file that they take as it is.
    let symbol: String = extension.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    for argument in [
        "-Wl,--format=binary".to_owned(),
        extension,
        "-Wl,--format=default".to_owned(),
        format!("-Wl,--defsym=hostler_python_extension_start=_binary_{symbol}_start"),
        format!("-Wl,--defsym=hostler_python_extension_end=_binary_{symbol}_end"),
    ] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
