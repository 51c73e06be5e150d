//! Accept-Encoding (RFC 9110 §12.5.3) as mod_deflate reads it: a coding is taken only if it is named, `*` is no
//! name, and the first mention counts.

/// Of what a client takes, all that matters here: two clients of the same class get the same.
pub(crate) fn class(accept_encoding: &[u8]) -> u8 {
    let bit = |coding, bit| if takes(accept_encoding, coding) { bit } else { 0 };
    bit("gzip", 1) | bit("br", 2)
}

/// Returns whether a client that sent `field` takes `coding`.
pub(crate) fn takes(field: &[u8], coding: &str) -> bool {
    for item in field.split(|&byte| byte == b',') {
        let mut parts = item.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        if parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding.as_bytes())) {
            return !parts.any(is_zero_weight);
        }
    }
    false
}

/// `q=0`, `q=0.000`: at most three digits; what is longer is no weight (RFC 9110 §12.4.2), and refuses nothing.
fn is_zero_weight(parameter: &[u8]) -> bool {
    let Some(weight) = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q=")) else {
        return false;
    };
    let weight = weight.trim_ascii();
    matches!(weight, b"0" | b"0." | b"0.0" | b"0.00" | b"0.000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_codings_are_taken_unless_weighed_zero() {
        for (field, expected) in [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=0.5", true),
            ("br;q=0, gzip ; q=1.0", true),
            ("gzip;q=0.001", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("gzip;x=y;Q=0.0", false),
            ("gzip;q=0.0000", true),
            ("gzip;q=00", true),
            ("gzip;q=0, gzip", false),
            ("*", false),
            ("x-gzip", false),
            ("gzipped", false),
            ("identity", false),
            ("", false),
        ] {
            assert_eq!(takes(field.as_bytes(), "gzip"), expected, "{field}");
        }
    }
}
