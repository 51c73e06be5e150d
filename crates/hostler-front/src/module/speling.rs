//! URLs with a mistake (mod_speling): the client is led to the file that was probably meant, or shown what it may have
//! been.
//!
//! **Diagnostics**: what was put right is told of in the virtual host's ErrorLog under `speling`, at `info`.

use crate::hook::phases::Phase;
use crate::hook::registry::{Effect, Hook, Module, Run};
use crate::limits::{budget, listing};
use crate::log::{self, Severity};
use crate::request::flow::{Continue, Flow, Halt, Outcome};
use crate::request::{FileEntry, Request, variables};
use hostler_cgi::escape_html;
use hostler_config::directives::alias::escape_path;
use hostler_config::directives::core::AcceptPathInfo;

/// Most files that are offered.
const MOST: usize = 100;

pub(crate) static MODULE: Module = Module {
    hooks: &[Hook {
        phase: Phase::Fixup,
        after: &["auth_basic", "auth_digest"],
        before: &[],
        when: |request| {
            request.resource.dir.speling.enabled
                && request.is_get()
                && matches!(request.resource.found, FileEntry::Nothing)
                && !request.is_sub()
                && request.resource.filename.first() == Some(&b'/')
        },
        effect: Effect::Decides,
        run: Run::Later(|request| {
            Box::pin(async move { check(request).await.map(|()| Flow::Declined) as Outcome })
        }),
    }],
    ..Module::new("speling", |_| false)
};

/// In what a file's name differs from the one that was asked for; the likeliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mistake {
    Case,
    Transposed,
    Missing,
    Extra,
    Typo,
    Extension,
}

impl Mistake {
    fn text(self) -> &'static str {
        match self {
            Self::Case => "miscapitalized",
            Self::Transposed => "transposed characters",
            Self::Missing => "character missing",
            Self::Extra => "extra character",
            Self::Typo => "mistyped character",
            Self::Extension => "common basename",
        }
    }

    /// The mistake that leads from `name` to `asked`.
    fn of(asked: &[u8], name: &[u8], case_only: bool, basename: bool) -> Option<Self> {
        if asked.eq_ignore_ascii_case(name) {
            return Some(Self::Case);
        }
        let stem = |name: &[u8]| name.iter().position(|&b| b == b'.').unwrap_or(name.len());
        let one = if case_only { None } else { Self::single(asked, name) };
        one.or_else(|| {
            let length = stem(asked);
            let alike = length == stem(name) && asked[..length].eq_ignore_ascii_case(&name[..length]);
            (basename && alike).then_some(Self::Extension)
        })
    }

    /// One letter more, less, changed, or two in each other's place.
    fn single(asked: &[u8], name: &[u8]) -> Option<Self> {
        let same = asked.iter().zip(name).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        let (asked, name) = (&asked[same..], &name[same..]);
        let rest_is = |a: &[u8], from: usize, b: &[u8], to: usize| {
            a.len() >= from && b.len() >= to && a[from..].eq_ignore_ascii_case(&b[to..])
        };
        if let ([a, b, ..], [c, d, ..]) = (asked, name)
            && a.eq_ignore_ascii_case(d)
            && b.eq_ignore_ascii_case(c)
            && rest_is(asked, 2, name, 2)
        {
            return Some(Self::Transposed);
        }
        if !asked.is_empty() && !name.is_empty() && rest_is(asked, 1, name, 1) {
            return Some(Self::Typo);
        }
        if !asked.is_empty() && rest_is(asked, 1, name, 0) {
            return Some(Self::Extra);
        }
        (!name.is_empty() && rest_is(asked, 0, name, 1)).then_some(Self::Missing)
    }
}

async fn check(request: &mut Request) -> Continue {
    let rejects_path_info = request.resource.dir.core.accept_path_info == Some(AcceptPathInfo::Off);
    if (rejects_path_info && !request.resource.path_info.is_empty()) || request.target.uri == b"/" {
        return Ok(());
    }
    let slash = request.resource.filename.iter().rposition(|&b| b == b'/').unwrap_or(0);
    let asked = request.resource.filename[slash + 1..].to_vec();
    let wrong = [&asked[..], &request.resource.path_info].concat();
    let Some(base) = request.target.uri.strip_suffix(&wrong[..]).map(<[u8]>::to_vec) else { return Ok(()) };
    let candidates = candidates(request, slash, &asked).await?;
    let Some(((name, first), others)) = candidates.split_first() else { return Ok(()) };
    // What was looked at may change unnoticed.
    request.lasting = false;
    let clear = *first != Mistake::Extension && others.first().is_none_or(|(_, second)| second != first);
    let url = |request: &Request, name: &[u8]| {
        let mut url = escape_path(&[&base, name, &request.resource.path_info[..]].concat());
        if let Some(args) = &request.target.args {
            url.push(b'?');
            url.extend_from_slice(args);
        }
        url
    };
    if !clear {
        let list = list(request, &candidates, &url);
        request.notes.set("variant-list", list);
        return Err(Halt::Status(300));
    }
    let target = url(request, name);
    let message = format!(
        "Fixed spelling: {} to {}",
        String::from_utf8_lossy(&request.target.uri),
        String::from_utf8_lossy(&target)
    );
    log::request(request, Severity::Info, "speling", &message);
    request.reply.headers_out.set("Location", variables::absolute_url(request, &target));
    Err(Halt::Status(301))
}

/// Files with similar names, the likeliest first.
async fn candidates(
    request: &mut Request,
    slash: usize,
    asked: &[u8],
) -> Result<Vec<(Vec<u8>, Mistake)>, Halt> {
    let dir = request.resource.dir.clone();
    let (case_only, basename) = (dir.speling.case_only, !dir.speling.no_basename);
    let site = request.thread.site(&request.server);
    let _leave = listing::leave(request, &site).await?;
    let Ok(Ok(listed)) = site.list(&request.resource.filename[..slash], b"").await else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (count, entry) in listed.into_iter().enumerate() {
        if count % 256 == 0 {
            budget::sub_request(request).await?;
        }
        // It is there, and can't be reached: a redirect would come back here.
        if *entry.name == asked {
            return Ok(Vec::new());
        }
        if let Some(mistake) = Mistake::of(asked, &entry.name, case_only, basename) {
            found.push((entry.name.into_vec(), mistake));
        }
    }
    found.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MOST);
    Ok(found)
}

fn list(
    request: &Request,
    candidates: &[(Vec<u8>, Mistake)],
    url: &impl Fn(&Request, &[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let mut out = b"<p>Available documents:</p>\n<ul>\n".to_vec();
    for (name, mistake) in candidates {
        let url = escape_html(&url(request, name));
        let text = String::from_utf8_lossy(&url);
        let line = format!("<li><a href=\"{text}\">{text}</a> ({})</li>\n", mistake.text());
        out.extend_from_slice(line.as_bytes());
    }
    out.extend_from_slice(b"</ul>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mistake_is_recognised() {
        let of = |asked: &str, name: &str| Mistake::of(asked.as_bytes(), name.as_bytes(), false, true);
        for (asked, name, expected) in [
            ("Index.HTML", "index.html", Some(Mistake::Case)),
            ("idnex.html", "index.html", Some(Mistake::Transposed)),
            ("indx.html", "index.html", Some(Mistake::Missing)),
            ("indeex.html", "index.html", Some(Mistake::Extra)),
            ("indox.html", "index.html", Some(Mistake::Typo)),
            ("index.htm", "index.html", Some(Mistake::Missing)),
            ("index.php", "index.html", Some(Mistake::Extension)),
            ("iindexx.html", "index.html", None),
            ("", "a", Some(Mistake::Missing)),
        ] {
            assert_eq!(of(asked, name), expected, "{asked} {name}");
        }
        assert_eq!(Mistake::of(b"indx.html", b"index.html", true, false), None);
    }
}
