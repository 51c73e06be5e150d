//! Files of users and groups: read through the site's process, as its user.

use crate::io::open_file::OpenFile;
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::site::files::AccessFiles;
use hostler_config::directives::auth::dbm::DbmFile;

/// Largest file of users or groups, in bytes.
const LARGEST: u64 = 16 << 20;

/// Looks for something in a file of users or groups.
pub(super) async fn search<T: Send + 'static>(
    request: &Request,
    path: &str,
    look: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> Result<T, Halt> {
    let site = request.thread.site(&request.server);
    let facts = site.walk(path.as_bytes(), &AccessFiles::none()).await;
    let file = facts.ok().and_then(|facts| facts.file.clone()).filter(|file| file.info.size <= LARGEST);
    let unreadable = || {
        let message = format!(
            "could not open password or group file {path}: the site's user must be able to read it, and it may have no \
             more than {LARGEST} bytes"
        );
        log::request(request, Severity::Error, "authn_file", &message);
        Halt::Status(500)
    };
    let file = file.ok_or_else(unreadable)?;
    if let Some(text) = file.content() {
        return Ok(look(&text));
    }
    let permit = aside::permit(request).await?;
    let size = file.info.size;
    let descriptor = file.descriptor().try_clone().map_err(|_| unreadable())?;
    let found = aside::run(request, permit, move || {
        let text = OpenFile::whole(&descriptor, size)?;
        Some(look(&text))
    });
    found.await?.ok_or_else(unreadable)
}

/// The same for what is a text.
pub(super) async fn search_text<T: Send + 'static>(
    request: &Request,
    path: &str,
    look: impl FnOnce(&str) -> T + Send + 'static,
) -> Result<T, Halt> {
    search(request, path, |text| look(&String::from_utf8_lossy(text))).await
}

/// The value of the first of some keys that a DBM file has.
pub(super) async fn value(
    request: &Request,
    file: &DbmFile,
    keys: Vec<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Halt> {
    let copy = file.clone();
    let look = move |bytes: &[u8]| {
        for key in &keys {
            let found = copy.value(bytes, key)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    };
    search(request, &file.path, look).await?.map_err(|error: hostler_dbm::Error| {
        let message = format!("the DBM file {} can't be read: {error}", file.path);
        log::request(request, Severity::Error, "authn_dbm", &message);
        Halt::Status(500)
    })
}
