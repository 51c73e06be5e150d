//! Paths as servlet containers take them (Servlet 6.0 §3.5.2), for `mapping=servlet`: without parameters, and without dot
//! segments that have some.

/// A part of a path that means something.
struct Part<'p> {
    name: &'p [u8],
    /// Its start, including ignored characters before it.
    start: usize,
    /// The start of its parameters, or the next slash.
    end: usize,
}

/// Returns where a path continues after a prefix, and the path without parameters. `None`: it does not begin with the
/// prefix, or leads upwards out of the server.
pub(super) fn behind(path: &[u8], prefix: &[u8]) -> Option<(usize, Vec<u8>)> {
    if path.first() != Some(&b'/') || prefix.first() != Some(&b'/') {
        return None;
    }
    let (parts, has_slash) = parts(path)?;
    let wanted: Vec<&[u8]> = prefix.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    let wants_slash = prefix.ends_with(b"/");
    let begins = parts.len() >= wanted.len()
        && parts.iter().zip(&wanted).all(|(part, name)| part.name == *name)
        && (!wants_slash || parts.len() > wanted.len() || has_slash);
    if !begins {
        return None;
    }
    let last = wanted.len().checked_sub(1).map(|last| &parts[last]);
    let mut at = match (parts.get(wanted.len()), last) {
        // Parameters of the prefix's last part are the container's, too.
        (Some(_), Some(last)) if !wants_slash && path.get(last.end) == Some(&b';') => last.end,
        (Some(next), _) => next.start,
        (None, _) => path.len(),
    };
    if !wants_slash && path[at - 1] == b'/' {
        at -= 1;
    }
    Some((at, joined(&parts, has_slash)))
}

/// The parts, and whether there is a slash behind the last one. `None`: it leads upwards out of the server.
fn parts(path: &[u8]) -> Option<(Vec<Part<'_>>, bool)> {
    let (mut parts, mut has_slash): (Vec<Part<'_>>, bool) = (Vec::new(), true);
    // Behind the last slash that means something; after a part that leads upwards there is none.
    let mut behind_slash = Some(1);
    let mut at = 1;
    while at < path.len() {
        let next = path[at..].iter().position(|byte| *byte == b'/').map_or(path.len(), |length| at + length);
        let end = path[at..next].iter().position(|byte| *byte == b';').map_or(next, |length| at + length);
        match &path[at..end] {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
                (has_slash, behind_slash) = (true, None);
            }
            name => {
                let first = behind_slash
                    .map(|first| first + path[first..].iter().take_while(|byte| **byte == b'/').count());
                parts.push(Part { name, start: first.unwrap_or(at), end });
                (has_slash, behind_slash) = (next < path.len(), Some(next + 1));
            }
        }
        at = next + 1;
    }
    Some((parts, has_slash))
}

fn joined(parts: &[Part<'_>], has_slash: bool) -> Vec<u8> {
    let mut plain = Vec::new();
    for part in parts {
        plain.push(b'/');
        plain.extend_from_slice(part.name);
    }
    if has_slash {
        plain.push(b'/');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(path: &str, prefix: &str) -> Option<(String, String)> {
        let (at, plain) = behind(path.as_bytes(), prefix.as_bytes())?;
        Some((path[at..].to_owned(), String::from_utf8(plain).unwrap()))
    }

    #[test]
    fn parameters_are_compared_with_nothing_and_handed_on() {
        for (path, prefix, there, here) in [
            ("/", "/", "", "/"),
            ("/a/b", "/a/", "b", "/a/b"),
            ("/a/b", "/a", "/b", "/a/b"),
            ("/a;x=1/b;y=2", "/a/", "b;y=2", "/a/b"),
            ("/a;x=1/b;y=2", "/a", ";x=1/b;y=2", "/a/b"),
            ("/a;x=1", "/a", "", "/a"),
            ("/a/;x", "/a", "", "/a/"),
            ("//a///b", "/a", "/b", "/a/b"),
            ("/c/..;x/a/b", "/a/", "b", "/a/b"),
            ("/a/b/..;x/c", "/a/", "c", "/a/c"),
            ("/a/.;x/c", "/a/", ".;x/c", "/a/c"),
            ("/%61/b%3b", "/%61/", "b%3b", "/%61/b%3b"),
        ] {
            let found = rest(path, prefix);
            assert_eq!(found, Some((there.to_owned(), here.to_owned())), "{path} behind {prefix}");
        }
    }

    #[test]
    fn what_begins_otherwise_is_another_s() {
        for (path, prefix) in [
            ("/ab", "/a"),
            ("/a", "/a/"),
            ("/a;x/..;y/b", "/a/"),
            ("/..;/a", "/a"),
            ("/", "/a"),
            ("a", "/a"),
            ("/a", "a"),
        ] {
            assert_eq!(rest(path, prefix), None, "{path} behind {prefix}");
        }
    }
}
