//! Reading an `ErrorLogFormat`.
//!
//! A format consists of fields; a blank begins a new one, `\ ` is a blank within one, `% ` begins one without printing
//! anything. A field that lacks something is left out whole, with the text around it: whoever writes lines does that.

/// Apache's layout for servers with threads.
const DEFAULT: &str =
    "[%{u}t] [%-m:%l] [pid %P:tid %T] %7F: %E: [client\\ %a] %M% ,\\ referer:\\ %{Referer}i";

/// A format of lines in the error log.
#[derive(Debug)]
pub struct ErrorFormat {
    /// In the order of the line.
    pub pieces: Vec<ErrorPiece>,
    /// `%L` shows the id; otherwise the message does.
    pub tells_id: bool,
}

/// A piece of such a line.
#[derive(Debug)]
pub struct ErrorPiece {
    /// The printed item.
    pub item: ErrorItem,
    /// Begins a field.
    pub starts_field: bool,
    /// `%-x`: a hyphen for nothing.
    pub hyphen: bool,
    /// `%7x`: only in messages of this level or a more talkative one.
    pub least: u8,
}

/// The printed item.
#[derive(Debug, PartialEq, Eq)]
pub enum ErrorItem {
    /// Text of the format.
    Text(Vec<u8>),
    /// `%a`
    Client,
    /// `%A`
    Local,
    /// `%{name}e`
    Env(Vec<u8>),
    /// `%{name}i`
    RequestHeader(Vec<u8>),
    /// `%{name}n`
    Note(Vec<u8>),
    /// `%k`
    KeepAliveRequests,
    /// `%l`
    Level,
    /// `%L`
    Id,
    /// `%{c}L`
    ConnectionId,
    /// `%m`
    Module,
    /// `%M`
    Message,
    /// `%P`
    Pid,
    /// `%T`
    Tid,
    /// `%t`
    Time {
        /// With microseconds.
        micro: bool,
        /// As ISO 8601.
        compact: bool,
    },
    /// `%v`
    VirtualHost,
    /// `%V`
    ServerName,
    /// `%E`, `%F`: Apache's error numbers and places in its source, which we don't have.
    Nothing,
}

impl Default for ErrorFormat {
    fn default() -> Self {
        Self::parse(DEFAULT).unwrap_or(Self { pieces: Vec::new(), tells_id: false })
    }
}

impl ErrorFormat {
    /// Reads a format.
    ///
    /// # Errors
    /// The sentence with which Apache refuses to start: an unknown directive, or no message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = match first {
                '%' => directive(&rest[1..], &mut pieces)?,
                _ => literal(rest, &mut pieces),
            };
        }
        if !pieces.iter().any(|piece| piece.item == ErrorItem::Message) {
            return Err("must contain %M, the message".into());
        }
        let tells_id = pieces.iter().any(|piece| piece.item == ErrorItem::Id);
        Ok(Self { pieces, tells_id })
    }
}

fn piece(item: ErrorItem, starts_field: bool) -> ErrorPiece {
    ErrorPiece { item, starts_field, hyphen: false, least: 0 }
}

/// Text up to the next directive or the next field. Returns what follows it.
fn literal<'t>(text: &'t str, pieces: &mut Vec<ErrorPiece>) -> &'t str {
    let starts_field = text.starts_with([' ', '\t']);
    let (mut plain, mut characters) = (String::new(), text.char_indices());
    let mut end = text.len();
    while let Some((at, character)) = characters.next() {
        match character {
            '%' => {
                end = at;
                break;
            }
            ' ' | '\t' if at > 0 => {
                end = at;
                break;
            }
            '\\' => plain.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 'r')) => '\r',
                Some((_, 't')) => '\t',
                Some((_, other)) => other,
                None => '\\',
            }),
            other => plain.push(other),
        }
    }
    pieces.push(piece(ErrorItem::Text(plain.into_bytes()), starts_field));
    &text[end..]
}

/// One directive; `text` begins after its `%`. Returns what follows it.
fn directive<'t>(text: &'t str, pieces: &mut Vec<ErrorPiece>) -> Result<&'t str, String> {
    const UNFINISHED: &str = "ends within a directive of the format";
    let (mut hyphen, mut least, mut argument) = (false, 0u8, "");
    let mut rest = text;
    loop {
        let character = rest.chars().next().ok_or(UNFINISHED)?;
        rest = &rest[character.len_utf8()..];
        match character {
            '-' => hyphen = true,
            '+' => {
                return Err(
                    "+ is only supported for connection and request lines, which Hostler does not write"
                        .into(),
                );
            }
            '0'..='9' => least = least.saturating_mul(10).saturating_add(character as u8 - b'0'),
            '{' => (argument, rest) = rest.split_once('}').ok_or(UNFINISHED)?,
            ' ' => {
                pieces.push(piece(ErrorItem::Text(Vec::new()), true));
                return Ok(rest);
            }
            letter => {
                let item = item(letter, argument).ok_or_else(|| format!("unknown directive %{letter}"))?;
                pieces.push(ErrorPiece { hyphen, least, ..piece(item, false) });
                return Ok(rest);
            }
        }
    }
}

fn item(letter: char, argument: &str) -> Option<ErrorItem> {
    let name = || argument.as_bytes().to_vec();
    Some(match letter {
        '%' => ErrorItem::Text(b"%".to_vec()),
        'a' => ErrorItem::Client,
        'A' => ErrorItem::Local,
        'e' => ErrorItem::Env(name()),
        'i' => ErrorItem::RequestHeader(name()),
        'n' => ErrorItem::Note(name()),
        'k' => ErrorItem::KeepAliveRequests,
        'l' => ErrorItem::Level,
        'L' if argument.eq_ignore_ascii_case("c") => ErrorItem::ConnectionId,
        'L' => ErrorItem::Id,
        'm' => ErrorItem::Module,
        'M' => ErrorItem::Message,
        'P' => ErrorItem::Pid,
        'T' => ErrorItem::Tid,
        't' => ErrorItem::Time { micro: argument.contains('u'), compact: argument.contains('c') },
        'v' => ErrorItem::VirtualHost,
        'V' => ErrorItem::ServerName,
        'E' | 'F' => ErrorItem::Nothing,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_format() {
        assert!(!ErrorFormat::default().pieces.is_empty());
    }

    #[test]
    fn text_begins_fields_and_has_escapes() {
        let format = ErrorFormat::parse("a\\ b\\n c%M\\").unwrap();
        let texts: Vec<_> = format.pieces.iter().map(|piece| (&piece.item, piece.starts_field)).collect();
        let text = |text: &str| ErrorItem::Text(text.as_bytes().to_vec());
        assert_eq!(
            texts,
            [
                (&text("a b\n"), false),
                (&text(" c"), true),
                (&ErrorItem::Message, false),
                (&text("\\"), false)
            ]
        );
    }
}
