//! Compiles the engine.

/// The headers that all engines in C share.
const HEADERS: &str = "../../crates/hostler-engine/include";

fn main() {
    for path in ["build.rs", "echo.c", HEADERS] {
        println!("cargo::rerun-if-changed={path}");
    }
    let mut build = cc::Build::new();
    build.file("echo.c").include(HEADERS).warnings(true).extra_warnings(true).flag("-std=c11");
    build.compile("hostler_echo");
}
