//! SCGI requests (<https://python.ca/scgi/protocol.txt>): a netstring of names and values, each with a NUL behind it;
//! the length of the body first. The body follows as it is.

/// Appends the head of a request. `CONTENT_LENGTH` is taken out of the variables, `0` where it is missing.
///
/// # Errors
/// A name or a value has a NUL in it, or a name is empty: what follows would be understood as something else.
pub fn request<'a>(
    variables: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Unsayable> {
    let (mut length, mut rest) = (&b"0"[..], Vec::with_capacity(2048));
    for (name, value) in variables {
        if name.is_empty() || name.contains(&0) || value.contains(&0) {
            return Err(Unsayable);
        }
        match name {
            b"CONTENT_LENGTH" => length = if value.is_empty() { b"0" } else { value },
            b"SCGI" => {}
            _ => field(name, value, &mut rest),
        }
    }
    let mut first = Vec::with_capacity(64);
    field(b"CONTENT_LENGTH", length, &mut first);
    field(b"SCGI", b"1", &mut first);
    out.extend_from_slice((first.len() + rest.len()).to_string().as_bytes());
    out.push(b':');
    out.extend_from_slice(&first);
    out.extend_from_slice(&rest);
    out.push(b',');
    Ok(())
}

fn field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for text in [name, value] {
        out.extend_from_slice(text);
        out.push(0);
    }
}

/// A variable can't be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsayable;

impl std::fmt::Display for Unsayable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a variable has no name, or a NUL in it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let variables: [(&[u8], &[u8]); 3] =
            [(b"REQUEST_METHOD", b"POST"), (b"CONTENT_LENGTH", b"27"), (b"REQUEST_URI", b"/deepthought")];
        let mut out = Vec::new();
        assert_eq!(request(variables, &mut out), Ok(()));
        let expected =
            "70:CONTENT_LENGTH\x0027\0SCGI\x001\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,";
        assert_eq!(String::from_utf8(out), Ok(expected.to_owned()));
    }

    #[test]
    fn what_would_be_understood_as_more_variables_is_refused() {
        for (name, value) in [(&b"A"[..], &b"x\0B"[..]), (b"A\0B", b"x"), (b"", b"x")] {
            assert_eq!(request([(name, value)], &mut Vec::new()), Err(Unsayable));
        }
    }
}
