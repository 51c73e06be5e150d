//! The tree of files that a server is started on, and the placeholders in texts.
//!
//! Every server gets a tree of its own whose path has the same length as the other's, so that
//! lengths of answers agree.

use crate::table::{FileDetails, FileSpec};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Modification time of a file that asks for none: 2024-01-02 03:04:05 GMT.
const FIXED_TIME: u64 = 1_704_164_645;

/// Decodes base64 of gzip.
fn unpacked(text: &str) -> io::Result<Vec<u8>> {
    let packed = STANDARD.decode(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A tree and what its placeholders stand for.
#[derive(Debug)]
pub struct Tree {
    /// The folder itself.
    pub root: PathBuf,
    /// The ports `@PORT@` and `@PORT2@`.
    pub ports: [u16; 2],
    /// Ports of other servers, by their placeholders.
    pub named: Vec<(String, u16)>,
    /// Unprivileged ids that the files are given, when run by root.
    pub owner: Option<(u32, u32)>,
}

impl Tree {
    /// Writes the files.
    ///
    /// # Errors
    /// As the file system reports them.
    pub fn populate(&self, files: &BTreeMap<String, FileSpec>) -> io::Result<()> {
        for folder in ["htdocs", "logs", "conf"] {
            self.folder(&self.root.join(folder))?;
        }
        for (name, spec) in files {
            self.write(name, spec)?;
        }
        files.keys().try_for_each(|name| self.date_folders(name))
    }

    /// A folder changes with each file that it gets, and listings show when: the same for all servers.
    fn date_folders(&self, name: &str) -> io::Result<()> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(FIXED_TIME);
        let folders = Path::new(name).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        for folder in folders {
            File::open(self.root.join(folder))?.set_modified(time)?;
        }
        Ok(())
    }

    /// Writes one file, replacing it where it exists.
    ///
    /// # Errors
    /// As the file system reports them.
    pub fn write(&self, name: &str, spec: &FileSpec) -> io::Result<()> {
        let details = match spec {
            FileSpec::Text(text) => FileDetails { text: text.clone(), ..FileDetails::default() },
            FileSpec::Detailed(details) => details.clone(),
        };
        let path = self.root.join(name);
        if let Some(parent) = path.parent() {
            self.folder(parent)?;
        }
        if let Some(target) = &details.symlink {
            symlink(self.fill(target), &path)?;
            return self.owner.map_or(Ok(()), |(user, group)| lchown(&path, Some(user), Some(group)));
        }
        if details.dir {
            self.folder(&path)?;
        } else {
            let bytes = details.gz.as_deref().map(unpacked).transpose()?;
            fs::write(
                &path,
                bytes.unwrap_or_else(|| {
                    self.fill(&details.text).repeat(details.repeat.unwrap_or(1)).into_bytes()
                }),
            )?;
            self.own(&path)?;
        }
        let usual = if details.dir || details.text.starts_with("#!") { 0o755 } else { 0o644 };
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(details.mtime.unwrap_or(FIXED_TIME));
        File::open(&path)?.set_modified(time)?;
        fs::set_permissions(&path, Permissions::from_mode(details.mode.unwrap_or(usual)))
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.folder(parent)?;
        }
        fs::create_dir(path)?;
        self.own(path)
    }

    /// Gives sites' files to the sites' user. The rest stays with the administrator: a master may refuse to write
    /// its PidFile where somebody else could replace it.
    fn own(&self, path: &Path) -> io::Result<()> {
        let administrators = [self.root.clone(), self.root.join("logs"), self.root.join("conf")];
        let below = |folder: &PathBuf| path == folder || (*folder != self.root && path.starts_with(folder));
        match self.owner {
            Some((user, group)) if !administrators.iter().any(below) => chown(path, Some(user), Some(group)),
            _ => Ok(()),
        }
    }

    /// Puts this tree's values in the place of the placeholders.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let text = text
            .replace("@ROOT@", &self.root.to_string_lossy())
            .replace("@PORT@", &self.ports[0].to_string())
            .replace("@PORT2@", &self.ports[1].to_string());
        self.named
            .iter()
            .fold(text, |text, (name, port)| text.replace(&format!("@{name}@"), &port.to_string()))
    }

    /// Puts the placeholders back into what a server said, so that two servers can be compared.
    #[must_use]
    pub fn neutral(&self, text: &str) -> String {
        let text = text
            .replace(&*self.root.to_string_lossy(), "@ROOT@")
            .replace(&self.ports[0].to_string(), "@PORT@")
            .replace(&self.ports[1].to_string(), "@PORT2@");
        self.named
            .iter()
            .fold(text, |text, (name, port)| text.replace(&port.to_string(), &format!("@{name}@")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neutral_undoes_fill() {
        let tree = Tree {
            root: PathBuf::from("/t/x"),
            ports: [31_111, 31_222],
            named: vec![("ONE".to_owned(), 31_333)],
            owner: None,
        };
        let text = "@ROOT@/htdocs http://h:@PORT@/ @PORT2@ @ONE@";
        assert_eq!(tree.fill(text), "/t/x/htdocs http://h:31111/ 31222 31333");
        assert_eq!(tree.neutral(&tree.fill(text)), text);
    }
}
