//! The meaning of a response header for the server (RFC 3875 §6.2), decided as `mod_cgi` decides.

use crate::header::Header;

/// The kinds of CGI responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// §6.2.1: send status, fields and body.
    Document,
    /// §6.2.2: serve this path, with a query perhaps, as a GET without a body; the program's output is
    /// discarded, its other fields go out with the answer.
    LocalRedirect(&'a [u8]),
    /// §6.2.3: answer 302 with this `Location`, the program's fields and the server's page; the program's output
    /// is discarded.
    ClientRedirect(&'a [u8]),
    /// §6.2.4: as [`Self::Document`], with this `Location`: the program has set a status of its own.
    ClientRedirectWithDocument(&'a [u8]),
}

impl Header {
    /// Returns the server's action. `initial` is the status of the request before the program ran: 200, or for an
    /// `ErrorDocument` the status of the error.
    ///
    /// Quirk(apache): a redirect is made whenever the status is 200, also when the program has said so itself.
    #[must_use]
    pub fn outcome(&self, initial: u16) -> Outcome<'_> {
        let status = self.status.as_ref().map_or(initial, |status| status.code);
        match &self.location {
            None => Outcome::Document,
            Some(location) if status != 200 => Outcome::ClientRedirectWithDocument(location),
            Some(location) if location.starts_with(b"/") => Outcome::LocalRedirect(location),
            Some(location) => Outcome::ClientRedirect(location),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    fn header(code: Option<u16>, location: Option<&str>) -> Header {
        Header {
            status: code.map(|code| Status { code, reason: None }),
            location: location.map(|l| l.as_bytes().to_vec()),
            ..Header::default()
        }
    }

    /// Each line was compared with Apache 2.4.71.
    #[test]
    fn outcomes_are_apaches() {
        assert_eq!(header(None, None).outcome(200), Outcome::Document);
        assert_eq!(header(Some(404), None).outcome(200), Outcome::Document);
        assert_eq!(header(None, Some("/a?b")).outcome(200), Outcome::LocalRedirect(b"/a?b"));
        assert_eq!(header(Some(200), Some("/a")).outcome(200), Outcome::LocalRedirect(b"/a"));
        assert_eq!(header(None, Some("//h/a")).outcome(200), Outcome::LocalRedirect(b"//h/a"));
        assert_eq!(header(None, Some("http://h/")).outcome(200), Outcome::ClientRedirect(b"http://h/"));
        assert_eq!(header(None, Some("")).outcome(200), Outcome::ClientRedirect(b""));
        let passed = Outcome::ClientRedirectWithDocument(b"/a");
        assert_eq!(header(Some(302), Some("/a")).outcome(200), passed);
        assert_eq!(header(Some(201), Some("/a")).outcome(200), passed);
        assert_eq!(header(None, Some("/a")).outcome(404), passed);
    }
}
