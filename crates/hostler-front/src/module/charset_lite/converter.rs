//! From one character set into another, piece by piece, by way of UTF-8.

use encoding_rs::{Decoder, DecoderResult, Encoder, EncoderResult, UTF_16BE, UTF_16LE};
use hostler_config::directives::charset_lite::Code;

/// Of a text in UTF-8 that is made at a time, in bytes.
const ROOM: usize = 8 << 10;

/// A text on its way.
pub(super) struct Converter {
    reader: Reader,
    writer: Writer,
    skips: bool,
}

enum Reader {
    Ascii,
    Latin1,
    Other(Decoder),
}

enum Writer {
    Ascii,
    Latin1,
    Utf16 { big: bool, begins: bool },
    Other(Encoder),
}

impl Converter {
    pub(super) fn new(from: Code, to: Code) -> Self {
        let reader = match from {
            Code::Ascii => Reader::Ascii,
            Code::Latin1 => Reader::Latin1,
            Code::Utf16 { marked: true, .. } => Reader::Other(UTF_16LE.new_decoder()),
            Code::Utf16 { big: true, .. } => Reader::Other(UTF_16BE.new_decoder_without_bom_handling()),
            Code::Utf16 { .. } => Reader::Other(UTF_16LE.new_decoder_without_bom_handling()),
            Code::Standard(encoding) => Reader::Other(encoding.new_decoder_without_bom_handling()),
        };
        let writer = match to {
            Code::Ascii => Writer::Ascii,
            Code::Latin1 => Writer::Latin1,
            Code::Utf16 { big, marked } => Writer::Utf16 { big, begins: marked },
            Code::Standard(encoding) => Writer::Other(encoding.new_encoder()),
        };
        Self { reader, writer, skips: false }
    }

    /// Skips input that is no character.
    pub(super) fn skipping(self) -> Self {
        Self { skips: true, ..self }
    }

    /// Translates what follows. `last`: nothing comes behind it.
    ///
    /// # Errors
    /// A byte is no character, the last one is not whole, or the other character set does not have it.
    pub(super) fn convert(&mut self, mut bytes: &[u8], last: bool, out: &mut Vec<u8>) -> Result<(), String> {
        let mut text = String::with_capacity(ROOM);
        loop {
            let is_read = self.reader.read(&mut bytes, last, self.skips, &mut text)?;
            self.writer.write(&text, is_read && last, out)?;
            text.clear();
            if is_read {
                return Ok(());
            }
        }
    }
}

impl Reader {
    /// Reads as much as there is room for; whether that was all.
    fn read(
        &mut self,
        bytes: &mut &[u8],
        last: bool,
        skips: bool,
        text: &mut String,
    ) -> Result<bool, String> {
        match self {
            Self::Other(decoder) => {
                let (result, read) = decoder.decode_to_string_without_replacement(bytes, text, last);
                *bytes = &bytes[read..];
                match result {
                    DecoderResult::InputEmpty => Ok(true),
                    DecoderResult::OutputFull => Ok(false),
                    DecoderResult::Malformed(..) if skips => Ok(bytes.is_empty()),
                    DecoderResult::Malformed(..) if bytes.is_empty() && last => {
                        Err("an incomplete character at the end".into())
                    }
                    DecoderResult::Malformed(..) => Err("a character is invalid".into()),
                }
            }
            Self::Ascii if !skips && !bytes.is_ascii() => Err("a character is invalid".into()),
            Self::Ascii | Self::Latin1 => {
                // A character takes two bytes at most.
                let (now, later) = bytes.split_at(bytes.len().min(ROOM / 2));
                text.extend(now.iter().map(|byte| char::from(*byte)));
                *bytes = later;
                Ok(later.is_empty())
            }
        }
    }
}

impl Writer {
    fn write(&mut self, text: &str, last: bool, out: &mut Vec<u8>) -> Result<(), String> {
        let lacks = |character: char| {
            format!("the character U+{:04X} is not in the other character set", u32::from(character))
        };
        match self {
            Self::Ascii | Self::Latin1 => {
                let most = if matches!(self, Self::Ascii) { 0x7f } else { 0xff };
                for character in text.chars() {
                    let byte = u8::try_from(u32::from(character)).ok().filter(|byte| *byte <= most);
                    out.push(byte.ok_or_else(|| lacks(character))?);
                }
                Ok(())
            }
            Self::Utf16 { big, begins } => {
                let mark = std::mem::take(begins).then_some(0xfeff).filter(|_| !text.is_empty());
                for unit in mark.into_iter().chain(text.encode_utf16()) {
                    out.extend_from_slice(&if *big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
                Ok(())
            }
            Self::Other(encoder) => {
                let mut rest = text;
                loop {
                    let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
                    out.reserve(room.unwrap_or(ROOM));
                    let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, out, last);
                    rest = &rest[read..];
                    match result {
                        EncoderResult::InputEmpty => return Ok(()),
                        EncoderResult::OutputFull => {}
                        EncoderResult::Unmappable(character) => return Err(lacks(character)),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{EUC_JP, ISO_2022_JP, SHIFT_JIS, UTF_8, WINDOWS_1252};

    /// In pieces of so many bytes.
    fn convert(from: Code, to: Code, text: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let (mut converter, mut out) = (Converter::new(from, to), Vec::new());
        for piece in text.chunks(size) {
            converter.convert(piece, false, &mut out)?;
        }
        converter.convert(b"", true, &mut out)?;
        Ok(out)
    }

    #[test]
    fn a_text_comes_through_however_it_is_cut() {
        let standard = Code::Standard;
        let codes = [
            standard(UTF_8),
            standard(SHIFT_JIS),
            standard(EUC_JP),
            standard(ISO_2022_JP),
            Code::Utf16 { big: true, marked: false },
            Code::Utf16 { big: false, marked: true },
        ];
        let text = "\u{65e5}\u{672c}\u{8a9e} and plain \u{3042} ".repeat(2000);
        for code in codes {
            let there = convert(standard(UTF_8), code, text.as_bytes(), 7).unwrap();
            for size in [1, 2, 3, 1000, 1 << 20] {
                let back = convert(code, standard(UTF_8), &there, size).unwrap();
                assert_eq!(String::from_utf8(back).unwrap(), text, "{code:?} {size}");
            }
        }
        let all: Vec<u8> = (0..=255).collect();
        let there = convert(Code::Latin1, standard(UTF_8), &all, 5).unwrap();
        assert_eq!(convert(standard(UTF_8), Code::Latin1, &there, 5).unwrap(), all);
    }

    #[test]
    fn what_is_no_character_or_has_no_place_is_told() {
        let utf_8 = Code::Standard(UTF_8);
        assert!(convert(utf_8, Code::Latin1, b"a\xffb", 9).unwrap_err().contains("invalid"));
        assert!(convert(utf_8, Code::Latin1, b"a\xc3", 1).unwrap_err().contains("incomplete"));
        assert!(convert(Code::Ascii, utf_8, b"a\x80", 9).unwrap_err().contains("invalid"));
        let euro = "\u{20ac}".as_bytes();
        assert_eq!(
            convert(utf_8, Code::Latin1, euro, 9).unwrap_err(),
            "the character U+20AC is not in the other character set"
        );
        assert_eq!(convert(utf_8, Code::Standard(WINDOWS_1252), euro, 2).unwrap(), b"\x80");
    }
}
