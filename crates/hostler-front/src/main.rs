//! The front as a program. What it is and does: the library of the same name.

fn main() -> std::process::ExitCode {
    hostler_front::main()
}
