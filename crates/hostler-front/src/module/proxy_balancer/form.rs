//! The fields of a request to `balancer-manager`: of the query, or of the body of a POST.

use super::LOG;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::variables::server_name;
use crate::values::text;

/// Longest form, in bytes.
const LONGEST: u64 = 8192;
/// The fields that a query may have. It selects and changes nothing.
const IN_QUERY: [&str; 4] = ["w", "b", "nonce", "xml"];

/// Names and values; none if the request came from a page of another server.
#[derive(Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) async fn of(request: &Request, is_post: bool) -> Result<Self, Halt> {
        let fields = if is_post {
            Self::parse(&body(request).await?, |_| true)
        } else {
            Self::parse(request.target.args.as_deref().unwrap_or_default(), |name| IN_QUERY.contains(&name))
        };
        if fields.0.is_empty() || is_from_here(request) {
            return Ok(fields);
        }
        let message = "the fields are ignored: the Referer is not a page of this server";
        log::request(request, Severity::Error, LOG, message);
        Ok(Self::default())
    }

    fn parse(text: &[u8], may: impl Fn(&str) -> bool) -> Self {
        let field = |part: &[u8]| {
            let at = memchr::memchr(b'=', part);
            let (name, value) = at.map_or((part, &b""[..]), |at| (&part[..at], &part[at + 1..]));
            Some((std::str::from_utf8(name).ok()?.to_owned(), decoded(value)?))
        };
        let all = text.split(|byte| *byte == b'&').filter(|part| !part.is_empty()).filter_map(field);
        Self(all.filter(|(name, _)| may(name)).collect())
    }

    /// The last value of a name.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// A number that is written in digits at the start of a value, as C's `atoi` reads it.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let text = self.find(name)?.trim_start();
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        let number = unsigned[..digits.min(18)].parse::<i64>().unwrap_or(0);
        Some(if text.starts_with('-') { -number } else { number })
    }

    /// Returns whether a switch is set.
    pub(super) fn switch(&self, name: &str) -> Option<bool> {
        self.number(name).map(|number| number != 0)
    }
}

/// A value without escapes; `None`: it is not text, or has control characters.
fn decoded(value: &[u8]) -> Option<String> {
    let text = String::from_utf8(text::percent_decoded(value, |_| false)).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

/// Returns whether the `Referer` is a page of this server.
fn is_from_here(request: &Request) -> bool {
    let name = server_name(request);
    let host = || {
        let (_, rest) = std::str::from_utf8(request.header("Referer")?).ok()?.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match authority.split_once(']') {
            Some((address, _)) => Some(format!("{address}]")),
            None => authority.split(':').next().map(str::to_owned),
        }
    };
    host().is_some_and(|host| {
        let bare = host.trim_matches(['[', ']']);
        !bare.is_empty()
            && [host.as_bytes(), bare.as_bytes()].iter().any(|host| host.eq_ignore_ascii_case(&name))
    })
}

async fn body(request: &Request) -> Result<Vec<u8>, Halt> {
    let limit = request.resource.dir.core.limit_request_body.filter(|limit| *limit > 0);
    request.target.body.limit(limit.unwrap_or(LONGEST).min(LONGEST));
    let mut whole = Vec::new();
    while let Some(piece) = request.target.body.chunk().await {
        whole.extend_from_slice(&piece.map_err(|error| Halt::Status(error.status()))?);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_last_of_their_name() {
        let fields = Fields::parse(b"b=app&&w_wr=a+b%3c&w_wr=%zz&c&w_ls=-7x&d=%00", |_| true);
        assert_eq!(fields.find("b"), Some("app"));
        assert_eq!(fields.find("w_wr"), Some("%zz"));
        assert_eq!(fields.find("c"), Some(""));
        assert_eq!(fields.number("w_ls"), Some(-7));
        assert_eq!(fields.find("d"), None, "control characters");
        assert_eq!(fields.switch("c"), Some(false));
    }

    #[test]
    fn a_query_has_few_fields() {
        let fields = Fields::parse(b"b=app&w_status_D=1", |name| IN_QUERY.contains(&name));
        assert_eq!((fields.find("b"), fields.find("w_status_D")), (Some("app"), None));
    }
}
