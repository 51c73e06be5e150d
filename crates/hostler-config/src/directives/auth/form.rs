//! Directives of mod_auth_form: logins by a form in a page, kept in a session ([`crate::directives::session`]); and the
//! form, read as a function of its text.

use super::Provider;
use crate::{Args, Arity, Command, Contexts, Directive, Effect, Module, Overrides, over};
use hostler_expr::Expr;

/// mod_auth_form.
pub static MODULE: Module = Module {
    name: "auth_form_module",
    file: "mod_auth_form.c",
    directives: DIRECTIVES,
    effect: Effect::Guards,
};

/// A directive of this module.
macro_rules! row {
    ($name:literal, $arity:ident, $form:literal, $doc:literal, $set:expr) => {
        Directive::new($name, Arity::$arity, $form, $doc, $set)
            .allowed(Contexts::DIR_HTACCESS, Overrides::AUTH_CONFIG)
    };
}

/// A directive that names a field of the form.
macro_rules! field {
    ($name:literal, $doc:literal, $field:ident) => {
        row!($name, Take1, "name", $doc, |command, args| {
            form(command).$field = Some(field_name(args.first())?);
            Ok(())
        })
    };
}

/// A directive that names a place to go on at.
macro_rules! location {
    ($name:literal, $doc:literal, $field:ident) => {
        row!($name, Take1, "URL (may contain %{...})", $doc, |command, args| {
            let location = command.string_expr(args.first())?;
            form(command).$field = Some(location);
            Ok(())
        })
    };
}

/// A directive that is On or Off.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        row!($name, Flag, "On|Off", $doc, |command, args| {
            form(command).$field = Some(args.flag());
            Ok(())
        })
    };
}

static DIRECTIVES: &[Directive] = &[
    row!(
        "AuthFormProvider",
        Iterate,
        "file|dbm|anon|socache|name ...",
        "Set the providers that check passwords",
        |command, args| {
            let provider = Provider::named(command, args.first())?;
            form(command).providers.push(provider);
            Ok(())
        }
    ),
    field!("AuthFormUsername", "Set the form field with the user name (default httpd_username)", user),
    field!("AuthFormPassword", "Set the form field with the password (default httpd_password)", password),
    field!(
        "AuthFormLocation",
        "Set the form field with the URL to redirect to after login (default httpd_location)",
        location
    ),
    field!(
        "AuthFormMethod",
        "Set the form field with the request method to use after login (default httpd_method)",
        method
    ),
    field!(
        "AuthFormMimetype",
        "Set the form field with the media type of the request body to use after login (default \
            httpd_mimetype)",
        kind
    ),
    field!(
        "AuthFormBody",
        "Set the form field with the request body to use after login (default httpd_body)",
        body
    ),
    row!("AuthFormSize", Take1, "bytes", "Limit the size of a login form in bytes (default 8192)", size)
        .allowed(Contexts::DIRECTORY, Overrides::NONE)
        .with_effect(Effect::Harmless),
    location!("AuthFormLoginRequiredLocation", "Set the URL to redirect to if a login is required", required),
    location!("AuthFormLoginSuccessLocation", "Set the URL to redirect to after a successful login", success),
    location!("AuthFormLogoutLocation", "Set the URL to redirect to after logout", logout),
    row!(
        "AuthFormSitePassphrase",
        Take1,
        "secret",
        "Trust sessions signed with this passphrase, without checking the password again",
        |command, args| {
            form(command).site = Some(args.first().into());
            Ok(())
        }
    ),
    flag!("AuthFormAuthoritative", "Deny access at once if no provider knows the user", authoritative),
    flag!("AuthFormFakeBasicAuth", "Add Basic credentials to the request for a backend", fake),
    flag!(
        "AuthFormDisableNoStore",
        "Omit Cache-Control: no-store from the login page, so that browsers may cache it",
        may_be_stored
    ),
];

/// A directory's settings of logins by forms.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// AuthFormProvider, in the order in which they are asked; none: the file.
    pub providers: Vec<Provider>,
    /// AuthFormUsername
    pub user: Option<Box<str>>,
    /// AuthFormPassword
    pub password: Option<Box<str>>,
    /// AuthFormLocation
    pub location: Option<Box<str>>,
    /// AuthFormMethod
    pub method: Option<Box<str>>,
    /// AuthFormMimetype
    pub kind: Option<Box<str>>,
    /// AuthFormBody
    pub body: Option<Box<str>>,
    /// AuthFormSize, in bytes.
    pub size: Option<usize>,
    /// AuthFormLoginRequiredLocation
    pub required: Option<Expr>,
    /// AuthFormLoginSuccessLocation
    pub success: Option<Expr>,
    /// AuthFormLogoutLocation
    pub logout: Option<Expr>,
    /// AuthFormSitePassphrase
    pub site: Option<Box<str>>,
    /// AuthFormAuthoritative; whoever is not known is turned away anyway.
    pub authoritative: Option<bool>,
    /// AuthFormFakeBasicAuth
    pub fake: Option<bool>,
    /// AuthFormDisableNoStore
    pub may_be_stored: Option<bool>,
}

impl Form {
    /// Returns the merged settings when `other` is more specific.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        Self {
            providers: if other.providers.is_empty() { &self.providers } else { &other.providers }.clone(),
            user: over(&self.user, &other.user),
            password: over(&self.password, &other.password),
            location: over(&self.location, &other.location),
            method: over(&self.method, &other.method),
            kind: over(&self.kind, &other.kind),
            body: over(&self.body, &other.body),
            size: over(&self.size, &other.size),
            required: over(&self.required, &other.required),
            success: over(&self.success, &other.success),
            logout: over(&self.logout, &other.logout),
            site: over(&self.site, &other.site),
            authoritative: over(&self.authoritative, &other.authoritative),
            fake: over(&self.fake, &other.fake),
            may_be_stored: over(&self.may_be_stored, &other.may_be_stored),
        }
    }

    /// AuthFormSize
    #[must_use]
    pub fn size(&self) -> usize {
        self.size.unwrap_or(8192)
    }
}

fn form<'c>(command: &'c mut Command<'_>) -> &'c mut Form {
    command.dir.auth.form.get_or_insert_default()
}

fn field_name(name: &str) -> Result<Box<str>, String> {
    if name.is_empty() || name.contains(['=', '&']) {
        return Err("cannot be empty, or contain '=' or '&'".into());
    }
    Ok(name.into())
}

fn size(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    /// The most bytes of a form that the front keeps; a login is shorter.
    const MOST: usize = 1 << 20;
    let size = args.first().parse::<usize>().map_err(|_| "takes a number of bytes, or 0".to_owned())?;
    if size > MOST {
        return Err(format!("takes {MOST} bytes at most: the form is kept in memory until it is read"));
    }
    form(command).size = Some(size);
    Ok(())
}

/// Why a form can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// It has more bytes than AuthFormSize, once decoded.
    TooLarge,
    /// A field has an escape that is none, or a zero byte.
    Malformed,
}

/// The name of a field, and its value.
pub type Field = (Vec<u8>, Vec<u8>);

/// The fields of a form (`application/x-www-form-urlencoded`), decoded, in order. What has no `=` is no field.
///
/// # Errors
/// If it is larger than `most`, or is no such form.
pub fn fields(text: &[u8], most: usize) -> Result<Vec<Field>, FormError> {
    let mut all = Vec::new();
    let mut room = most;
    for part in text.split(|b| *b == b'&') {
        let at = memchr::memchr(b'=', part);
        let (name, value) = at.map_or((part, None), |at| (&part[..at], Some(&part[at + 1..])));
        let name = decoded(name)?;
        let value = value.map(decoded).transpose()?;
        let size = name.len() + value.as_ref().map_or(0, Vec::len);
        room = room.checked_sub(size).ok_or(FormError::TooLarge)?;
        if let Some(value) = value {
            all.push((name, value));
        }
    }
    Ok(all)
}

fn decoded(text: &[u8]) -> Result<Vec<u8>, FormError> {
    let digit = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => match (digit(bytes.next()), digit(bytes.next())) {
                (Some(high), Some(low)) if high + low > 0 => (high * 16 + low) as u8,
                _ => return Err(FormError::Malformed),
            },
            0 => return Err(FormError::Malformed),
            byte => *byte,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let read = |text: &str, most| {
            let of = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            fields(text.as_bytes(), most).map(|all| {
                all.into_iter().map(|(name, value)| format!("{}={}", of(name), of(value))).collect::<Vec<_>>()
            })
        };
        assert_eq!(read("a=b&c=d%26+e&f&g=", 99).unwrap(), ["a=b", "c=d& e", "g="]);
        assert_eq!(read("", 0).unwrap(), [""; 0]);
        assert_eq!(read("a=%31%32", 3).unwrap(), ["a=12"]);
        assert_eq!(read("a=%31%32", 2), Err(FormError::TooLarge));
        for text in ["a=%", "a=%4", "a=%zz", "a=%00", "%=1", "a=\0"] {
            assert_eq!(read(text, 99), Err(FormError::Malformed), "{text}");
        }
    }

    #[test]
    fn fields_have_names() {
        let build = |line: &str| {
            let text = format!("<Location /x>\n{line}\n</Location>");
            crate::Config::build(&crate::read_text(&text, "/etc/apache2")?)
        };
        for line in
            ["AuthFormUsername a=b", "AuthFormBody \"\"", "AuthFormSize -1", "AuthFormSize 99999999999"]
        {
            assert!(build(line).is_err(), "{line}");
        }
        let config = build("AuthFormUsername name\nAuthFormSize 100").unwrap();
        let form = config.main().locations[0].conf.auth.form.clone().unwrap();
        assert_eq!((form.user.as_deref(), form.size()), (Some("name"), 100));
    }
}
