//! A page whose links are changed as it comes, and the fields that it names.

use crate::{Dice, pieces};
use hostler_config::directives::proxy_html::Rules;
use hostler_config::{Config, DirConfig, read_text};
use hostler_html::{Page, meta};
use std::sync::{Arc, OnceLock};

/// Checks that hold for all.
const COMMON: &str = "ProxyHTMLLinks a href\nProxyHTMLLinks img src longdesc\nProxyHTMLEvents onclick\n";
/// Settings; the first one leaves everything as it is.
const SETTINGS: [&str; 5] = [
    "ProxyHTMLURLMap http://nowhere.invalid/ /",
    "ProxyHTMLURLMap http://b.example/ /b/",
    "ProxyHTMLURLMap http://b.example/ /b/\nProxyHTMLExtended On",
    "ProxyHTMLURLMap (b|c)\\.example d.example Rc\nProxyHTMLStripComments On\nProxyHTMLDoctype HTML5",
    "ProxyHTMLURLMap b c\nProxyHTMLExtended On\nProxyHTMLFixups lowercase dospath",
];
const KINDS: [&str; 4] =
    ["text/html", "text/html; charset=utf-8", "text/html;charset=shift_jis", "text/html; charset=x"];

fn directories() -> &'static [Arc<DirConfig>] {
    static ALL: OnceLock<Vec<Arc<DirConfig>>> = OnceLock::new();
    ALL.get_or_init(|| {
        super::config::installed();
        SETTINGS.iter().map(|lines| directory(lines)).collect()
    })
}

fn directory(lines: &str) -> Arc<DirConfig> {
    let text = format!("<Location /x>\n{COMMON}{lines}\n</Location>");
    let built = read_text(&text, "/nonexistent").and_then(|tree| Config::build(&tree));
    built.unwrap_or_else(|errors| panic!("{errors:?}")).main().locations[0].conf.clone()
}

/// The input is the page.
pub fn target(data: &[u8]) {
    for (name, value) in meta::fields(data) {
        assert!(!name.is_empty() && !value.bytes().any(|byte| byte.is_ascii_control()), "{name:?}: {value:?}");
    }
    let mut dice = Dice::of(data);
    let (setting, kind) = (dice.below(SETTINGS.len()), KINDS[dice.below(KINDS.len())]);
    let whole = changed(setting, kind, [data].into_iter());
    if setting == 0 {
        assert_eq!(whole.as_deref(), Some(data), "what is no link of that server stays");
    }
    assert_eq!(changed(setting, kind, pieces(data, &mut dice)), whole, "in pieces as at once");
}

/// Changes a page; `None`: it can't be changed.
fn changed<'a>(setting: usize, kind: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let dir = directories()[setting].clone();
    let rules = Rules::of(&dir.proxy_html, &|_| None, &[]).ok()?;
    let (mut page, mut out) = (Page::new(dir, rules, Some(kind.as_bytes())), Vec::new());
    for piece in pieces {
        out.extend(page.push(piece, false).ok()?);
    }
    out.extend(page.push(b"", true).ok()?);
    Some(out)
}
