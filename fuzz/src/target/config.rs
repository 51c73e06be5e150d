//! A configuration file: read, built, looked up.

use hostler_config::{Config, Tree, lookup, read_text};
use std::net::{IpAddr, SocketAddr};

/// The input is the file.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if reaches_out(&text.to_ascii_lowercase()) {
        return;
    }
    installed();
    match read_text(&text, "/nonexistent") {
        Ok(tree) => build(&tree),
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| drop(error.to_string()));
        }
    }
}

/// The table of techniques, as the programs have it.
pub(super) fn installed() {
    assert_eq!(hostler_techniques::install(), Ok(()));
}

/// From the tree on: what the front does with it.
pub(super) fn build(tree: &Tree) {
    installed();
    let bytes = tree.encode().unwrap_or_default();
    assert_eq!(Tree::decode(&bytes).as_ref(), Ok(tree));
    let config = match Config::build(tree) {
        Ok(config) => config,
        Err(errors) => {
            assert!(!errors.is_empty());
            return errors.iter().for_each(|error| drop(error.to_string()));
        }
    };
    for server in &config.servers {
        let _ = lookup::directory_walk(server, b"/srv/www/anna", b"/srv/www/anna/x.html");
        let _ = lookup::files(&server.defaults, b"x.html.en");
        let _ = lookup::locations(server, b"//a/../b//x.html");
    }
}

/// Returns whether reading would open files of this machine or ask a name server.
fn reaches_out(text: &str) -> bool {
    if ["include", "ifdirective"].iter().any(|word| text.contains(word)) {
        return true;
    }
    let address = |word: &str| {
        let word = word.trim_matches(['>', '"', '\'']);
        let any = word.strip_prefix("*:").or_else(|| word.strip_prefix('*')).unwrap_or("name");
        any.bytes().all(|byte| byte.is_ascii_digit())
            || word.parse::<IpAddr>().is_ok()
            || word.parse::<SocketAddr>().is_ok()
    };
    let names = ["virtualhost", "listen", "macro", "\\\n", "\\\r\n"];
    let named = |line: &str| names.iter().any(|name| line.contains(name));
    let lines = text.lines().filter(|line| named(line) && !line.trim_start().starts_with("</"));
    let mut words = lines.flat_map(|line| line.split_whitespace().skip(1));
    text.contains("\\\n") && names[..3].iter().any(|name| text.contains(name)) || words.any(|word| !address(word))
}
