//! Command line arguments from a query without `=` (RFC 3875 §4.4), as Apache's `mod_cgi` makes them.

/// Most arguments, the program's name counted (Apache's `APACHE_ARG_MAX - 1`); further ones are left out.
const MOST: usize = 4095;

/// The arguments after the program's name; none when the query is empty or holds an `=`.
///
/// The query is split at each `+`, each word is decoded and then escaped for the shell: Apache puts a backslash
/// before each character that is special to it, for programs that are shell scripts. A word ends at `%00`.
///
/// ```
/// assert_eq!(hostler_cgi::arguments(b"a+b%20c+d%3Be"), [b"a".to_vec(), b"b c".to_vec(), b"d\\;e".to_vec()]);
/// assert!(hostler_cgi::arguments(b"name=value").is_empty());
/// ```
#[must_use]
pub fn arguments(query: &[u8]) -> Vec<Vec<u8>> {
    if query.is_empty() || query.contains(&b'=') {
        return Vec::new();
    }
    query.split(|byte| *byte == b'+').take(MOST - 1).map(|word| escape(&decode(word))).collect()
}

/// Decodes `%XX`; a `%` that no two hexadecimal digits follow stays.
fn decode(word: &[u8]) -> Vec<u8> {
    let digit = |at: usize| word.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(word.len());
    let mut at = 0;
    while let Some(byte) = word.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    if let Some(nul) = decoded.iter().position(|byte| *byte == 0) {
        decoded.truncate(nul);
    }
    decoded
}

fn escape(word: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(word.len());
    for byte in word {
        if b"&;`'\"|*?~<>^()[]{}$\\\n".contains(byte) {
            escaped.push(b'\\');
        }
        escaped.push(*byte);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> Vec<String> {
        arguments(query.as_bytes()).into_iter().map(|w| String::from_utf8_lossy(&w).into_owned()).collect()
    }

    /// Each line was compared with Apache 2.4.71.
    #[test]
    fn words_are_apaches() {
        assert_eq!(words("a+b%2bc+d"), ["a", "b+c", "d"]);
        assert!(words("").is_empty());
        assert!(words("a+b=c").is_empty());
        assert_eq!(words("+"), ["", ""]);
        assert_eq!(words("a++b+"), ["a", "", "b", ""]);
        assert_eq!(words("-s"), ["-s"]);
        assert_eq!(words("a%00b+c"), ["a", "c"]);
        assert_eq!(words("a%zz+%4"), ["a%zz", "%4"]);
        assert_eq!(words("%3d"), ["="]);
        assert_eq!(words("a%2Fb"), ["a/b"]);
    }

    #[test]
    fn shell_characters_get_a_backslash() {
        let special = "&;`'\"|*?~<>^()[]{}$\\\n";
        let expected: String = special.chars().flat_map(|c| ['\\', c]).collect();
        assert_eq!(words(special), [expected]);
        assert_eq!(words("!#%25%20%09"), ["!#% \t"]);
    }

    #[test]
    fn there_is_a_limit() {
        assert_eq!(arguments(&[b'+'; 10_000]).len(), MOST - 1);
    }
}
