//! Configuration that a program adds for the request that it is at (`$r->add_config`): read here as an `.htaccess` file
//! is, and merged over what applies to the request so far.
//!
//! A line that whoever acts on it has already passed by is refused: the program dies, the rule is not lost in silence.
//! Reading may take its time (patterns), so it is done beside the event loop; texts are short, additions few.

use super::conversation::Wish;
use super::directory;
use super::directory::Programs;
use super::state::HasPerl;
use crate::log::{self, Severity};
use crate::module::core::htaccess;
use crate::request::Request;
use crate::technique::directories::EncodedSettings;
use bytes::Bytes;
use hashbrown::HashMap;
use hostler_config::directives::core::{Allow, OptionBits};
use hostler_config::{DirConfig, HtaccessScope, Overrides, Setting, parse_htaccess};
use hostler_perl_frames::Phase;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Why nothing is added to an answer that has begun.
pub(super) const TOO_LATE: &str = "the answer has begun: what is added would not be acted on any more";

/// Most bytes that are added at once.
const LONGEST: usize = 4 << 10;
/// The most additions to one request.
const MOST: u8 = 16;
/// Texts whose outcome a thread remembers, and how long they may be together.
const KEPT: (usize, usize) = (64, 64 << 10);

/// The key of an addition: its configuration's address, the virtual host, and the directives allowed in the lines.
type Key = (usize, u32, u32, Bytes);

struct AddedRules {
    settings: Vec<Setting>,
    has_sections: bool,
    merged: Arc<DirConfig>,
    /// Keeps the address in the key taken.
    _base: Arc<DirConfig>,
}

#[derive(Default)]
struct Cache {
    known: HashMap<Key, Rc<AddedRules>, foldhash::fast::RandomState>,
    bytes: usize,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Adds it; what the request's configuration is now, or why it stays as it was.
pub(super) async fn add(
    request: &mut Request,
    wish: &Wish,
    has_head: bool,
) -> Result<Rc<EncodedSettings>, String> {
    let reached = *Phase::ALL.get(usize::from(wish.phase)).unwrap_or(&Phase::Response);
    if has_head {
        return Err(TOO_LATE.to_owned());
    }
    if reached < Phase::MapToStorage {
        return Err(format!(
            "in the {reached:?} phase the directory is not known yet, and what is added would be lost: add it in \
             PerlMapToStorageHandler or later"
        ));
    }
    if wish.text.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    if request.progress().additions >= MOST {
        return Err(format!("configuration has been added {MOST} times already"));
    }
    request.perl_mut().progress.additions += 1;
    let added = read(request, wish).await?;
    if added.has_sections && reached > Phase::MapToStorage {
        return Err(
            "<Files> and <If> were settled when the file was found: write the lines without them".into()
        );
    }
    if let Some(late) = added.settings.iter().find(|setting| reached > last_chance(setting)) {
        return Err(too_late(late, reached));
    }
    request.resource.dir = added.merged.clone();
    Ok(directory::known(request, Programs::Configured))
}

fn too_late(setting: &Setting, reached: Phase) -> String {
    let (name, last) = (setting.directive, last_chance(setting));
    format!(
        "{name} {} cannot be honoured any more in the {reached:?} phase: who acts on it was asked before (it can be added \
         up to the {last:?} phase)",
        setting.args
    )
}

/// Reads the lines, or remembers what they have come to.
async fn read(request: &Request, wish: &Wish) -> Result<Rc<AddedRules>, String> {
    let base = &request.resource.dir;
    let key = (Arc::as_ptr(base) as usize, request.server.id, wish.overrides, wish.text.clone());
    if let Some(found) = CACHE.with_borrow(|cache| cache.known.get(&key).cloned()) {
        return Ok(found);
    }
    let parsed = parse(request, wish).await?;
    let mut merged = base.merge(&parsed.0);
    merged.perl.location.clone_from(&base.perl.location);
    let sections = |dir: &DirConfig| !dir.core.files.is_empty() || !dir.core.ifs.is_empty();
    let has_sections = sections(&parsed.0);
    let added = Rc::new(AddedRules {
        settings: parsed.1,
        has_sections,
        merged: Arc::new(merged),
        _base: base.clone(),
    });
    CACHE.with_borrow_mut(|cache| {
        if cache.known.len() >= KEPT.0 || cache.bytes >= KEPT.1 {
            *cache = Cache::default();
        }
        cache.bytes += key.3.len();
        // The message that the text came in may be longer.
        let key = (key.0, key.1, key.2, Bytes::copy_from_slice(&key.3));
        cache.known.insert(key, added.clone());
    });
    Ok(added)
}

async fn parse(request: &Request, wish: &Wish) -> Result<(Arc<DirConfig>, Vec<Setting>), String> {
    let config = request.thread.shared.config.clone();
    let host = htaccess::reader(request);
    let end = request.resource.filename.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let directory = String::from_utf8_lossy(&request.resource.filename[..end]).into_owned();
    let allow = Allow { classes: classes(wish.overrides), options: OptionBits::EVERY, ..Allow::default() };
    let text = wish.text.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let allow = Arc::new(allow);
        let scope = HtaccessScope { config: &config, host, file: "add_config", directory: &directory, allow };
        parse_htaccess(&text, &scope).map_err(|error| match &*error.directive {
            "" => error.message.clone(),
            directive => format!("{directive} {}", error.message),
        })
    });
    let parsed = reading.await.unwrap_or_else(|_| Err("it could not be read".to_owned()))?;
    for warning in &parsed.warnings {
        log::request(request, Severity::Warn, "core", &warning.to_string());
    }
    Ok((parsed.conf, parsed.settings))
}

/// Apache's `OR_` bits in the words of AllowOverride.
fn classes(overrides: u32) -> Overrides {
    let bits = [
        (1, Overrides::LIMIT),
        (2, Overrides::OPTIONS),
        (4, Overrides::FILE_INFO),
        (8, Overrides::AUTH_CONFIG),
        (16, Overrides::INDEXES),
    ];
    bits.into_iter()
        .filter(|(bit, _)| overrides & bit != 0)
        .fold(Overrides::NONE, |all, (_, class)| all | class)
}

/// The last phase whose functions can still add it: who acts on it comes after them. What is not known here is taken for
/// something that is settled before the answer is made.
fn last_chance(setting: &Setting) -> Phase {
    let name = setting.directive;
    match name {
        // Of a phase's own functions the list is made when it begins.
        _ if name.starts_with("Perl") && name.ends_with("Handler") => before_phase_of(name),
        // Told to programs, or acted on when the answer is there.
        "AuthName" | "AuthType" | "PerlSetVar" | "PerlAddVar" | "PerlSetEnv" | "PerlPassEnv"
        | "PerlOptions" | "PerlSendHeader" | "PerlSetupEnv" | "ErrorDocument" => Phase::Response,
        "Require"
        | "RequireAll"
        | "RequireAny"
        | "RequireNone"
        | "AuthMerging"
        | "AuthGroupFile"
        | "AuthzSendForbiddenOnFailure" => Phase::Authz,
        "AuthUserFile" | "AuthBasicProvider" | "AuthBasicAuthoritative" | "AuthBasicFake" => Phase::Authen,
        "Order" | "Allow" | "Deny" | "Satisfy" | "SSLRequire" | "SSLRequireSSL" | "AllowMethods"
        | "Limit" | "LimitExcept" => Phase::Access,
        "SetEnvIf" | "SetEnvIfNoCase" | "SetEnvIfExpr" | "BrowserMatch" | "BrowserMatchNoCase" => {
            Phase::MapToStorage
        }
        // Links were followed, or not, when the file was looked for.
        "Options" if setting.args.to_ascii_lowercase().contains("symlinks") => Phase::MapToStorage,
        "SetHandler" | "ForceType" | "SetOutputFilter" | "AddHandler" | "RemoveHandler" | "AddType"
        | "RemoveType" | "AddOutputFilter" | "RemoveOutputFilter" | "AddCharset" | "RemoveCharset"
        | "AddLanguage" | "RemoveLanguage" | "AddEncoding" | "RemoveEncoding" | "DefaultLanguage"
        | "MultiviewsMatch" => Phase::Type,
        _ => Phase::Fixup,
    }
}

fn before_phase_of(name: &str) -> Phase {
    match name {
        "PerlInitHandler" | "PerlHeaderParserHandler" => Phase::MapToStorage,
        "PerlAccessHandler" => Phase::HeaderParser,
        "PerlAuthenHandler" => Phase::Access,
        "PerlAuthzHandler" => Phase::Authen,
        "PerlTypeHandler" => Phase::Authz,
        "PerlFixupHandler" => Phase::Type,
        "PerlResponseHandler" | "PerlHandler" => Phase::Fixup,
        _ => Phase::Response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(directive: &'static str, args: &str) -> Phase {
        last_chance(&Setting { directive, args: args.into(), origin: hostler_config::Origin::default() })
    }

    #[test]
    fn rules_can_be_added_until_they_are_asked() {
        assert_eq!(last("Require", "valid-user"), Phase::Authz);
        assert_eq!(last("Deny", "from all"), Phase::Access);
        assert_eq!(last("PerlAccessHandler", "My"), Phase::HeaderParser);
        assert_eq!(last("Options", "-FollowSymLinks"), Phase::MapToStorage);
        assert_eq!(last("Options", "-ExecCGI"), Phase::Fixup);
        assert_eq!(last("SomethingElse", ""), Phase::Fixup);
    }

    #[test]
    fn bits_are_classes() {
        assert_eq!(classes(31), Overrides::ALL);
        assert_eq!(classes(8), Overrides::AUTH_CONFIG);
        assert_eq!(classes(0), Overrides::NONE);
    }
}
