//! `HostlerHealth`: the paths at which every virtual host reports that the server is live and ready.

/// The paths, and the pools that readiness depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthPaths {
    /// Reports that the processes respond.
    pub live: String,
    /// Reports that new requests may be sent here.
    pub ready: String,
    /// Engines, or engine and site (`php:alice`), of which no pool may have failed to start.
    pub pools: Vec<String>,
}

/// Reads the arguments of `HostlerHealth`; `None` for `off`.
///
/// # Errors
/// The accepted form.
pub(super) fn health(words: &[String]) -> Result<Option<HealthPaths>, String> {
    match words {
        [off] if off.eq_ignore_ascii_case("off") => Ok(None),
        [live, ready, pools @ ..] if is_path(live) && is_path(ready) && live != ready => {
            Ok(Some(HealthPaths { live: live.clone(), ready: ready.clone(), pools: pools.to_vec() }))
        }
        _ => {
            Err("takes \"off\", or two different paths that begin with \"/\", and names of pools".to_owned())
        }
    }
}

/// Returns true for a path without a query and without characters that would arrive encoded.
fn is_path(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    word.starts_with('/') && word.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<HealthPaths>, String> {
        health(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn two_paths_or_off() {
        let paths = read("/-/live /-/ready php perl:alice").unwrap().unwrap();
        assert_eq!((paths.live.as_str(), paths.ready.as_str()), ("/-/live", "/-/ready"));
        assert_eq!(paths.pools, ["php", "perl:alice"]);
        assert_eq!(read("Off"), Ok(None));
        for wrong in ["", "/live", "/same /same", "live ready", "/a?b /c", "/%41 /b", "on"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
