//! The Huffman code of HPACK (RFC 7541 §5.2 and appendix B). It is canonical: codes follow from their lengths.

/// Lengths of the codes of all bytes, and of EOS, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
/// Longest code in bits.
const LONGEST: usize = 30;
const EOS: u16 = 256;

/// The code by lengths.
struct Table {
    /// The first code of each length, how many there are, and where their symbols begin.
    lengths: [(u32, u32, usize); LONGEST + 1],
    symbols: [u16; 257],
}

static TABLE: Table = table();

const fn table() -> Table {
    let (mut lengths, mut symbols) = ([(0, 0, 0); LONGEST + 1], [0; 257]);
    let (mut code, mut at, mut length) = (0_u32, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        let (first, begin, mut symbol) = (code, at, 0);
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                symbols[at] = symbol as u16;
                at += 1;
                code += 1;
            }
            symbol += 1;
        }
        lengths[length] = (first, code - first, begin);
        length += 1;
    }
    Table { lengths, symbols }
}

/// The text is no Huffman code: EOS is in it, or its padding is too long or not all ones (RFC 7541 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadCode;

/// Appends the decoded text.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), BadCode> {
    let (mut code, mut length) = (0_u32, 0_usize);
    for byte in coded {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            let (first, count, begin) = *TABLE.lengths.get(length).ok_or(BadCode)?;
            if code >= first && code - first < count {
                let symbol = TABLE.symbols[begin + (code - first) as usize];
                if symbol == EOS {
                    return Err(BadCode);
                }
                out.push(symbol as u8);
                (code, length) = (0, 0);
            }
        }
    }
    let is_padding = length < 8 && code == (1 << length) - 1;
    if is_padding { Ok(()) } else { Err(BadCode) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(coded: &[u8]) -> Result<String, BadCode> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn examples_of_the_specification() {
        // RFC 7541 appendix C.4 and C.6.
        let www = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(text(&www).unwrap(), "www.example.com");
        assert_eq!(text(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), "no-cache");
        let date = [
            0xd0, 0x7a, 0xbe, 0x94, 0x10, 0x54, 0xd4, 0x44, 0xa8, 0x20, 0x05, 0x95, 0x04, 0x0b, 0x81, 0x66,
            0xe0, 0x82, 0xa6, 0x2d, 0x1b, 0xff,
        ];
        assert_eq!(text(&date).unwrap(), "Mon, 21 Oct 2013 20:13:21 GMT");
        assert_eq!(text(&[]).unwrap(), "");
    }

    #[test]
    fn bad_padding_and_eos() {
        // "0" is 00000; what follows it must be ones, fewer than eight.
        assert_eq!(text(&[0b0000_0111]).unwrap(), "0");
        assert_eq!(text(&[0b0000_0110]), Err(BadCode));
        assert_eq!(text(&[0b0000_0111, 0xff]), Err(BadCode));
        assert_eq!(text(&[0xff, 0xff, 0xff, 0xff]), Err(BadCode));
    }
}
