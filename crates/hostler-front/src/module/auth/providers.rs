//! The sources of users (AuthBasicProvider, AuthDigestProvider): each is asked for a password, or for a digest of it.

use super::passwords::Passwords;
use super::{files, incomplete};
use crate::hook::plan::plan;
use crate::hook::registry::{AboutUser, OfUser};
use crate::limits::aside;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use hostler_config::Merge as _;
use hostler_config::directives::auth::{self, Provider, anon::Anon, dbm, digest};
use std::borrow::Cow;
use std::cell::RefCell;

/// The providers' verdict on a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong,
    UserNotFound,
    Failed,
}

/// A provider, with what is set for it; other names resolved.
fn resolved<'a>(dir: &'a auth::Dir, mut provider: &'a Provider) -> (Cow<'a, auth::Dir>, &'a Provider) {
    let mut dir = Cow::Borrowed(dir);
    while let Provider::Alias(alias) = provider {
        dir = Cow::Owned(dir.merge(&alias.dir));
        provider = &alias.base;
    }
    (dir, provider)
}

fn or_file(named: &[Provider]) -> &[Provider] {
    if named.is_empty() { &[Provider::File] } else { named }
}

/// Asks AuthBasicProvider's providers; the first that knows the user decides.
pub(super) async fn check(request: &mut Request, credentials: &auth::Credentials) -> Result<Verdict, Halt> {
    let dir = request.resource.dir.clone();
    check_with(request, &dir.auth.providers, credentials).await
}

/// Asks these providers; the first that knows the user decides.
pub(super) async fn check_with(
    request: &mut Request,
    named: &[Provider],
    credentials: &auth::Credentials,
) -> Result<Verdict, Halt> {
    let configured = request.resource.dir.clone();
    let is_basic = configured.auth.kind == Some(auth::AuthType::Basic);
    let against_digests = is_basic && configured.auth.against_digests == Some(true);
    for provider in or_file(named) {
        let (dir, provider) = resolved(&configured.auth, provider);
        let said = if against_digests {
            by_digest(request, &dir, provider, credentials).await?
        } else {
            by_password(request, &dir, provider, credentials).await?
        };
        if said != Verdict::UserNotFound {
            return Ok(said);
        }
    }
    Ok(Verdict::UserNotFound)
}

async fn by_password(
    request: &mut Request,
    dir: &auth::Dir,
    provider: &Provider,
    credentials: &auth::Credentials,
) -> Result<Verdict, Halt> {
    let user = String::from_utf8_lossy(&credentials.user).into_owned();
    let hash = match provider {
        Provider::Cache | Provider::Alias(_) => None,
        Provider::Program(function) => return by_program(request, function, credentials).await,
        Provider::Script => return by_script(request, credentials).await,
        Provider::Anonymous => return Ok(anonymous(request, dir, credentials)),
        Provider::File => {
            let Some(file) = dir.user_file.as_deref() else {
                return Err(incomplete(request, "AuthUserFile"));
            };
            let name = user.clone();
            let look = move |text: &str| auth::password_hash(text, &name).map(str::to_owned);
            files::search_text(request, file, look).await?
        }
        Provider::Dbm => {
            let Some(file) = dir.user_dbm() else { return Err(incomplete(request, "AuthDBMUserFile")) };
            let value = files::value(request, &file, vec![credentials.user.clone()]).await?;
            value.map(|value| String::from_utf8_lossy(dbm::hash(&value)).into_owned())
        }
    };
    Ok(match hash {
        None => Verdict::UserNotFound,
        Some(hash) if verified(request, &credentials.password, &hash, &user).await? => Verdict::Right,
        Some(_) => Verdict::Wrong,
    })
}

/// A password against files of digest authentication.
async fn by_digest(
    request: &mut Request,
    dir: &auth::Dir,
    provider: &Provider,
    credentials: &auth::Credentials,
) -> Result<Verdict, Halt> {
    let Some(realm) = super::realm(request).await? else { return Err(incomplete(request, "AuthName")) };
    let (Ok(user), Ok(name)) = (std::str::from_utf8(&credentials.user), std::str::from_utf8(&realm)) else {
        return Ok(Verdict::UserNotFound);
    };
    let stored = stored(request, dir, provider, user, name).await?;
    Ok(match stored {
        None => Verdict::UserNotFound,
        Some(stored) if digest::stored(&credentials.user, &realm, &credentials.password) == stored => {
            Verdict::Right
        }
        Some(_) => Verdict::Wrong,
    })
}

/// The digest of a user's password, by the first provider that has one.
pub(super) async fn stored_digest(
    request: &mut Request,
    user: &str,
    realm: &str,
) -> Result<Option<String>, Halt> {
    let configured = request.resource.dir.clone();
    let named = configured.auth.digest.as_ref().map_or(&[][..], |digest| &digest.providers);
    for provider in or_file(named) {
        let (dir, provider) = resolved(&configured.auth, provider);
        if let Some(stored) = stored(request, &dir, provider, user, realm).await? {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

async fn stored(
    request: &mut Request,
    dir: &auth::Dir,
    provider: &Provider,
    user: &str,
    realm: &str,
) -> Result<Option<String>, Halt> {
    match provider {
        Provider::Cache => Ok(None),
        Provider::File => {
            let Some(file) = dir.user_file.as_deref() else {
                return Err(incomplete(request, "AuthUserFile"));
            };
            let (user, realm) = (user.to_owned(), realm.to_owned());
            let look = move |text: &str| digest::in_file(text, &user, &realm).map(str::to_owned);
            files::search_text(request, file, look).await
        }
        Provider::Dbm => {
            let Some(file) = dir.user_dbm() else { return Err(incomplete(request, "AuthDBMUserFile")) };
            let value = files::value(request, &file, vec![format!("{user}:{realm}").into_bytes()]).await?;
            Ok(value.map(|value| String::from_utf8_lossy(dbm::hash(&value)).into_owned()))
        }
        Provider::Script => {
            let said =
                plan().ask_script(request, user.as_bytes(), AboutUser::Digest(realm.as_bytes())).await?;
            match said {
                OfUser::Unknown => Ok(None),
                OfUser::Digest(digest) => Ok(Some(String::from_utf8_lossy(&digest).into_owned())),
                _ => Err(Halt::Status(500)),
            }
        }
        Provider::Anonymous | Provider::Program(_) | Provider::Alias(_) => {
            Err(incomplete(request, "a provider that has digests of passwords"))
        }
    }
}

fn anonymous(request: &Request, dir: &auth::Dir, credentials: &auth::Credentials) -> Verdict {
    match dir.anonymous.check(&credentials.user, &credentials.password) {
        Anon::NotFound => Verdict::UserNotFound,
        Anon::Denied => Verdict::Wrong,
        Anon::Granted(logs) => {
            if logs && !request.is_part() && request.prev.is_none() {
                let given = String::from_utf8_lossy(&credentials.password).into_owned();
                let message = format!("AH01672: Anonymous: Passwd <{given}> Accepted");
                log::request(request, Severity::Info, "authn_anon", &message);
            }
            Verdict::Right
        }
    }
}

/// Apache's `authn_status`: denied, granted, user found, user not found, general error.
async fn by_program(
    request: &mut Request,
    function: &str,
    credentials: &auth::Credentials,
) -> Result<Verdict, Halt> {
    if credentials.user.contains(&0) {
        return Ok(Verdict::Wrong);
    }
    let texts: [&[u8]; 4] = [b"authn", function.as_bytes(), &credentials.user, &credentials.password];
    Ok(match plan().ask_provider(request, &texts).await? {
        0 => Verdict::Wrong,
        1 => Verdict::Right,
        3 => Verdict::UserNotFound,
        _ => Verdict::Failed,
    })
}

/// A script of the site's, which may know the user by another name.
async fn by_script(request: &mut Request, credentials: &auth::Credentials) -> Result<Verdict, Halt> {
    let about = AboutUser::Password(&credentials.password);
    Ok(match plan().ask_script(request, &credentials.user, about).await? {
        OfUser::Right(name) => {
            if let Some(name) = name {
                request.user = Some(name);
            }
            Verdict::Right
        }
        OfUser::Wrong => Verdict::Wrong,
        OfUser::Unknown => Verdict::UserNotFound,
        OfUser::Digest(_) | OfUser::Groups(_) | OfUser::Failed => Verdict::Failed,
    })
}

/// bcrypt takes long by design, so it happens on another thread, and a right password is remembered for a while.
async fn verified(request: &Request, password: &[u8], hash: &str, user: &str) -> Result<bool, Halt> {
    if request.thread.of::<RefCell<Passwords>>().borrow().was_right(password, hash) {
        return Ok(true);
    }
    if auth::takes_too_long(password, hash) {
        let message = format!(
            "the password of user {user} can't be checked: it was hashed in so many rounds that checking it would take \
             minutes"
        );
        log::request(request, Severity::Error, "authn_file", &message);
        return Err(Halt::Status(500));
    }
    let (password_copy, hash_copy) = (password.to_vec(), hash.to_owned());
    let permit = aside::permit(request).await?;
    let fits = aside::run_free(request, permit, move || auth::verify(&password_copy, &hash_copy)).await?;
    if fits {
        request.thread.of::<RefCell<Passwords>>().borrow_mut().keep(password, hash);
    }
    Ok(fits)
}
