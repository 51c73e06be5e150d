//! The settings of `ServletApp`, and their merge.

use hostler_config::{Merge, Origin, Slot, unset_part};

/// The slot of [`Server`].
pub static SERVER: Slot<Server> = Slot::new();

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Its path, without a slash at the end: empty for the whole virtual host.
    pub context: Box<str>,
    /// Its archive or directory, absolute.
    pub path: Box<str>,
    /// The largest heap of its virtual machine, in bytes.
    pub heap: Option<u64>,
    /// Java's home, absolute.
    pub java_home: Option<Box<str>>,
    /// The directory below which Tomcat writes, absolute.
    pub work: Option<Box<str>>,
    /// Further words for the virtual machine.
    pub jvm: Vec<Box<str>>,
    /// Requests that are run at the same time.
    pub threads: Option<u32>,
    /// Its classes are looked at, and loaded anew when they change.
    pub reloadable: bool,
    /// The descriptor of its context, absolute, in the place of its own.
    pub descriptor: Option<Box<str>>,
    /// Its initial parameters, by name.
    pub parameters: Vec<(Box<str>, Box<str>)>,
    /// The directive.
    pub origin: Origin,
}

/// A server's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// The applications, those with the longest paths first.
    pub apps: Vec<App>,
}

impl Server {
    /// The application that a URL's path belongs to, decoded: the one with the longest path.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<&App> {
        self.apps.iter().find(|app| {
            let rest = path.strip_prefix(app.context.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    pub(crate) fn add(&mut self, app: App) {
        self.apps.push(app);
        self.apps.sort_by_key(|app| std::cmp::Reverse(app.context.len()));
    }
}

impl Merge for Server {
    /// A virtual host has the main server's, but for paths of its own.
    fn merge(&self, over: &Self) -> Self {
        let mut merged = over.clone();
        let is_new = |app: &&App| over.apps.iter().all(|own| own.context != app.context);
        self.apps.iter().filter(is_new).for_each(|app| merged.add(app.clone()));
        merged
    }

    unset_part!(Server);
}

/// Returns whether a path has a part that is a web application's own business (Servlet 6.0 §10.5), in any case: what
/// answers for the path may not tell cases apart.
#[must_use]
pub fn is_private(path: &[u8]) -> bool {
    let is = |part: &[u8], name: &[u8]| {
        // What follows a semicolon is a parameter to containers.
        let part = part.split(|byte| *byte == b';').next().unwrap_or_default();
        part.trim_ascii().eq_ignore_ascii_case(name)
    };
    path.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| is(part, b"WEB-INF") || is(part, b"META-INF"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_application_s_own_business_is_known_however_it_is_written() {
        for path in [
            "/WEB-INF",
            "/shop/web-inf/web.xml",
            "/Meta-Inf/",
            "/x/WEB-INF;a=b/c",
            "/x\\WEB-INF\\c",
            "/WEB-INF /x",
        ] {
            assert!(is_private(path.as_bytes()), "{path}");
        }
        for path in ["/", "/WEB-INFO", "/a.META-INF", "/;WEB-INF"] {
            assert!(!is_private(path.as_bytes()), "{path}");
        }
    }
}
