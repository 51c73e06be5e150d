//! True if nginx's own module (`ngx_http_ssi_module`) understands a page's server-side includes, and its configuration
//! for the page. What a page includes is looked at as far as it is a file beside it; whether the answers agree is seen
//! before anything is timed, as always.

use std::fs;
use std::path::Path;

/// Elements that both have, with the attributes that nginx knows.
const ELEMENTS: [(&str, &[&str]); 8] = [
    ("include", &["file", "virtual"]),
    ("echo", &["var", "encoding"]),
    ("set", &["var", "value"]),
    ("config", &["errmsg", "timefmt"]),
    ("if", &["expr"]),
    ("elif", &["expr"]),
    ("else", &[]),
    ("endif", &[]),
];

/// Variables that both have, besides those that the page sets itself.
const VARIABLES: [&str; 3] = ["DATE_LOCAL", "DATE_GMT", "QUERY_STRING"];

/// Files within files: more is a loop.
const DEEPEST: usize = 8;

/// The inside of nginx's `server { }` for a page.
///
/// # Errors
/// A construct that nginx does not understand, or the reason why it cannot be translated.
pub(super) fn configuration(file: &Path, path: &str) -> Result<String, String> {
    understands(file, 0)?;
    // Included pages are asked for by their paths, so those must lead to the same files.
    let root = file.to_string_lossy().strip_suffix(path).map(str::to_owned);
    let root =
        root.ok_or("its path and its file's end differently, so nginx would not find what it includes")?;
    let root = if root.is_empty() { "/" } else { &root };
    Ok(format!(
        "        root \"{root}\";\n        location = \"{path}\" {{ ssi on; ssi_types *; }}\n        location ~ \\.shtml$ {{ ssi on; }}"
    ))
}

fn understands(file: &Path, depth: usize) -> Result<(), String> {
    let text = fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let text = String::from_utf8_lossy(&text);
    let elements = elements(&text);
    let own: Vec<&str> =
        elements.iter().filter(|one| one.name == "set").filter_map(|one| one.value("var")).collect();
    for element in &elements {
        element.known(&own)?;
        let beside =
            element.value("file").or_else(|| element.value("virtual").filter(|path| !path.starts_with('/')));
        let beside = beside.and_then(|name| Some(file.parent()?.join(name)));
        if let Some(beside) = beside.filter(|beside| element.name == "include" && beside.is_file()) {
            if depth == DEEPEST {
                return Err("it includes itself".to_owned());
            }
            understands(&beside, depth + 1)?;
        }
    }
    Ok(())
}

/// `<!--#name key="value" ... -->`
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Element<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// Refuses what nginx does not know.
    fn known(&self, own: &[&str]) -> Result<(), String> {
        let Some((_, attributes)) = ELEMENTS.iter().find(|(name, _)| *name == self.name) else {
            return Err(format!("nginx has no <!--#{} -->", self.name));
        };
        if let Some((name, _)) = self.attributes.iter().find(|(name, _)| !attributes.contains(name)) {
            return Err(format!("nginx has no {name} in <!--#{} -->", self.name));
        }
        let var = self.value("var").filter(|_| self.name == "echo");
        if let Some(name) = var.filter(|name| !own.contains(name) && !VARIABLES.contains(name)) {
            return Err(format!("nginx has no variable {name}"));
        }
        // ap_expr's functions, parentheses and connectives; nginx compares one variable with one text.
        let strange =
            |expr: &&str| expr.contains(['(', '|', '&']) || expr.starts_with('!') || !expr.contains('$');
        match self.value("expr").filter(strange) {
            Some(expr) => Err(format!("nginx does not understand the expression {expr}")),
            None => Ok(()),
        }
    }
}

fn elements(text: &str) -> Vec<Element<'_>> {
    let parts = text.split("<!--#").skip(1);
    parts.filter_map(|part| element(part.split_once("-->")?.0)).collect()
}

fn element(text: &str) -> Option<Element<'_>> {
    let text = text.trim();
    let (name, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut attributes = Vec::new();
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        attributes.push((key.trim(), value));
        rest = after;
    }
    Some(Element { name, attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(page: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("part.html"), "<!--#flastmod file='x' -->").unwrap();
        fs::write(folder.path().join("loop.shtml"), "<!--#include file='loop.shtml' -->").unwrap();
        let file = folder.path().join("page.shtml");
        fs::write(&file, page).unwrap();
        configuration(&file, "/page.shtml")
    }

    #[test]
    fn what_both_know_is_served_by_nginx() {
        let page = "<!--#config timefmt=\"%Y\" --><!--#set var='n' value='1' --><!--#echo var=\"n\" -->\
                    <!--#echo var=\"DATE_LOCAL\" --><!--#include virtual=\"/other.html\" -->\
                    <!--#if expr=\"$n = 1\" -->a<!--#else -->b<!--#endif -->";
        assert!(of(page).unwrap().contains("location = \"/page.shtml\" { ssi on;"));
        let elsewhere = configuration(Path::new("/etc/hostname"), "/page");
        assert!(elsewhere.is_err_and(|why| why.contains("end differently")));
    }

    #[test]
    fn what_nginx_does_not_know_is_said() {
        for (page, why) in [
            ("<!--#exec cmd=\"ls\" -->", "nginx has no <!--#exec -->"),
            ("<!--#config sizefmt=\"abbrev\" -->", "nginx has no sizefmt in <!--#config -->"),
            ("<!--#echo var=\"LAST_MODIFIED\" -->", "nginx has no variable LAST_MODIFIED"),
            (
                "<!--#if expr=\"v('n') = '1'\" --><!--#endif -->",
                "nginx does not understand the expression v('n') = '1'",
            ),
            ("<!--#include file=\"part.html\" -->", "nginx has no <!--#flastmod -->"),
            ("<!--#include file=\"loop.shtml\" -->", "it includes itself"),
        ] {
            assert_eq!(of(page).unwrap_err(), why);
        }
    }
}
