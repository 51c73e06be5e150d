//! `$name` and `${name}` in the texts of a page.

use std::borrow::Cow;

/// The treatment of a variable that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nothing is left of it (everywhere else).
    Drop,
    /// Its name stays (`exec cmd`, whose shell may know it). Quirk(apache): of `${name}` the closing brace is
    /// lost.
    KeepName,
}

/// Replaces `$name` and `${name}` (letters, digits and `_`; anything inside braces) by what `lookup` says.
/// `\$` is a dollar sign; any other backslash stays. Quirk(apache): at a `${` without `}` the text ends.
pub fn substitute<'t, 'v>(
    text: &'t [u8],
    missing: Missing,
    mut lookup: impl FnMut(&[u8]) -> Option<Cow<'v, [u8]>>,
) -> Cow<'t, [u8]> {
    let Some(first) = memchr::memchr2(b'\\', b'$', text) else { return Cow::Borrowed(text) };
    let mut out = text[..first].to_vec();
    let mut rest = &text[first..];
    while !rest.is_empty() {
        rest = match rest {
            [b'\\', b'$', after @ ..] => {
                out.push(b'$');
                after
            }
            [b'$', after @ ..] => {
                let Some((name, length)) = variable_name(after) else { break };
                if name.is_empty() {
                    out.push(b'$');
                    after
                } else {
                    let spelled = &rest[..1 + length - usize::from(after[0] == b'{')];
                    match (lookup(name), missing) {
                        (Some(value), _) => out.extend_from_slice(&value),
                        (None, Missing::KeepName) => out.extend_from_slice(spelled),
                        (None, Missing::Drop) => {}
                    }
                    &after[length..]
                }
            }
            _ => {
                let length = memchr::memchr2(b'\\', b'$', &rest[1..]).map_or(rest.len(), |at| at + 1);
                out.extend_from_slice(&rest[..length]);
                &rest[length..]
            }
        };
    }
    Cow::Owned(out)
}

/// The name after a dollar sign and how many bytes it takes, braces included. `None` when a brace is not
/// closed.
fn variable_name(after: &[u8]) -> Option<(&[u8], usize)> {
    if let Some(inside) = after.strip_prefix(b"{") {
        let end = memchr::memchr(b'}', inside)?;
        return Some((&inside[..end], end + 2));
    }
    let length = after.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    Some((&after[..length], length))
}
