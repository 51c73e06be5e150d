//! The names that may stand in `%{...}`.

use hostler_expr::{Variable as Core, header_of};

/// The kind of look-ahead for a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ahead {
    /// `LA-U`, `-U`: as a URL.
    Uri,
    /// `LA-F`, `-F`: as a file.
    File,
}

/// The names of `%{...}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `REQUEST_FILENAME`, `SCRIPT_FILENAME`: what the rules have made of the URL so far.
    Filename,
    /// `QUERY_STRING`, as the rules have left it.
    Query,
    /// `PATH_INFO`
    PathInfo,
    /// `SERVER_ADDR`
    ServerAddress,
    /// One that expressions know too.
    Core(Core),
    /// A field of the request's header: `HTTP:name`, `HTTP_HOST`. The answer varies on it.
    Header(Box<str>),
    /// `ENV:name`: a note, a variable of the request, or one of the server's own environment.
    Env(Box<str>),
    /// `SSL:name`
    Ssl(Box<str>),
    /// `LA-U:name`, `LA-F:name`: the value that a sub-request would have.
    Ahead(Ahead, Box<Variable>, Box<str>),
    /// A name that nobody has: empty.
    Unknown,
}

/// Variables of expressions that rewriting has too.
const SHARED: &[Core] = &[
    Core::RequestMethod,
    Core::RequestScheme,
    Core::RequestUri,
    Core::RemoteHost,
    Core::RemoteIdent,
    Core::RemoteUser,
    Core::ServerAdmin,
    Core::ServerName,
    Core::ServerPort,
    Core::ServerProtocol,
    Core::IsSubreq,
    Core::DocumentRoot,
    Core::AuthType,
    Core::TheRequest,
    Core::ScriptUser,
    Core::ScriptGroup,
    Core::ContextPrefix,
    Core::ContextDocumentRoot,
    Core::RemoteAddr,
    Core::RemotePort,
    Core::Https,
    Core::Ipv6,
    Core::ConnRemoteAddr,
    Core::TimeYear,
    Core::TimeMon,
    Core::TimeDay,
    Core::TimeHour,
    Core::TimeMin,
    Core::TimeSec,
    Core::TimeWday,
    Core::Time,
    Core::ServerSoftware,
    Core::ApiVersion,
];

/// Look-aheads within look-aheads that a name may ask for.
const DEEPEST: usize = 4;

impl Variable {
    /// The variable of a name; its letters may be of either case.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::within(name, 0)
    }

    fn within(name: &str, depth: usize) -> Self {
        let prefix = |prefix: &str| {
            let (start, rest) = (name.get(..prefix.len())?, name.get(prefix.len()..)?);
            start.eq_ignore_ascii_case(prefix).then_some(rest)
        };
        let ahead = |how, rest: &str| {
            if depth == DEEPEST {
                return Self::Unknown;
            }
            Self::Ahead(how, Box::new(Self::within(rest, depth + 1)), rest.into())
        };
        if let Some(rest) = prefix("ENV:") {
            Self::Env(rest.into())
        } else if let Some(rest) = prefix("SSL:") {
            Self::Ssl(rest.into())
        } else if let Some(rest) = prefix("HTTP:") {
            Self::Header(rest.into())
        } else if let Some(rest) = prefix("LA-U:") {
            ahead(Ahead::Uri, rest)
        } else if let Some(rest) = prefix("LA-F:") {
            ahead(Ahead::File, rest)
        } else {
            Self::plain(name)
        }
    }

    fn plain(name: &str) -> Self {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if let Some(header) = header_of(name) {
            return Self::Header(header.into());
        }
        match Core::from_name(name) {
            Some(Core::RequestFilename | Core::ScriptFilename) => Self::Filename,
            Some(Core::QueryString) => Self::Query,
            Some(Core::PathInfo) => Self::PathInfo,
            Some(core) if SHARED.contains(&core) => Self::Core(core),
            None if is("SERVER_ADDR") => Self::ServerAddress,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(Variable::from_name("Request_Uri"), Variable::Core(Core::RequestUri));
        assert_eq!(Variable::from_name("script_filename"), Variable::Filename);
        assert_eq!(Variable::from_name("HTTP_HOST"), Variable::Header("Host".into()));
        assert_eq!(Variable::from_name("HTTP:X-a"), Variable::Header("X-a".into()));
        assert_eq!(Variable::from_name("ENV:a:b"), Variable::Env("a:b".into()));
        assert_eq!(Variable::from_name("HANDLER"), Variable::Unknown);
        assert!(matches!(Variable::from_name("LA-U:REMOTE_USER"), Variable::Ahead(Ahead::Uri, inner, _)
            if *inner == Variable::Core(Core::RemoteUser)));
    }

    #[test]
    fn look_aheads_do_not_nest_without_end() {
        let name = format!("{}REQUEST_URI", "LA-U:".repeat(100));
        let mut depth = 0;
        let mut variable = Variable::from_name(&name);
        while let Variable::Ahead(_, inner, _) = variable {
            (variable, depth) = (*inner, depth + 1);
        }
        assert_eq!((depth, variable), (DEEPEST, Variable::Unknown));
    }
}
