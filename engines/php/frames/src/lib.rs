//! The messages to the PHP engine beyond [`hostler_wire`], where they travel as bytes: the setup of a pool, and the
//! settings (`php_value` and related directives) of a directory.
//!
//! This crate moves no bytes; it only says what they mean.

mod said;

pub use said::{Cache, FromPhp, SubRequest, ToPhp};

use hostler_wire::codec::{Decoder, Encoder, Malformed};

/// Names of handlers, as `SetHandler` and `AddHandler` say them, and as media types that mean the same.
pub mod handler {
    /// Runs a script.
    pub const RUN: &str = "application/x-httpd-php";
    /// The same.
    pub const SCRIPT: &str = "php-script";
    /// Shows a script's source, coloured.
    pub const SOURCE: &str = "application/x-httpd-php-source";
    /// All of them.
    pub const ALL: [&str; 3] = [RUN, SCRIPT, SOURCE];
}

/// The setup of a pool's parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// `PHPINIDir`: a php.ini or its folder.
    pub ini: Option<String>,
    /// Names for `apache_get_modules()`, as `mod_rewrite`.
    pub modules: Vec<String>,
    /// Scripts that the parent runs before it forks: document roots, and paths below them (`PHPWarm`).
    pub warm: Vec<(String, String)>,
}

impl Setup {
    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.optional_text(self.ini.as_deref());
        e.texts(&self.modules);
        e.pairs(&self.warm);
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let setup =
            Self { ini: d.optional_text()?.map(str::to_owned), modules: d.texts()?, warm: d.pairs()? };
        d.end().map(|()| setup)
    }
}

/// One of `php_value`, `php_flag`, `php_admin_value`, `php_admin_flag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'a> {
    /// The name of PHP's setting.
    pub name: &'a str,
    /// Its value; a flag is `1` or `0`.
    pub value: &'a str,
    /// Of the administrator: programs and `.htaccess` files can't change it.
    pub admin: bool,
    /// It stands in an access file (`.htaccess`): some settings only get stricter there.
    pub access_file: bool,
}

/// PHP's part of a directory's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory<'a> {
    /// The settings, each name once.
    pub settings: Vec<Setting<'a>>,
    /// Files that PHP calls `.user.ini` are read, which mod_php does not.
    pub user_ini: bool,
    /// `CGIPassAuth`: programs are told of Authorization.
    pub pass_auth: bool,
    /// Programs are told where their files really are, links followed (`HostlerPHPRealpath`).
    pub real_paths: bool,
}

impl<'a> Directory<'a> {
    /// Bytes that a setting takes at least.
    const LEAST: usize = 10;

    /// Writes it.
    pub fn encode(&self, e: &mut Encoder<'_>) {
        e.bool(self.user_ini);
        e.bool(self.pass_auth);
        e.bool(self.real_paths);
        e.list(&self.settings, |e, setting| {
            e.bool(setting.admin);
            e.bool(setting.access_file);
            e.bytes(setting.name.as_bytes());
            e.bytes(setting.value.as_bytes());
        });
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`Malformed`], also when bytes are left over.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut d = Decoder(bytes);
        let (user_ini, pass_auth, real_paths) = (d.bool()?, d.bool()?, d.bool()?);
        let settings = d.list(Self::LEAST, |d| {
            let (admin, access_file) = (d.bool()?, d.bool()?);
            Ok(Setting { admin, access_file, name: d.text()?, value: d.text()? })
        })?;
        d.end().map(|()| Self { settings, user_ini, pass_auth, real_paths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pool_loads_comes_back() {
        let setup = Setup {
            ini: Some("/etc/php".into()),
            modules: vec!["core".into()],
            warm: vec![("/srv".into(), "/a.php".into())],
        };
        let mut bytes = Vec::new();
        setup.encode(&mut Encoder(&mut bytes));
        assert_eq!(Setup::decode(&bytes), Ok(setup));
        assert_eq!(Setup::decode(&bytes[1..]), Err(Malformed));
    }

    #[test]
    fn the_settings_of_a_directory_come_back() {
        let memory = Setting { name: "memory_limit", value: "64M", admin: true, access_file: false };
        let errors = Setting { name: "display_errors", value: "0", admin: false, access_file: true };
        let directory =
            Directory { settings: vec![memory, errors], user_ini: true, pass_auth: false, real_paths: true };
        let mut bytes = Vec::new();
        directory.encode(&mut Encoder(&mut bytes));
        assert_eq!(Directory::decode(&bytes), Ok(directory));
        bytes.push(0);
        assert_eq!(Directory::decode(&bytes), Err(Malformed));
    }
}
