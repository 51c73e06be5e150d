//! The lines of the configuration that a pool's programs may see (`Apache2::Directive`).
//!
//! A pool sees its own virtual hosts, and of the main server what applies to them; the pool that serves the main server
//! sees all of it. It never sees the virtual hosts, directories and proxies of others, nor passwords and keys.

use hostler_config::{Config, Contexts, Node, TopLevel, modules, words};
use std::borrow::Cow;
use std::fmt::Write;

/// The longest text that is told, in bytes. Programs of a longer configuration see none of it.
const LONGEST: usize = 1 << 20;

/// Instead of what is secret.
const HIDDEN: &str = "(hidden)";

/// For each line its depth, line number, file, name and arguments, with a NUL after each.
pub(crate) fn text(config: &Config, servers: &[u32]) -> String {
    let roots: Vec<&str> = servers
        .iter()
        .filter_map(|id| config.servers.get(*id as usize)?.conf.core.document_root.as_deref())
        .collect();
    let mut out = String::new();
    let is_written = |top: &&TopLevel| {
        config.files.get(top.node.origin.file as usize).is_some_and(|file| &**file != OF_READER)
    };
    for top in config.top_level.iter().filter(is_written).filter(|top| is_seen(top, servers, &roots)) {
        let is_own = servers.contains(&top.server.unwrap_or(0));
        Writer { out: &mut out, config, is_own }.put(&top.node, 0);
        if out.len() > LONGEST {
            return String::new();
        }
    }
    out
}

/// The file's name that the reader gives lines of its own, such as a default TypesConfig.
const OF_READER: &str = "default";

/// Returns whether programs of these servers may see it.
fn is_seen(top: &TopLevel, servers: &[u32], roots: &[&str]) -> bool {
    let node = &top.node;
    if is(node, &["VirtualHost"]) && node.children.is_some() {
        return top.server.is_some_and(|server| servers.contains(&server));
    }
    servers.contains(&0) || applies(node, roots)
}

/// Returns whether a line of the main server applies to virtual hosts that others than its owner have.
fn applies(node: &Node, roots: &[&str]) -> bool {
    if is(node, &["Directory"]) {
        let path = words(&node.args).into_iter().next().unwrap_or_default();
        return roots.iter().any(|root| is_below(root, &path) || is_below(&path, root));
    }
    let lower = node.name.to_ascii_lowercase();
    if ["proxy", "balancer", "jk", "wsgi"].iter().any(|start| lower.starts_with(start)) {
        return false;
    }
    is(node, &["Location", "LocationMatch", "Files", "FilesMatch", "If", "Limit", "LimitExcept", "Perl"])
        || modules::find(&node.name)
            .is_some_and(|(_, directive)| node.children.is_none() && directive.contexts != Contexts::GLOBAL)
}

fn is(node: &Node, names: &[&str]) -> bool {
    names.iter().any(|name| node.name.eq_ignore_ascii_case(name))
}

fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Writer<'a> {
    out: &'a mut String,
    config: &'a Config,
    /// The lines are of a server that the pool serves, not only what others have of the main server's.
    is_own: bool,
}

impl Writer<'_> {
    fn put(&mut self, node: &Node, depth: usize) {
        let name = modules::find(&node.name).map_or(node.name.as_str(), |(_, directive)| directive.name);
        let file = self.config.files.get(node.origin.file as usize).map_or("", |file| &**file);
        // Quirk(apache): a <Perl> section is a directive whose argument is the code, at the line after its own. What it has built is not
        // in the tree.
        let code = node.children.iter().flatten().find(|child| name == "Perl" && child.name.is_empty());
        let children = node.children.as_deref().filter(|_| name != "Perl");
        let (open, close) = if children.is_some() { ("<", ">") } else { ("", "") };
        let line = node.origin.line + u32::from(code.is_some_and(|code| code.args.ends_with('\n')));
        let args = match code {
            Some(code) => code.args.as_str().into(),
            None if !self.is_own && compares(name) => HIDDEN.into(),
            None => shown(name, &node.args),
        };
        let args = args.replace('\0', "");
        let _ = write!(self.out, "{depth}\0{line}\0{file}\0{open}{name}\0{args}{close}\0");
        for child in children.unwrap_or_default() {
            self.put(child, depth + 1);
            if self.out.len() > LONGEST {
                return;
            }
        }
    }
}

/// Returns whether a directive's arguments may compare with what only some clients know, such as a token in a header
/// field.
fn compares(name: &str) -> bool {
    const STARTS: &[&str] =
        &["if", "elseif", "require", "rewrite", "setenvif", "browsermatch", "header", "requestheader"];
    let lower = name.to_ascii_lowercase();
    STARTS.iter().any(|start| lower.starts_with(start))
}

/// Arguments without what is secret.
fn shown<'a>(name: &str, args: &'a str) -> Cow<'a, str> {
    if is_secret(name) {
        return HIDDEN.into();
    }
    let (mut shown, mut from) = (String::new(), 0);
    for (at, word) in unquoted(args) {
        if let Some(hidden) = hide(word) {
            shown.push_str(&args[from..at]);
            shown.push_str(&hidden);
            from = at + word.len();
        }
    }
    if from == 0 {
        return args.into();
    }
    shown.push_str(&args[from..]);
    shown.into()
}

/// Returns whether the whole of a directive's arguments is secret: passwords, keys, and what connects to databases with
/// them.
fn is_secret(name: &str) -> bool {
    const PARTS: &[&str] =
        &["password", "passphrase", "passwd", "secret", "credential", "token", "apikey", "accountbinding"];
    const NAMES: &[&str] = &["dbdparams", "authldapbinddn", "authbasicfake", "sslsrpunknownuserseed"];
    let lower = name.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part)) || NAMES.contains(&lower.as_str())
}

/// The words of a line as they stand in it, quotes aside, with where they begin.
fn unquoted(args: &str) -> impl Iterator<Item = (usize, &str)> {
    args.split(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'')
        .map(move |word| (word.as_ptr() as usize - args.as_ptr() as usize, word))
        .filter(|(_, word)| !word.is_empty())
}

/// A word with its secret hidden, if it has one: `secret=...`, `worker.x.secret=...`, `https://user:password@host/`.
fn hide(word: &str) -> Option<String> {
    if let Some((name, value)) = word.split_once('=') {
        let name_of = name.rsplit(['.', '?', '&', ';']).next().unwrap_or_default().to_ascii_lowercase();
        if is_secret(&name_of) && !value.is_empty() {
            return Some(format!("{name}={HIDDEN}"));
        }
    }
    let (scheme, rest) = word.split_once("://")?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (_, host) = rest[..end].rsplit_once('@')?;
    Some(format!("{scheme}://{HIDDEN}@{host}{}", &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_config::read_text;

    fn config(text: &str) -> Config {
        crate::tests::install();
        Config::build(&read_text(text, "/srv").unwrap()).unwrap()
    }

    /// The lines, without files and numbers.
    fn lines(text: &str, servers: &[u32]) -> Vec<String> {
        let told = super::text(&config(text), servers);
        let fields: Vec<&str> = told.split('\0').collect();
        let line = |line: &[&str]| format!("{} {} {}", line[0], line[3], line[4]);
        fields.chunks_exact(5).map(line).collect()
    }

    const TWO: &str = "PerlModule A\nDocumentRoot /srv/main\nsetenv X y\nListen 127.0.0.1:1\nProxyPass /x http://127.0.0.1:1/\n\
        <Directory /srv>\nRequire all granted\n</Directory>\n<Directory \"/srv/two\">\nOptions None\n</Directory>\n\
        <If \"req('Token') == 'abc'\">\nSetEnv A b\n</If>\n\
        <VirtualHost *:1>\nServerName one\nDocumentRoot /srv/one\n</VirtualHost>\n\
        <VirtualHost *:1>\nServerName two\nDocumentRoot /srv/two\n</VirtualHost>\n";

    #[test]
    fn a_pool_sees_its_own_virtual_hosts_and_what_applies_to_them() {
        let seen = [
            "0 PerlModule A",
            "0 DocumentRoot /srv/main",
            "0 SetEnv X y",
            "0 <Directory /srv>",
            "1 Require (hidden)",
            "0 <If (hidden)>",
            "1 SetEnv A b",
            "0 <VirtualHost *:1>",
            "1 ServerName one",
            "1 DocumentRoot /srv/one",
        ];
        assert_eq!(lines(TWO, &[1]), seen);
        let of_main = lines(TWO, &[0]);
        assert!(of_main.iter().any(|line| line.contains("Token")), "{of_main:?}");
        assert!(!of_main.iter().any(|line| line.contains("ServerName")), "{of_main:?}");
        assert_eq!(lines("Listen 127.0.0.1:1", &[0]), [""; 0], "there is no Perl that could ask");
    }

    #[test]
    fn virtual_hosts_of_one_macro_are_told_apart() {
        let text = "PerlModule A\n<Macro host $n>\n<VirtualHost *:1>\nServerName $n\n</VirtualHost>\n</Macro>\n\
            Use host one\nUse host two\n";
        let named = |servers: &[u32]| -> Vec<String> {
            lines(text, servers).into_iter().filter(|line| line.contains("ServerName")).collect()
        };
        assert_eq!(named(&[2]), ["1 ServerName two"]);
        assert_eq!(named(&[1]), ["1 ServerName one"]);
    }

    #[test]
    fn secrets_are_hidden() {
        for (name, args, expected) in [
            ("AuthLDAPBindPassword", "abc", HIDDEN),
            ("DBDParams", "host=x pass=y", HIDDEN),
            ("SSLPassPhraseDialog", "exec:/x", HIDDEN),
            ("SessionCryptoPassphrase", "x y", HIDDEN),
            ("AuthBasicFake", "demo pw", HIDDEN),
            (
                "ProxyPass",
                "/a \"ajp://h:1/\" secret=abc retry=1",
                "/a \"ajp://h:1/\" secret=(hidden) retry=1",
            ),
            ("JkWorkerProperty", "worker.a.secret=abc", "worker.a.secret=(hidden)"),
            ("RewriteRule", "^ http://u:p@h/x?y=1 [P]", "^ http://(hidden)@h/x?y=1 [P]"),
            ("Alias", "/a /b=c@d", "/a /b=c@d"),
        ] {
            assert_eq!(shown(name, args), expected, "{name}");
        }
    }
}
