//! Values of fields: text with `%` directives, compiled once.

use crate::Command;
use hostler_expr::Expr;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text and directives.
    Pieces(Vec<Piece>),
    /// `expr=...`
    Expr(Expr),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(Box<[u8]>),
    /// `%t`: `t=` and when the request arrived, in microseconds since 1970.
    Began,
    /// `%D`: `D=` and how long the request has taken so far, in microseconds.
    Duration,
    /// `%l`: `l=` and the load averages.
    Load,
    /// `%i`: `i=` and the percentage of workers that are idle.
    Idle,
    /// `%b`: `b=` and the percentage of workers that are busy.
    Busy,
    /// `%{name}e`: a variable of the request.
    Env(Box<str>),
    /// `%{name}s`: a variable of the TLS connection.
    Ssl(Box<str>),
}

impl Value {
    /// Compiles a value.
    pub(super) fn parse(command: &Command<'_>, text: &str) -> Result<Self, String> {
        match text.strip_prefix("expr=") {
            Some(expression) => command.string_expr(expression).map(Self::Expr),
            None => pieces(text).map(Self::Pieces),
        }
    }

    /// The value if it is the same for every request.
    #[must_use]
    pub fn literal(&self) -> Option<&[u8]> {
        match self {
            Self::Pieces(pieces) => match &pieces[..] {
                [] => Some(b""),
                [Piece::Text(text)] => Some(text),
                _ => None,
            },
            Self::Expr(expr) => expr.literal(),
        }
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain = Vec::new();
    while let Some(first) = rest.bytes().next() {
        let used = match (first, rest.as_bytes().get(1)) {
            (b'%', Some(b'%')) => push(&mut plain, b'%', 2),
            (b'%', None) => push(&mut plain, b'%', 1),
            (b'\\', Some(b'\\')) => push(&mut plain, b'\\', 2),
            (b'\\', Some(b'n')) => push(&mut plain, b'\n', 2),
            (b'\\', Some(b'r')) => push(&mut plain, b'\r', 2),
            (b'\\', Some(b't')) => push(&mut plain, b'\t', 2),
            (b'%', _) => {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain).into()));
                }
                let (piece, used) = directive(&rest[1..])?;
                pieces.push(piece);
                used + 1
            }
            _ => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                plain.extend_from_slice(&rest.as_bytes()[..length]);
                length
            }
        };
        rest = &rest[used..];
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain.into()));
    }
    Ok(pieces)
}

fn push(plain: &mut Vec<u8>, byte: u8, used: usize) -> usize {
    plain.push(byte);
    used
}

/// Reads what follows a `%`; returns its length too.
fn directive(text: &str) -> Result<(Piece, usize), String> {
    let (name, letter, used) = match text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((name, rest)) => (name, rest.bytes().next(), name.len() + 3),
        None => ("", text.bytes().next(), 1),
    };
    let piece = match letter {
        Some(b't') => Piece::Began,
        Some(b'D') => Piece::Duration,
        Some(b'l') => Piece::Load,
        Some(b'i') => Piece::Idle,
        Some(b'b') => Piece::Busy,
        Some(b'e') => Piece::Env(name.into()),
        Some(b's') => Piece::Ssl(name.into()),
        _ => {
            return Err(format!(
                "\"%{text}\" begins with no directive of a header value; a percent sign is %%"
            ));
        }
    };
    Ok((piece, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.as_bytes().into())
    }

    #[test]
    fn values() {
        assert_eq!(pieces("100%% \\t\\x").unwrap(), [text("100% \t\\x")]);
        assert_eq!(
            pieces("%t%D %{A B}e-%{SSL_X}s").unwrap(),
            [
                Piece::Began,
                Piece::Duration,
                text(" "),
                Piece::Env("A B".into()),
                text("-"),
                Piece::Ssl("SSL_X".into())
            ]
        );
        assert_eq!(pieces("").unwrap(), []);
        assert_eq!(pieces("50%").unwrap(), [text("50%")]);
        assert_eq!(pieces("\u{e4}").unwrap(), [text("\u{e4}")]);
    }

    #[test]
    fn mistakes() {
        for wrong in ["%q", "%{A}", "%{A", "%\u{e4}"] {
            assert!(pieces(wrong).is_err(), "{wrong}");
        }
    }
}
