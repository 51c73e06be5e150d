//! Reading an `ErrorLogFormat`.

use super::format::{ErrorFormat, Item, Piece};

impl ErrorFormat {
    /// Compiles a format; directives that don't exist print nothing.
    pub(super) fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        while let Some(&first) = rest.first() {
            rest = match first {
                b'%' => directive(&rest[1..], &mut pieces),
                _ => literal(rest, &mut pieces),
            };
        }
        let tells_id = pieces.iter().any(|piece| piece.item == Item::Id);
        Self { pieces, tells_id }
    }
}

fn piece(item: Item, starts_field: bool) -> Piece {
    Piece { item, starts_field, hyphen: false, required: false, least: 0 }
}

/// Text up to the next directive or the next field.
fn literal<'t>(text: &'t [u8], pieces: &mut Vec<Piece>) -> &'t [u8] {
    let starts_field = matches!(text[0], b' ' | b'\t');
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, after.split_first()) {
            (b'%', _) => break,
            (b' ' | b'\t', _) if rest.len() < text.len() => break,
            (b'\\', Some((&escaped, after))) => {
                plain.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                });
                rest = after;
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    pieces.push(piece(Item::Text(plain), starts_field));
    rest
}

/// One directive; `text` begins after its `%`. Returns what follows it.
fn directive<'t>(text: &'t [u8], pieces: &mut Vec<Piece>) -> &'t [u8] {
    let (mut hyphen, mut required, mut least, mut argument) = (false, false, 0u8, &b""[..]);
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'-' => hyphen = true,
            b'+' => required = true,
            b'0'..=b'9' => least = least.saturating_mul(10).saturating_add(byte - b'0'),
            b'{' => {
                let end = memchr::memchr(b'}', after).unwrap_or(after.len());
                argument = &after[..end];
                rest = after.get(end + 1..).unwrap_or_default();
            }
            b' ' => {
                pieces.push(piece(Item::Text(Vec::new()), true));
                break;
            }
            letter => {
                let item = item(letter, argument);
                pieces.push(Piece { hyphen, required, least, ..piece(item, false) });
                break;
            }
        }
    }
    rest
}

fn item(letter: u8, argument: &[u8]) -> Item {
    let name = || argument.to_vec();
    match letter {
        b'%' => Item::Text(b"%".to_vec()),
        b'a' => Item::Client,
        b'A' => Item::Local,
        b'e' => Item::Env(name()),
        b'i' => Item::RequestHeader(name()),
        b'n' => Item::Note(name()),
        b'k' => Item::KeepAliveRequests,
        b'l' => Item::Level,
        b'L' if argument.eq_ignore_ascii_case(b"c") => Item::ConnectionId,
        b'L' => Item::Id,
        b'm' => Item::Module,
        b'M' => Item::Message,
        b'P' => Item::Pid,
        b'T' => Item::Tid,
        b't' => Item::Time { micro: argument.contains(&b'u'), compact: argument.contains(&b'c') },
        b'v' => Item::VirtualHost,
        b'V' => Item::ServerName,
        _ => Item::Nothing,
    }
}
