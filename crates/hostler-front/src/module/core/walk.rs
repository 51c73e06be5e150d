//! From a file name to what stands there: the site's process walks the path, and this applies to each level what
//! the configuration says: Directory sections, `.htaccess`, and whether symbolic links may be followed.

use super::htaccess::Source;
use crate::hook::sections::{self, Overs, gave_up};
use crate::io::open_file::OpenFile;
use crate::limits::budget;
use crate::log::{self, Severity};
use crate::request::flow::{Continue, Halt};
use crate::request::{FileEntry, Request};
use crate::site::files::{AccessFiles, Facts};
use hostler_config::directives::core::{Allow, OptionBits, Permissions};
use hostler_config::lookup::{self, Step};
use hostler_config::{DirConfig, Overrides, Server};
use hostler_wire::site::{FileKind, Level};
use serde_bytes::ByteBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Most `.htaccess` files on the way to a file (conditions of one may stand within those of another), and most bytes
/// of all of them.
const MOST_FILES: usize = 128;
const MOST: usize = 1 << 20;

/// Walks the request's file name; fills `found`, `path_info` and `dir`.
pub(crate) async fn run(request: &mut Request) -> Continue {
    if request.resource.filename.first() != Some(&b'/') {
        return Ok(());
    }
    if request.resource.filename.contains(&0) {
        return Err(Halt::Status(404));
    }
    let asked = single_slashes(std::mem::take(&mut request.resource.filename));
    let facts = look(request, trim_slashes(&asked)).await?;
    apply(request, &asked, &facts).await
}

/// Looks at what stands at a file name that a program has set. As in Apache, the configuration stays that of the
/// file of before; whether links may be followed is that of the new one.
pub(crate) async fn find_again(request: &mut Request) -> Continue {
    let (dir, path_info) = (request.resource.dir.clone(), request.resource.path_info.clone());
    request.resource.dir = request.server.defaults.clone();
    request.resource.found = FileEntry::Nothing;
    let outcome = run(request).await;
    (request.resource.dir, request.resource.path_info) = (dir, path_info);
    outcome
}

/// Looks at `path`, which has no slash at its end, and at the `.htaccess` files on the way.
pub(crate) async fn look(request: &mut Request, path: &[u8]) -> Result<Rc<Facts>, Halt> {
    let server = request.server.clone();
    let steps = budget::matched(request, || lookup::directory_walk(&server, path, b"")).await?;
    let steps = steps.map_err(|error| gave_up(request, &error))?;
    let access = access_files(&server, &steps);
    let site = request.site();
    let facts = match site.remembered(path, &access) {
        Some(facts) => facts,
        None => {
            let facts = site.walk(path, &access).await.map_err(|error| {
                let message = format!("the path can't be looked up: {error}");
                log::request(request, Severity::Error, "core", &message);
                Halt::Status(503)
            })?;
            budget::has_read(request, facts.access_bytes());
            facts
        }
    };
    request.lasting &= facts.lasting;
    Ok(facts)
}

/// Makes of facts what the configuration says about them, for the file name `asked`.
pub(crate) async fn apply(request: &mut Request, asked: &[u8], facts: &Rc<Facts>) -> Continue {
    let server = request.server.clone();
    let path = trim_slashes(asked);
    let mut walk =
        Walk { request, server: &server, path, asked, facts, overs: Overs::new(), group: None, read: (0, 0) };
    walk.levels().await?;
    walk.finish(asked).await
}

/// `MergeSlashes Off` leaves them in the URL; the file system takes several for one.
fn single_slashes(mut path: Vec<u8>) -> Vec<u8> {
    path.dedup_by(|b, a| *b == b'/' && *a == b'/');
    path
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |n| n + 1);
    &path[..end]
}

/// From which depth on `.htaccess` files may count, judged by the configuration files alone.
fn access_files(server: &Server, steps: &[Step<'_>]) -> AccessFiles {
    let mut allowed = permits(&server.defaults);
    let mut depth = 0;
    for step in steps {
        match step {
            Step::Section(section) => allowed |= permits(&section.conf),
            Step::Htaccess(_) if allowed => {
                return AccessFiles { names: access_file_names(server), from: depth };
            }
            Step::Htaccess(_) => depth += 1,
        }
    }
    AccessFiles::none()
}

fn access_file_names(server: &Server) -> Arc<[ByteBuf]> {
    match &server.conf.core.access_file_names {
        Some(names) => names.iter().map(|n| ByteBuf::from(n.as_bytes())).collect(),
        None => Arc::from([ByteBuf::from(&b".htaccess"[..])]),
    }
}

/// Returns whether `.htaccess` files may contain anything at all (AllowOverride, AllowOverrideList).
fn permits(dir: &DirConfig) -> bool {
    allows(&dir.core.allow())
}

fn allows(allow: &Allow) -> bool {
    allow.classes != Overrides::NONE || !allow.list.is_empty()
}

/// `/`, `/srv`, `/srv/www` ... of a path without a slash at its end.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().skip(1).filter(|(_, b)| **b == b'/').map(|(n, _)| n);
    std::iter::once(&b"/"[..]).chain(ends.chain([path.len()]).filter(|&n| n > 0).map(|n| &path[..n]))
}

struct Walk<'a> {
    request: &'a mut Request,
    server: &'a Server,
    /// Without a slash at the end; empty for the root.
    path: &'a [u8],
    /// As it was asked for, perhaps with a slash at the end.
    asked: &'a [u8],
    facts: &'a Rc<Facts>,
    overs: Overs,
    /// The combined settings of `overs` that the walk needs on its way.
    group: Option<Permissions>,
    /// Number and bytes of `.htaccess` files so far.
    read: (usize, usize),
}

impl<'a> Walk<'a> {
    /// Goes down the levels, gathering what applies to each directory.
    async fn levels(&mut self) -> Continue {
        let facts = self.facts.clone();
        let server = self.server;
        let (directory, resource) = (self.directory(), self.resource());
        let steps =
            budget::matched(self.request, || lookup::directory_walk(server, directory, resource)).await?;
        let steps = steps.map_err(|error| gave_up(self.request, &error))?;
        let mut steps = steps.into_iter();
        for (level, prefix) in facts.walked.levels.iter().zip(prefixes(self.path)) {
            self.check_link(prefix, level.link_owner, level.info.uid)?;
            if level.info.kind == FileKind::Directory {
                self.enter(prefix, level, &mut steps).await?;
            }
        }
        if facts.walked.stopped_link.is_some() {
            return Err(self.refuse_link(self.path));
        }
        // What is left are the regular expressions, which come after all plain sections.
        for step in steps {
            if let Step::Section(section) = step {
                sections::set_matches(self.request, section, resource).await?;
                self.push(section.conf.clone());
            }
        }
        Ok(())
    }

    fn push(&mut self, conf: Arc<DirConfig>) {
        let own = Permissions::of(&conf.core);
        self.group = Some(self.group.as_ref().map_or_else(|| own.clone(), |group| group.merge(&own)));
        self.overs.push(conf);
    }

    /// Returns the permissions so far.
    fn permissions(&self) -> Permissions {
        let base = Permissions::of(&self.request.resource.dir.core);
        self.group.as_ref().map_or_else(|| base.clone(), |group| base.merge(group))
    }

    fn check_link(&self, path: &[u8], link_owner: Option<u32>, owner: u32) -> Continue {
        let Some(link_owner) = link_owner else { return Ok(()) };
        let options = self.permissions().options();
        // Where both are on, as in a folder whose access file adds the second, the stricter one holds.
        let follow = if options.contains(OptionBits::SYM_LINKS_IF_OWNER_MATCH) {
            link_owner == owner
        } else {
            options.contains(OptionBits::FOLLOW_SYM_LINKS)
        };
        if follow {
            return Ok(());
        }
        Err(self.refuse_link(path))
    }

    /// Refuses a link: where links may be followed, one with an unreachable target is refused like a forbidden one.
    fn refuse_link(&self, path: &[u8]) -> Halt {
        let path = String::from_utf8_lossy(path);
        let message = format!("symbolic link not allowed or link target not accessible: {path} (Options)");
        log::request(self.request, Severity::Error, "core", &message);
        Halt::Status(403)
    }

    async fn enter<'s>(
        &mut self,
        prefix: &[u8],
        level: &Level,
        steps: &mut impl Iterator<Item = Step<'s>>,
    ) -> Continue {
        for step in steps {
            match step {
                Step::Section(section) => self.push(section.conf.clone()),
                Step::Htaccess(_) => break,
            }
        }
        let Some(file) = &level.htaccess else { return Ok(()) };
        let allow = self.permissions().allow();
        if !allows(&allow) {
            return Ok(());
        }
        let directory = String::from_utf8_lossy(if prefix == b"/" { b"" } else { prefix }).into_owned();
        let name = format!("{directory}/{}", String::from_utf8_lossy(&file.name));
        let text = match &file.text {
            Ok(text) => text,
            Err(errno) => {
                let error = std::io::Error::from_raw_os_error(*errno);
                let message =
                    format!("{name} exists but can't be read ({error}): make it readable, or remove it");
                log::request(self.request, Severity::Crit, "core", &message);
                return Err(Halt::Status(403));
            }
        };
        self.read = (self.read.0 + 1, self.read.1 + text.len());
        if self.read.0 > MOST_FILES || self.read.1 > MOST {
            let message = format!(
                "the access files down to {name} are more than {MOST_FILES}, or larger than {MOST} bytes together"
            );
            log::request(self.request, Severity::Alert, "core", &message);
            return Err(Halt::Status(500));
        }
        let source = Source { file: &name, directory: &directory, text, allow: Arc::new(allow) };
        let conf = source.parse(self.request, self.server).await?;
        self.push(conf);
        budget::turn(self.request).await
    }

    /// The deepest directory that was reached.
    fn directory(&self) -> &'a [u8] {
        let levels = &self.facts.walked.levels;
        let count = levels.iter().take_while(|l| l.info.kind == FileKind::Directory).count();
        prefixes(self.path).nth(count.saturating_sub(1)).unwrap_or(b"/")
    }

    /// Returns the path reached, or the first missing component: DirectoryMatch sees this.
    fn resource(&self) -> &'a [u8] {
        let walked = &self.facts.walked;
        let whole = walked.stopped.is_none()
            && walked.levels.last().is_some_and(|l| l.info.kind == FileKind::Directory);
        if whole {
            return self.asked;
        }
        let reached = self.facts.walked.levels.len() - usize::from(self.facts.walked.stopped.is_none());
        prefixes(self.path).nth(reached).unwrap_or(if self.path.is_empty() { b"/" } else { self.path })
    }

    async fn finish(self, asked: &[u8]) -> Continue {
        let Self { request, path, facts, overs, .. } = self;
        sections::merge(request, &overs).await?;
        let walked = &facts.walked;
        let reached = walked.levels.len().saturating_sub(1);
        let end = prefixes(path).nth(reached).map_or(0, |p| if p == b"/" { 0 } else { p.len() });
        // Nothing is below the root itself; who may ask for it is found out all the same.
        let Some(last) = walked.levels.last() else {
            request.resource.filename = asked.to_vec();
            return Ok(());
        };
        let rest = &asked[end..];
        if let Some(errno) = walked.stopped
            && last.info.kind == FileKind::Directory
        {
            return stopped(request, asked, end, errno);
        }
        match last.info.kind {
            FileKind::Directory => {
                request.resource.filename =
                    if rest.is_empty() { asked[..end].to_vec() } else { asked.to_vec() };
                request.resource.found = FileEntry::Directory(last.info);
            }
            FileKind::Regular => {
                request.resource.filename = asked[..end].to_vec();
                request.resource.path_info = rest.to_vec();
                request.resource.found = FileEntry::File(last.info, opened(facts));
            }
            FileKind::Symlink | FileKind::Other => {
                request.resource.filename = asked[..end].to_vec();
                request.resource.path_info = rest.to_vec();
                request.resource.found = FileEntry::Other(last.info);
            }
        }
        Ok(())
    }
}

fn opened(facts: &Facts) -> Result<Rc<OpenFile>, i32> {
    match (&facts.file, facts.walked.open_errno) {
        (Some(file), _) => Ok(file.clone()),
        (None, errno) => Err(errno.unwrap_or(rustix::io::Errno::ACCESS.raw_os_error())),
    }
}

/// The walk ended before the path did: nothing there, or no permission to look.
fn stopped(request: &mut Request, asked: &[u8], end: usize, errno: i32) -> Continue {
    use rustix::io::Errno;
    let next = asked[end + 1..].iter().position(|&b| b == b'/').map_or(asked.len(), |n| end + 1 + n);
    request.resource.filename = asked[..next].to_vec();
    request.resource.path_info = asked[next..].to_vec();
    request.resource.found = FileEntry::Nothing;
    match Errno::from_raw_os_error(errno) {
        Errno::NOENT | Errno::NOTDIR => Ok(()),
        errno => {
            let path = String::from_utf8_lossy(&request.resource.filename).into_owned();
            let message = format!(
                "{path} can't be reached: {errno}; every directory above it must be searchable by the site's user"
            );
            log::request(request, Severity::Error, "core", &message);
            Err(Halt::Status(403))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_down() {
        let all = |p: &[u8]| prefixes(p).map(|p| String::from_utf8(p.to_vec()).unwrap()).collect::<Vec<_>>();
        assert_eq!(all(b"/srv/www"), ["/", "/srv", "/srv/www"]);
        assert_eq!(all(b""), ["/"]);
    }
}
