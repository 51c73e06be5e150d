//! The form of a login (mod_auth_form).

use hostler_config::directives::auth::form::fields;

/// The input is the body of a request.
pub fn target(data: &[u8]) {
    let Ok(all) = fields(data, 8192) else { return };
    let size: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(size <= 8192 && size <= data.len());
    assert!(all.iter().all(|(name, value)| !name.contains(&0) && !value.contains(&0)));
    // Written and read again, it is the same.
    let mut text = Vec::new();
    for (name, value) in &all {
        for part in [&name[..], b"=", &value[..], b"&"] {
            if part == b"=" || part == b"&" {
                text.extend_from_slice(part);
            } else {
                part.iter().for_each(|byte| text.extend_from_slice(format!("%{byte:02x}").as_bytes()));
            }
        }
    }
    // A value that is no more than a separator was written as one.
    if all.iter().all(|(name, value)| !matches!(&name[..], b"=" | b"&") && !matches!(&value[..], b"=" | b"&")) {
        assert_eq!(fields(&text, 8192).unwrap_or_default(), all);
    }
}
