//! A survey of directives for migration: each with its number of uses, and whether Hostler supports it. Nothing is
//! resolved or built, so lines count whatever block they are in.

use hostler_config::{Action, modules};
use std::collections::{BTreeMap, BTreeSet};

/// The treatment of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is carried out.
    Works,
    /// It is left out, with a warning.
    LeftOut(String),
    /// It is an error, as leaving it out could change who may see what.
    Refused(String),
    /// It is in no module that is known.
    Unknown,
}

/// A directive that is not carried out, in all files together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingDirective {
    /// As it is usually written.
    pub(super) name: String,
    /// The module it belongs to, where that is known.
    pub(super) module: Option<&'static str>,
    /// Its treatment.
    pub(super) standing: Standing,
    /// The number of uses.
    pub(super) uses: usize,
    /// In how many files.
    pub(super) files: usize,
    /// The first place: `file:line`.
    pub(super) first: String,
    /// The replacement.
    pub(super) advice: &'static str,
}

/// Counts directives.
#[derive(Debug, Default)]
pub(super) struct Survey {
    found: BTreeMap<String, MissingDirective>,
    lines: usize,
    files: usize,
}

impl Survey {
    /// Takes in a file.
    pub(super) fn add(&mut self, file: &str, text: &[u8]) {
        self.files += 1;
        let mut seen = BTreeSet::new();
        for (number, name, args) in directives(&String::from_utf8_lossy(text)) {
            self.lines += 1;
            let standing = standing(&name, &args);
            if standing != Standing::Works {
                let is_new = seen.insert(name.to_ascii_lowercase());
                self.count(format!("{file}:{number}"), &name, standing, is_new);
            }
        }
    }

    fn count(&mut self, place: String, name: &str, standing: Standing, is_new: bool) {
        let known = modules::find(name);
        let found = self.found.entry(name.to_ascii_lowercase()).or_insert_with(|| MissingDirective {
            name: known.map_or_else(|| name.to_owned(), |(_, directive)| directive.name.to_owned()),
            module: known.map(|(module, _)| module.name),
            standing,
            uses: 0,
            files: 0,
            first: place,
            advice: known.map_or("", |(module, _)| advice(module.name)),
        });
        found.uses += 1;
        found.files += usize::from(is_new);
    }

    /// Lines with directives, and files.
    pub(super) fn counted(&self) -> (usize, usize) {
        (self.lines, self.files)
    }

    /// Returns the unsupported directives, most used first.
    pub(super) fn lacking(self) -> Vec<MissingDirective> {
        let mut all: Vec<MissingDirective> = self.found.into_values().collect();
        all.sort_by(|a, b| b.uses.cmp(&a.uses).then_with(|| a.name.cmp(&b.name)));
        all
    }
}

/// Lines with directives and the beginnings of sections: number, name, arguments. Code in `<Perl>` and documentation between lines are
/// none.
fn directives(text: &str) -> Vec<(usize, String, String)> {
    let mut all = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.trim().to_owned();
        while whole.ends_with('\\')
            && let Some((_, more)) = lines.next()
        {
            whole.pop();
            whole.push_str(more.trim_end());
        }
        let line = whole.trim_start();
        let first = line.split(|c: char| c.is_whitespace() || c == '>').next().unwrap_or_default();
        let ends: Option<fn(&str) -> bool> = match first.to_ascii_lowercase().as_str() {
            "<perl" => Some(ends_code),
            "=pod" | "=back" => Some(ends_documentation),
            "__end__" => break,
            _ => None,
        };
        if let Some(ends) = ends {
            let _ = lines.find(|(_, line)| ends(line));
        }
        if first.starts_with('=') {
            continue;
        }
        if line.is_empty() || line.starts_with('#') || line.starts_with("</") {
            continue;
        }
        let line =
            line.strip_prefix('<').map_or(line, |section| section.strip_suffix('>').unwrap_or(section));
        let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        all.push((number + 1, name.to_owned(), args.trim().to_owned()));
    }
    all
}

fn ends_code(line: &str) -> bool {
    line.trim_start().to_ascii_lowercase().starts_with("</perl")
}

/// `=cut`, or the `=over` behind which mod_perl reads on.
fn ends_documentation(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("=cut")
        || line.starts_with("=over") && (line.contains("apache") || line.contains("httpd"))
}

/// Returns the treatment of a directive with these arguments.
fn standing(name: &str, args: &str) -> Standing {
    let Some((_, directive)) = modules::find(name) else { return Standing::Unknown };
    match directive.action {
        Action::Set(_) | Action::Section(_) | Action::Read => Standing::Works,
        Action::Ignored(why) => Standing::LeftOut(why.to_owned()),
        Action::RefusedUnless(word, _) if args.trim().eq_ignore_ascii_case(word) => Standing::Works,
        Action::Refused(why) | Action::RefusedUnless(_, why) => Standing::Refused(why.to_owned()),
    }
}

/// Returns the advice for a missing module.
fn advice(module: &str) -> &'static str {
    let family = |prefix: &str| module.starts_with(prefix);
    match module {
        "security2_module" | "evasive20_module" => {
            "filter before Hostler, or bound requests with HostlerRequestsPerAddress and HostlerSiteRequests"
        }
        "authnz_ldap_module" | "ldap_module" | "authn_dbd_module" | "authz_dbd_module"
        | "authnz_fcgi_module" => "write users and groups to files for AuthUserFile and AuthGroupFile",
        "suexec_module" | "ruid2_module" | "peruser_module" => "AssignUserID user group, in the virtual host",
        "suphp_module" => "AssignUserID user group, and AddType application/x-httpd-php .php",
        "md_module" => "get certificates with an ACME client, and name them in SSLCertificateFile",
        "cache_module" | "cache_disk_module" | "cache_socache_module" | "file_cache_module" => {
            "leave it out: files are answered from memory without it"
        }
        "jk_module" => "serve the application with its own server, and send clients there with Redirect",
        "dav_module" | "dav_fs_module" => "another way to send files: SFTP as the site's user",
        "mpm_itk_module" | "mpm_peruser_module" | "core_module" | "http_module" => {
            "leave it out: it sizes processes that Hostler does not have"
        }
        _ if family("proxy") || family("lbmethod") => {
            "ProxyPass hands requests on; let the server behind write links that are right here"
        }
        _ if family("ssl") => "leave it out, or use the TLS directives of the reference",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install() {
        // The table is the same for all tests.
        let _ = hostler_techniques::install();
    }

    #[test]
    fn what_is_missing_is_counted_with_the_most_used_first() {
        install();
        let mut survey = Survey::default();
        let first =
            b"<IfModule mod_x.c>\nAuthLDAPURL \\\n ldap://x/\nauthldapurl ldap://y/\n</IfModule>\nNoSuch 1\n";
        survey.add("one", first);
        survey.add("two", b"Options -Indexes\nAuthLDAPURL ldap://z/\nRequire all granted\n");
        assert_eq!(survey.counted(), (7, 2));
        let lacking = survey.lacking();
        let told: Vec<_> =
            lacking.iter().map(|one| (&one.name[..], one.uses, one.files, &one.first[..])).collect();
        assert_eq!(told, [("AuthLDAPURL", 3, 2, "one:2"), ("NoSuch", 1, 1, "one:6")]);
        assert!(matches!(lacking[0].standing, Standing::Refused(_)) && !lacking[0].advice.is_empty());
        assert_eq!(lacking[1].standing, Standing::Unknown);
    }

    #[test]
    fn code_and_documentation_are_no_directives() {
        install();
        let text = "<Perl >\nNoSuch 1;\n</Perl>\nOptions None\n=pod\nNoSuch 2\n=over apache\nAlias /a /b\n=back\nNoSuch 3\n\
                    =cut\n<Perl>\n}\n</Perl>\nServerName x\n__END__\nNoSuch 4\n";
        let mut survey = Survey::default();
        survey.add("one", text.as_bytes());
        assert_eq!(survey.counted(), (5, 1));
        assert!(survey.lacking().is_empty());
    }

    #[test]
    fn what_is_turned_off_is_no_loss() {
        assert_eq!(standing("DAV", "Off"), Standing::Works);
        assert!(matches!(standing("DAV", "On"), Standing::Refused(_)));
    }
}
