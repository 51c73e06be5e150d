//! The table of techniques. A new one is a crate with a row, a line here, and a line among the dependencies.

mod cgi;
mod fcgid;

pub use cgi::CGI;
pub use fcgid::FCGID;

use hostler_config::technique::{self, Technique};

/// All techniques that Hostler has.
pub static TECHNIQUES: &[&Technique] = &[
    &CGI,
    &FCGID,
    &hostler_perl_technique::PERL,
    &hostler_perl_technique::PSGI,
    &hostler_php_technique::PHP,
    &hostler_python_technique::WSGI,
    &hostler_python_technique::ASGI,
    &hostler_servlet_technique::SERVLET,
    // What the tests try the whole way with; programs that are released have no such row.
    #[cfg(debug_assertions)]
    &hostler_echo_technique::ECHO,
];

/// To be called once in a process, before a configuration is read; again does no harm.
///
/// # Errors
/// The fault in the table: two rows that claim one handler, or a configuration that was read without it.
pub fn install() -> Result<(), String> {
    technique::install(TECHNIQUES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(install(), Ok(()));
        assert_eq!(install(), Ok(()));
        let names: Vec<_> = technique::all().iter().map(|row| row.name).collect();
        assert_eq!(names, ["cgi", "fcgid", "perl", "psgi", "php", "wsgi", "asgi", "servlet", "echo"]);
        let engines: Vec<_> = technique::engines().iter().map(|engine| engine.name).collect();
        assert_eq!(engines, ["echo", "perl", "php", "python"]);
    }
}
