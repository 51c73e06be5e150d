//! The version of Apache whose behaviour Hostler follows, for `<IfVersion>` (mod_version).

use super::expand::Reader;

/// Major, minor, patch.
pub(crate) const VERSION: [u32; 3] = [2, 4, 66];

/// Returns whether the condition of `<IfVersion [[!]operator] version>` holds.
pub(super) fn holds(reader: &Reader, words: &[String]) -> Result<bool, String> {
    let (operator, version) = match words {
        [version] => ("=", version.as_str()),
        [operator, version] => (operator.as_str(), version.as_str()),
        _ => return Err("takes an operator and a version".to_owned()),
    };
    let (negated, operator) = match operator.strip_prefix('!') {
        Some("") => (true, "="),
        Some(operator) => (true, operator),
        None => (false, operator),
    };
    let result = match operator {
        "=" | "==" => match version.strip_prefix('/') {
            Some(regex) => matches(reader, regex.strip_suffix('/').ok_or("the closing / is missing")?)?,
            None => VERSION == parse(version)?,
        },
        "~" => matches(reader, version)?,
        ">" => VERSION > parse(version)?,
        ">=" => VERSION >= parse(version)?,
        "<" => VERSION < parse(version)?,
        "<=" => VERSION <= parse(version)?,
        _ => return Err(crate::unknown("operator", operator, &["=", "==", ">", ">=", "<", "<=", "~"])),
    };
    Ok(result != negated)
}

fn matches(reader: &Reader, pattern: &str) -> Result<bool, String> {
    let [major, minor, patch] = VERSION;
    let regex =
        hostler_expr::Regex::new(pattern, reader.regex_options()).map_err(|error| error.to_string())?;
    regex.is_match(format!("{major}.{minor}.{patch}").as_bytes()).map_err(|error| error.to_string())
}

/// Missing parts are 0, so `= 2.4` does not hold for 2.4.66: as in mod_version.
fn parse(version: &str) -> Result<[u32; 3], String> {
    let bad = || format!("\"{version}\" is not a version (major[.minor[.patch]])");
    let mut parts = [0; 3];
    for (index, part) in version.split('.').enumerate() {
        let part = if part.bytes().all(|b| b.is_ascii_digit()) { part.parse().ok() } else { None };
        *parts.get_mut(index).ok_or_else(bad)? = part.ok_or_else(bad)?;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(condition: &str) -> Result<bool, String> {
        holds(&Reader::default(), &crate::words(condition))
    }

    #[test]
    fn versions_compare_by_parts() {
        for truth in
            [">= 2.4", "> 2.3.99", "< 2.5", "!= 2.4", "! 2.4", "!< 2.4", "~ ^2\\.4\\.", "/^2/", "= /4/"]
        {
            assert_eq!(test(truth), Ok(true), "{truth}");
        }
        for lie in ["2.4", "= 2.4", "<= 2.4", "<2.5 2.6"] {
            assert_ne!(test(lie), Ok(true), "{lie}");
        }
        for bad in ["", ">= x", ">= 2.4.1.1", "=> 2.4", "= /x", ">= 2..4"] {
            assert!(test(bad).is_err(), "{bad}");
        }
    }
}
