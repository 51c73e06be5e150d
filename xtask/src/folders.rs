//! The order of folders inside a crate (`[folders]` of `layers.toml`): a file uses those of its own line, and of the
//! lines before it.
//!
//! A file's uses are its `use` lines, and all paths that begin at the crate, at a parent or at an imported module. A
//! path through a re-export counts as one to where the item is. Tests may use what they like, and so may the crate's
//! root, which declares everything.

use crate::source;
use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// The way to a module or an item from the crate's root: `["directives", "alias"]`.
type Way = Vec<String>;

/// Lists a crate's violations; `src` is its folder of sources, `lines` are those of `layers.toml`, from the lowest.
/// `upwards`: the known upward uses, as `file uses module`; one that no longer exists is a violation, too.
pub(crate) fn wrong(
    name: &str,
    src: &Path,
    lines: &[String],
    upwards: &BTreeSet<String>,
) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for source in source::below(src)? {
        let file = syn::parse_file(&source.text).with_context(|| source.path.display().to_string())?;
        let place = source.path.strip_prefix(src)?.with_extension("");
        let way = place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        files.push((source.path.display().to_string(), module_of(way), file));
    }
    let files = files.iter().map(|(path, way, file)| Module::read(path, way, file)).collect();
    Ok(but_known(Crate { files, order: Order::new(lines) }.wrong(name), src, upwards))
}

/// Returns the violations that are not known, and the known ones that no longer exist.
fn but_known(found: Vec<String>, src: &Path, upwards: &BTreeSet<String>) -> Vec<String> {
    let src = format!("{}/", src.display());
    let short = |line: &String| {
        let line = line.strip_prefix(&src)?.strip_suffix(ABOVE)?;
        Some(line.to_owned())
    };
    let gone = upwards.iter().filter(|known| !found.iter().any(|line| short(line).as_ref() == Some(*known)));
    let gone: Vec<String> =
        gone.map(|known| format!("layers.toml: `{known}` is no longer so: take it out")).collect();
    let new = found.into_iter().filter(|line| short(line).is_none_or(|line| !upwards.contains(&line)));
    new.chain(gone).collect()
}

const ABOVE: &str = ", which is above it";

/// `a/mod.rs` is the module `a`; `lib.rs` and `main.rs` are the root.
fn module_of(mut way: Way) -> Way {
    match way.last().map(String::as_str) {
        Some("mod") => drop(way.pop()),
        Some("lib" | "main") if way.len() == 1 => way.clear(),
        _ => {}
    }
    way
}

/// The lines of `layers.toml`.
struct Order(BTreeMap<Way, usize>);

impl Order {
    fn new(lines: &[String]) -> Self {
        let names = lines.iter().enumerate().flat_map(|(line, names)| {
            names.split_whitespace().map(move |name| (name.split('/').map(str::to_owned).collect(), line))
        });
        Self(names.collect())
    }

    /// The line of the innermost folder that has one.
    fn line(&self, module: &[String]) -> Option<usize> {
        (1..=module.len()).rev().find_map(|length| self.0.get(&module[..length]).copied())
    }
}

/// One file.
struct Module<'a> {
    path: &'a str,
    way: &'a [String],
    /// The paths it uses, as written.
    uses: Vec<Way>,
    /// The names it re-exports, and their targets.
    names: BTreeMap<String, Way>,
    /// Modules inside of the file.
    inner: Vec<Way>,
    /// Modules of tests that have files of their own.
    tests: Vec<Way>,
}

impl<'a> Module<'a> {
    fn read(path: &'a str, way: &'a [String], file: &File) -> Self {
        let mut reader = Reader { way: way.to_vec(), ..Reader::default() };
        // What a file declares or imports can be the beginning of other paths, wherever it stands.
        reader.note_names(&file.items);
        reader.visit_file(file);
        let Reader { uses, public: names, inner, tests, .. } = reader;
        Self { path, way, uses, names, inner, tests }
    }
}

struct Crate<'a> {
    files: Vec<Module<'a>>,
    order: Order,
}

impl Crate<'_> {
    fn wrong(&self, name: &str) -> Vec<String> {
        let mut wrong = BTreeSet::new();
        let tests: Vec<&Way> = self.files.iter().flat_map(|file| &file.tests).collect();
        let counts = |way: &[String]| !way.is_empty() && !tests.iter().any(|test| way.starts_with(test));
        for file in self.files.iter().filter(|file| counts(file.way)) {
            let Some(own) = self.order.line(file.way) else {
                wrong.insert(format!("{name}: {} is on no line of [folders]", file.path));
                continue;
            };
            for target in file.uses.iter().filter_map(|used| self.module(used, 0)) {
                if self.order.line(target).is_some_and(|line| line > own) {
                    wrong.insert(format!("{} uses {}{ABOVE}", file.path, target.join("/")));
                }
            }
        }
        wrong.into_iter().collect()
    }

    /// The module that an item is in, through re-exports. `None`: the crate's root.
    fn module<'a>(&'a self, way: &[String], depth: u32) -> Option<&'a [String]> {
        for length in (0..=way.len()).rev() {
            let (module, rest) = way.split_at(length);
            let Some(file) = self.files.iter().find(|file| file.holds(module)) else { continue };
            let named = rest.split_first().and_then(|(first, rest)| Some((file.names.get(first)?, rest)));
            // More re-exports of re-exports than this are a circle.
            return match named {
                Some((way, rest)) if depth < 8 => self.module(&[&way[..], rest].concat(), depth + 1),
                _ => Some(file.way).filter(|way| !way.is_empty()),
            };
        }
        None
    }
}

impl Module<'_> {
    fn holds(&self, module: &[String]) -> bool {
        self.way == module || self.inner.iter().any(|inner| inner == module)
    }
}

/// Collects what a file uses.
#[derive(Default)]
struct Reader {
    /// The module that is being read.
    way: Way,
    uses: Vec<Way>,
    public: BTreeMap<String, Way>,
    inner: Vec<Way>,
    tests: Vec<Way>,
    /// Names in the file that stand for something else of the crate.
    known: BTreeMap<String, Way>,
}

impl Reader {
    fn note_names(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(module) if module.content.is_none() => {
                    let way = [&self.way[..], &[module.ident.to_string()]].concat();
                    if is_test(&module.attrs) {
                        self.tests.push(way.clone());
                    }
                    self.known.insert(module.ident.to_string(), way);
                }
                Item::Use(import) if !is_test(&import.attrs) => self.note_use(import),
                _ => {}
            }
        }
    }

    fn note_use(&mut self, import: &ItemUse) {
        for (name, way) in leaves(&import.tree) {
            let Some(way) = self.absolute(&way) else { continue };
            if !matches!(import.vis, Visibility::Inherited) {
                self.public.insert(name.clone(), way.clone());
            }
            self.known.insert(name, way);
        }
    }

    /// From the crate's root; `None`: it is of another crate, or of the file itself.
    fn absolute(&self, way: &[String]) -> Option<Way> {
        let (first, mut rest) = way.split_first()?;
        let mut from = self.way.clone();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => {}
            "super" => {
                from.pop();
                while let Some((_, more)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    from.pop();
                    rest = more;
                }
            }
            name => from.clone_from(self.known.get(name)?),
        }
        Some([&from[..], rest].concat())
    }

    fn note(&mut self, way: &[String]) {
        self.uses.extend(self.absolute(way));
    }

    /// Paths among the tokens of a macro.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut way: Way = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 || way.is_empty() => {
                    way.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !way.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    self.note_path(&std::mem::replace(&mut way, vec![ident.to_string()]));
                    colons = 0;
                    continue;
                }
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                _ => {}
            }
            self.note_path(&std::mem::take(&mut way));
            colons = 0;
        }
        self.note_path(&way);
    }

    /// A word alone is a variable or a function of the file's.
    fn note_path(&mut self, way: &[String]) {
        if way.len() > 1 {
            self.note(way);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let Some((_, items)) = &module.content else { return };
        self.way.push(module.ident.to_string());
        self.inner.push(self.way.clone());
        let outer = self.known.clone();
        self.note_names(items);
        visit::visit_item_mod(self, module);
        self.known = outer;
        self.way.pop();
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        for (_, way) in leaves(&import.tree) {
            self.note(&way);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let way: Way = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.note_path(&way);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.note_tokens(call.tokens.clone());
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let of_tests = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    attributes.iter().any(of_tests)
}

/// The names that a `use` makes, and what they stand for. A star makes none, and stands for its module.
fn leaves(tree: &UseTree) -> Vec<(String, Way)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let inner = leaves(&path.tree).into_iter();
            inner
                .map(|(name, mut way)| {
                    way.insert(0, first.clone());
                    let is_self = way.last().is_some_and(|last| last == "self");
                    if is_self && way.len() > 1 {
                        way.pop();
                    }
                    (if name == "self" { first.clone() } else { name }, way)
                })
                .collect()
        }
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(rename) => vec![(rename.rename.to_string(), vec![rename.ident.to_string()])],
        UseTree::Glob(_) => vec![("*".to_owned(), Vec::new())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(files: &[(&str, &str)], lines: &[&str]) -> Vec<String> {
        let parsed: Vec<_> = files
            .iter()
            .map(|(path, text)| {
                let way = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
                (*path, module_of(way), syn::parse_file(text).unwrap())
            })
            .collect();
        let files = parsed.iter().map(|(path, way, file)| Module::read(path, way, file)).collect();
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Crate { files, order: Order::new(&lines) }.wrong("one")
    }

    #[test]
    fn a_file_uses_its_own_line_and_those_before() {
        let low = ("low.rs", "pub struct A; use crate::beside::B;");
        let files =
            [("lib.rs", "mod low; mod beside; mod high; use high::C;"), low, ("beside.rs", "pub struct B;")];
        let high = ("high.rs", "use crate::low::A; pub struct C;");
        assert_eq!(wrong(&[&files[..], &[high]].concat(), &["low beside", "high"]), [""; 0]);
        assert_eq!(
            wrong(&[&files[..], &[high]].concat(), &["low", "beside high"]),
            ["low.rs uses beside, which is above it"]
        );
        let with_tests =
            [("low.rs", "#[cfg(test)] mod tests;"), ("low/tests.rs", "use crate::high::C;"), high];
        assert_eq!(wrong(&with_tests, &["low", "high"]), [""; 0]);
        assert_eq!(wrong(&[("new.rs", "")], &["low"]), ["one: new.rs is on no line of [folders]"]);
    }

    #[test]
    fn what_is_known_to_point_upwards_is_let_pass_as_long_as_it_does() {
        let found = || vec!["a/src/low.rs uses high, which is above it".to_owned()];
        let known = |text: &str| BTreeSet::from([text.to_owned()]);
        assert_eq!(but_known(found(), Path::new("a/src"), &known("low.rs uses high")), [""; 0]);
        assert_eq!(but_known(found(), Path::new("a/src"), &BTreeSet::new()), found());
        let gone = but_known(Vec::new(), Path::new("a/src"), &known("low.rs uses high"));
        assert!(gone[0].contains("no longer so"), "{gone:?}");
    }

    #[test]
    fn a_path_counts_wherever_it_stands() {
        let root = ("lib.rs", "mod low; pub mod high; pub use high::inner::C;");
        let high = [
            ("high.rs", "pub mod inner; pub fn f() {}"),
            ("high/inner.rs", "pub struct C; pub const K: u8 = 0;"),
        ];
        for text in [
            "use crate::C;",
            "use crate::{high::inner::C as D};",
            "use crate::high; fn g() { high::f() }",
            "fn g() -> crate::C { todo() }",
            "use super::high::f;",
            "mod deep { use super::super::high::f; }",
            "use crate as all; fn g() { all::high::f(); }",
            "fn g() { println!(\"{}\", crate::high::inner::K); }",
            "use crate::high::*;",
        ] {
            let files = [&[root, ("low.rs", text)], &high[..]].concat();
            let said = wrong(&files, &["low", "high"]);
            assert!(
                !said.is_empty() && said.iter().all(|line| line.starts_with("low.rs uses high")),
                "{text}: {said:?}"
            );
        }
        for text in [
            "#[cfg(test)] mod tests { use crate::high::f; }",
            "use std::fs; use self::own; fn own() {}",
            "use other::high::f;",
        ] {
            let files = [&[root, ("low.rs", text)], &high[..]].concat();
            assert_eq!(wrong(&files, &["low", "high"]), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_folder_of_its_own_line_may_lie_in_another() {
        let files = [
            ("lib.rs", "mod module;"),
            ("module.rs", "mod core; mod dir;"),
            ("module/core.rs", "use super::dir::list;"),
            ("module/core/walk.rs", "use crate::module::core;"),
            ("module/dir.rs", "use super::core;"),
        ];
        assert_eq!(
            wrong(&files, &["module/core", "module/dir", "module"]),
            ["module/core.rs uses module/dir, which is above it"]
        );
    }
}
