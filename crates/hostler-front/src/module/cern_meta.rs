//! Fields of answers that stand in files beside the files that are sent (mod_cern_meta): `.web/NAME.meta`.
//!
//! Such a file is looked up as a request for it would be, so what guards it holds, and is the site's user's.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::hook::walk;
use crate::limits::kept;
use crate::log::{self, Severity};
use crate::module::core::file;
use crate::request::flow::{Flow, Halt, Outcome};
use crate::request::{FileEntry, Request};
use crate::values::table::Table;
use hostler_config::directives::alias::clean_path;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["session"],
        before: &["negotiation"],
        when: |request| request.resource.dir.cern_meta.enabled,
        effect: Effect::Decides,
        run: Run::Later(|request| Box::pin(add(request))),
    }],
    ..Module::new("cern_meta", |request| request.resource.dir.cern_meta.enabled)
};

/// Largest file of fields, in bytes.
const LARGEST: usize = 64 << 10;

async fn add(request: &mut Request) -> Outcome {
    if !matches!(request.resource.found, FileEntry::File(..) | FileEntry::Other(_))
        || request.target.uri.ends_with(b"/")
    {
        return Ok(Flow::Declined);
    }
    let dir = request.resource.dir.clone();
    let name = request.basename();
    let folder = &request.resource.filename[..request.resource.filename.len() - name.len()];
    let beside = dir.cern_meta.directory.as_deref().unwrap_or(".web").as_bytes();
    let suffix = dir.cern_meta.suffix.as_deref().unwrap_or(".meta").as_bytes();
    // `MetaDir .` means the file's own folder.
    let path = clean_path([folder, beside, b"/", name, suffix].concat());
    let (sub, outcome) = Box::pin(walk::look_up_file(request, &path)).await;
    if outcome.is_err() {
        return Ok(Flow::Declined);
    }
    let meta = match &sub.resource.found {
        FileEntry::File(_, Ok(meta)) => meta.clone(),
        FileEntry::File(_, Err(_)) => {
            let path = String::from_utf8_lossy(&path).into_owned();
            let message = format!("AH01562: meta file permissions deny server access: {path}");
            log::request(request, Severity::Error, "cern_meta", &message);
            return Err(Halt::Status(403));
        }
        _ => return Ok(Flow::Declined),
    };
    let text = kept::collect(request, file::whole(&meta), LARGEST).await.map_err(|_| malformed(request))?;
    let fields = fields(&text).ok_or_else(|| malformed(request))?;
    if let Some(status) = fields.status {
        request.reply.status = status;
    }
    if let Some(kind) = fields.kind {
        request.resource.content_type = Some(kind.into());
    }
    fields.others.iter().for_each(|(name, value)| request.reply.headers_out.set(name.clone(), value.clone()));
    Ok(Flow::Ok)
}

fn malformed(request: &Request) -> Halt {
    let path = String::from_utf8_lossy(&request.resource.filename).into_owned();
    let message = format!("AH01560: malformed header in meta file: {path}");
    log::request(request, Severity::Error, "cern_meta", &message);
    Halt::Status(500)
}

/// The contents of a file of fields.
#[derive(Debug, Default)]
struct Fields {
    kind: Option<Vec<u8>>,
    status: Option<u16>,
    others: Table,
}

/// The fields of a file, to its end or to an empty line; `None`: one is malformed.
fn fields(text: &[u8]) -> Option<Fields> {
    let mut fields = Fields::default();
    for line in text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|&b| b == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
        let is_text = value.iter().all(|&b| b == b'\t' || (b >= b' ' && b != 0x7f));
        if name.is_empty() || !name.iter().all(is_token) || !is_text {
            return None;
        }
        if name.eq_ignore_ascii_case(b"Content-Type") {
            let end = value.iter().position(|&b| b == b';').unwrap_or(value.len());
            let mut kind = value.to_vec();
            kind[..end].make_ascii_lowercase();
            fields.kind = Some(kind);
        } else if name.eq_ignore_ascii_case(b"Status") {
            let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
            let number = std::str::from_utf8(&value[..digits]).ok()?.parse().ok()?;
            // An interim answer, or none at all, is no answer of a file's.
            fields.status = Some((200..600).contains(&number).then_some(number)?);
        } else if !is_about_the_connection(name) {
            fields.others.set(name.to_vec(), value.to_vec());
        }
    }
    Some(fields)
}

/// Returns whether the field frames the response, which only the server may do.
fn is_about_the_connection(name: &[u8]) -> bool {
    ["Connection", "Transfer-Encoding", "Content-Length", "Keep-Alive", "Upgrade", "Trailer"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let read = fields(
            b"Expires: never\r\nContent-Type: Text/X-A \nStatus: 203 so\nContent-Length: 9\n\nno field",
        )
        .unwrap();
        assert_eq!((read.status, read.kind.as_deref()), (Some(203), Some(&b"text/x-a"[..])));
        assert_eq!((read.others.len(), read.others.find("Expires").unwrap().as_ref()), (1, &b"never"[..]));
        for wrong in [&b"no field"[..], b"a b: c", b": c", b"a: \x01", b"Status: 100", b"Status: x"] {
            assert!(fields(wrong).is_none(), "{}", String::from_utf8_lossy(wrong));
        }
    }
}
