//! Directives of mod_ssl about stapling: the authority's word on the server's own certificate, asked for in advance and handed to
//! clients in the handshake (RFC 6066 §8).

use crate::{Action, Args, Arity, Command, Directive, Merge, over};
use std::time::Duration;

/// A virtual host's settings of stapling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stapling {
    /// SSLUseStapling; unset means off.
    pub is_on: Option<bool>,
    /// SSLStaplingForceURL: the responder, whatever the certificate says.
    pub responder: Option<Box<str>>,
    /// SSLStaplingResponderTimeout
    pub patience: Option<Duration>,
    /// SSLStaplingStandardCacheTimeout: how long a good answer is kept before the responder is asked again.
    pub good_for: Option<Duration>,
    /// SSLStaplingErrorCacheTimeout: the same of a bad one.
    pub bad_for: Option<Duration>,
    /// SSLStaplingResponseTimeSkew: how much clocks may differ.
    pub skew: Option<Duration>,
    /// SSLStaplingResponseMaxAge; unset means any.
    pub most_age: Option<Duration>,
    /// SSLStaplingReturnResponderErrors; unset means on.
    pub shows_errors: Option<bool>,
    /// SSLStaplingFakeTryLater; unset means on.
    pub fakes_try_later: Option<bool>,
}

impl Stapling {
    /// Returns the time limit of a responder.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_secs(10))
    }

    /// Returns the time that a response is kept.
    #[must_use]
    pub fn kept(&self, is_good: bool) -> Duration {
        if is_good {
            self.good_for.unwrap_or(Duration::from_secs(3600))
        } else {
            self.bad_for.unwrap_or(Duration::from_secs(600))
        }
    }

    /// Returns the allowed difference of clocks.
    #[must_use]
    pub fn skew(&self) -> Duration {
        self.skew.unwrap_or(Duration::from_secs(300))
    }
}

impl Merge for Stapling {
    fn merge(&self, other: &Self) -> Self {
        Self {
            is_on: over(&self.is_on, &other.is_on),
            responder: over(&self.responder, &other.responder),
            patience: over(&self.patience, &other.patience),
            good_for: over(&self.good_for, &other.good_for),
            bad_for: over(&self.bad_for, &other.bad_for),
            skew: over(&self.skew, &other.skew),
            most_age: over(&self.most_age, &other.most_age),
            shows_errors: over(&self.shows_errors, &other.shows_errors),
            fakes_try_later: over(&self.fakes_try_later, &other.fakes_try_later),
        }
    }

    crate::unset_part!(Stapling);
}

/// A directive that says yes or no.
macro_rules! flag {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Flag, "On|Off", $doc, |command, args| {
            command.server.ssl.stapling.$field = Some(args.flag());
            Ok(())
        })
    };
}

/// A directive that says for how many seconds.
macro_rules! seconds {
    ($name:literal, $doc:literal, $field:ident) => {
        Directive::new($name, Arity::Take1, "seconds", $doc, |command, args| {
            command.server.ssl.stapling.$field = Some(seconds($name, args)?);
            Ok(())
        })
    };
}

pub(super) static DIRECTIVES: &[Directive] = &[
    flag!("SSLUseStapling", "Enable OCSP stapling", is_on),
    Directive {
        action: Action::Ignored("OCSP responses are cached in the memory of the process that sends them"),
        ..Directive::new("SSLStaplingCache", Arity::Take1, "type", "No effect", |_, _| Ok(()))
    },
    Directive::new(
        "SSLStaplingForceURL",
        Arity::Take1,
        "url",
        "Set the responder, overriding the one that the certificate names",
        responder,
    ),
    seconds!("SSLStaplingResponderTimeout", "Set the timeout of OCSP requests in seconds", patience),
    seconds!(
        "SSLStaplingStandardCacheTimeout",
        "Set how long, in seconds, a successful OCSP response is cached",
        good_for
    ),
    seconds!(
        "SSLStaplingErrorCacheTimeout",
        "Set how long, in seconds, a failed OCSP response is cached",
        bad_for
    ),
    seconds!("SSLStaplingResponseTimeSkew", "Set the tolerated clock skew of responders in seconds", skew),
    Directive::new(
        "SSLStaplingResponseMaxAge",
        Arity::Take1,
        "seconds",
        "Limit the age of OCSP responses in seconds; -1: only as the response says",
        |command, args| {
            command.server.ssl.stapling.most_age = match args.first() {
                "-1" => None,
                _ => Some(seconds("SSLStaplingResponseMaxAge", args)?),
            };
            Ok(())
        },
    ),
    flag!(
        "SSLStaplingReturnResponderErrors",
        "Also send unsuccessful OCSP responses to clients",
        shows_errors
    ),
    flag!(
        "SSLStaplingFakeTryLater",
        "Send a tryLater response to clients if the responder cannot be reached",
        fakes_try_later
    ),
];

pub(super) fn seconds(name: &str, args: &Args) -> Result<Duration, String> {
    let seconds = args.first().parse::<u32>().map_err(|_| format!("{name}: invalid argument"))?;
    Ok(Duration::from_secs(u64::from(seconds)))
}

fn responder(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    command.server.ssl.stapling.responder = Some(http_url(args)?);
    Ok(())
}

/// A URL at which something can be asked by HTTP.
pub(super) fn http_url(args: &Args) -> Result<Box<str>, String> {
    let url = args.first();
    if !url.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")) {
        return Err(format!("\"{url}\" is not a responder URL (expected http://host/)"));
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn a_virtual_host_staples_as_it_says() {
        let text = "SSLStaplingCache shmcb:x(1)\nSSLStaplingResponderTimeout 5\nSSLUseStapling on\n\
            <VirtualHost *:443>\nSSLEngine on\nSSLStaplingForceURL http://127.0.0.1:1/\nSSLStaplingResponseMaxAge -1\n\
            SSLStaplingErrorCacheTimeout 7\n</VirtualHost>\n<VirtualHost *:444>\nSSLUseStapling off\n</VirtualHost>";
        let config = Config::build(&crate::read_text(text, "/etc").unwrap()).unwrap();
        let [first, second] = [1, 2].map(|at| &config.servers[at].conf.ssl.stapling);
        assert_eq!((first.is_on, second.is_on), (Some(true), Some(false)));
        assert_eq!(first.responder.as_deref(), Some("http://127.0.0.1:1/"));
        let of = |stapling: &Stapling| {
            [stapling.patience(), stapling.kept(false), stapling.kept(true)].map(|d| d.as_secs())
        };
        assert_eq!(of(first), [5, 7, 3600]);
        assert_eq!(of(second), [5, 600, 3600]);
        for line in
            ["SSLStaplingForceURL ldap://x/", "SSLStaplingResponderTimeout soon", "SSLUseStapling maybe"]
        {
            let read = crate::read_text(line, "/etc").and_then(|tree| Config::build(&tree));
            assert!(read.is_err(), "{line}");
        }
    }
}
