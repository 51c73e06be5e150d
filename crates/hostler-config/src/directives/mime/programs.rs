//! The extensions and media types of the languages in which web programs are written. A file with such a name is not
//! sent as text merely because no handler was configured.

/// Extensions, lower case, by language.
const EXTENSIONS: &[&str] = &[
    // PHP
    "php phtml pht phtm phps phar inc php2 php3 php4 php5 php6 php7 php8 php9 php56 php70 php71 php72 php73 php74 php80",
    "php81 php82 php83 php84",
    // Perl
    "pl pm plx pls perl fcgi fpl psgi mpl cgi",
    // Python
    "py pyc pyo pyw pyx pyz wsgi psp",
    // Ruby
    "rb rbx rbw rhtml erb rjs ru",
    // Java
    "jsp jspx jspf jhtml war ear",
    // ASP and ASP.NET
    "asp aspx asa asax ascx ashx asmx axd cshtml vbhtml",
    // ColdFusion
    "cfm cfml cfc",
    // Shells, Tcl, Lua
    "sh bash ksh zsh csh tcl lua scgi",
];

/// Media types that say that a file is a program, apart from all of `application/x-httpd-`.
const TYPES: &[&str] = &[
    "application/x-php",
    "application/php",
    "text/x-php",
    "text/php",
    "application/x-perl",
    "text/x-perl",
    "application/x-python",
    "application/x-python-code",
    "application/x-python-bytecode",
    "text/x-python",
    "text/x-script.python",
    "application/x-ruby",
    "text/x-ruby",
    "application/x-sh",
    "text/x-sh",
    "application/x-shellscript",
    "text/x-shellscript",
    "application/x-csh",
    "text/x-csh",
    "application/x-tcl",
    "text/x-tcl",
    "application/x-lua",
    "text/x-lua",
    "application/x-jsp",
    "text/x-jsp",
];

/// Returns whether a file's name may be a program's, whatever the configuration says.
#[must_use]
pub fn has_extension(name: &[u8]) -> bool {
    extensions(name).next().is_some()
}

/// Returns whether `.inc` alone makes a program's of a file's name: pieces of pages are called so as often as PHP's.
#[must_use]
pub fn may_be_fragment(name: &[u8]) -> bool {
    has_extension(name) && extensions(name).all(|extension| extension == "inc")
}

/// A name's extensions that programs have.
fn extensions(name: &[u8]) -> impl Iterator<Item = String> {
    let parts = name.split(|byte| *byte == b'.').skip(1);
    parts
        .filter_map(|part| std::str::from_utf8(part).ok())
        .map(str::to_ascii_lowercase)
        .filter(|part| is_extension(part))
}

/// Returns whether an extension (lower case, without its dot) is a program's. An editor's copy (`php~`) is one too.
pub(super) fn is_extension(extension: &str) -> bool {
    let extension = extension.trim_end_matches('~');
    EXTENSIONS.iter().flat_map(|line| line.split_ascii_whitespace()).any(|known| known == extension)
}

/// Returns whether a media type, parameters aside, says that a file is to be run.
pub(crate) fn runs(media_type: &str) -> bool {
    essence(media_type).starts_with("application/x-httpd-")
}

/// Returns whether the media type that the configuration gives a file allows its content to be sent: a `text/` type allows
/// it even for a program. `None`: the type says nothing about programs.
#[must_use]
pub fn is_shown_as(media_type: &str) -> Option<bool> {
    is_type(media_type).then(|| essence(media_type).starts_with("text/"))
}

/// Returns whether a media type, parameters aside, is a program's.
#[must_use]
pub fn is_type(media_type: &str) -> bool {
    let essence = essence(media_type);
    runs(&essence) || TYPES.contains(&essence.as_str())
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_pages_have_one_extension_of_a_program() {
        for (name, may_be) in [("a.inc", true), ("A.INC", true), ("a.inc.html", true), ("a.inc~", false)] {
            assert_eq!(may_be_fragment(name.as_bytes()), may_be, "{name}");
        }
        for name in ["a.php.inc", "a.inc.php", "inc", "a.html", "a.php"] {
            assert!(!may_be_fragment(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn programs_are_known_by_extension_and_type() {
        for extension in ["php", "php7", "phps", "inc", "py", "pl", "cgi", "war", "wsgi", "php~", "sh"] {
            assert!(is_extension(extension), "{extension}");
        }
        for extension in ["html", "txt", "js", "css", "ph", "", "~", "jar", "class", "shtml"] {
            assert!(!is_extension(extension), "{extension}");
        }
        assert!(is_type("Application/X-Httpd-PHP; a=b") && is_type("text/x-python"));
        assert!(!is_type("text/plain") && !is_type("application/javascript") && !runs("text/x-perl"));
    }
}
