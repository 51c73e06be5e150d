//! `<Perl>` sections. Their code runs in the warm parent of the site, as the site's user, where it can load and
//! define what programs use. A section that builds configuration is run once more, before, while the configuration is
//! read (`crate::read`): it is known by its text.

use super::load;
use crate::{Args, Command, Node};
use hostler_perl_frames::PreloadKind;
use hostler_perl_frames::configure::pushes_to_server;

/// `<Perl>`
pub(super) fn open(cmd: &mut Command<'_>, args: &Args, nodes: &[Node]) -> Result<(), String> {
    if !args.words.is_empty() {
        return Err(format!("takes no arguments here, not \"{}\"", args.raw));
    }
    let code = nodes.first().map_or("", |node| node.args.as_str());
    load::add(cmd, PreloadKind::Code, code);
    Ok(())
}

/// Calls that hand configuration to the server, whatever package they stand in.
const CALLS: &[&str] = &[
    "add_config",
    "httpd_conf",
    "PerlConfig",
    "Apache2::PerlSections",
    "Apache::ReadConfig",
    "Apache2::ReadConfig",
];

/// Hashes that make sections.
const SECTIONS: &[&str] = &[
    "Location",
    "LocationMatch",
    "Directory",
    "DirectoryMatch",
    "Files",
    "FilesMatch",
    "VirtualHost",
    "Limit",
];

/// The first word of the code by which it would build configuration, and its line from 1. Variables that are called
/// as directives count until a `package` statement, because only those of the section's own package are taken.
/// `is_directive` knows the names of directives, in their own spelling.
pub(crate) fn builds_configuration(code: &str, is_directive: fn(&str) -> bool) -> Option<(u32, String)> {
    let mut own_package = true;
    for (line, number) in code.lines().zip(1..) {
        let line = without_comment(line);
        if let Some(call) = CALLS.iter().find(|call| line.contains(**call)) {
            return Some((number, (*call).to_owned()));
        }
        if pushes_to_server(line) {
            return Some((number, "push_handlers".to_owned()));
        }
        own_package &= !names(line).any(|(_, name)| name == "package");
        let builds = |(sigil, name): &(char, &str)| {
            let section = SECTIONS.contains(name);
            matches!(sigil, '$' | '@' | '%')
                && (section
                    || (own_package
                        && name.starts_with(|c: char| c.is_ascii_uppercase())
                        && is_directive(name)))
                && !is_lexical(code, name)
        };
        if let Some((sigil, name)) = names(line).find(builds) {
            return Some((number, format!("{sigil}{name}")));
        }
    }
    None
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') { "" } else { line }
}

/// The words of a line, each with the character before it.
fn names(line: &str) -> impl Iterator<Item = (char, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_word)?;
            let before = rest[..start].chars().next_back().unwrap_or(' ');
            let word = &rest[start..];
            let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
            rest = &word[end..];
            // `$Foo::Bar` is a name of another package.
            if rest.starts_with("::") {
                rest = rest[2..].trim_start_matches(is_word);
                continue;
            }
            return Some((before, &word[..end]));
        }
    })
}

/// A variable declared with `my` is no business of the server's.
fn is_lexical(code: &str, name: &str) -> bool {
    ['$', '@', '%'].iter().any(|sigil| {
        let declared = format!("my {sigil}{name}");
        code.match_indices(&declared).any(|(at, _)| {
            !code[at + declared.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_directive(name: &str) -> bool {
        ["PerlModule", "ServerAdmin", "Options", "Include", "Alias", "Location", "Directory"].contains(&name)
    }

    #[test]
    fn code_that_builds_configuration_is_found() {
        for (code, found) in [
            ("$Location{'/x'} = { SetHandler => 'perl-script' };", Some((1, "$Location"))),
            ("my $x = 1;\n%VirtualHost = ();", Some((2, "%VirtualHost"))),
            ("push @PerlModule, 'X';", Some((1, "@PerlModule"))),
            ("$ServerAdmin = 'a@b';", Some((1, "$ServerAdmin"))),
            ("package X;\n$Directory{'/'} = {};", Some((2, "$Directory"))),
            ("Apache2::ServerUtil->server->add_config(['A']);", Some((1, "add_config"))),
            ("$PerlConfig = 'Alias /a /b';", Some((1, "PerlConfig"))),
            ("my $s = X->server;\n$s->push_handlers(PerlFixupHandler => 'A');", Some((2, "push_handlers"))),
            ("package X;\nour $Options = 1; sub f { $Options }", None),
            ("use lib '/x'; use Foo::Bar ();\n# %Location\n1;", None),
            ("my $Include = 1; print $Include;", None),
            ("$My::Location{1} = 1; $X::Alias = 2;", None),
            ("$location = 1; @files = ();", None),
        ] {
            let found = found.map(|(line, word): (u32, &str)| (line, word.to_owned()));
            assert_eq!(builds_configuration(code, is_directive), found, "{code}");
        }
    }
}
