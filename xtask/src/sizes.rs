//! `cargo xtask sizes`: long files and long functions, the tail that makes code hard to carry on.
//!
//! A report past the custom (400 lines a file, 60 a function), an error past the hard limits. Tests count
//! for neither.

use crate::source::{self, Source};
use anyhow::{Context, Result, bail};
use std::path::Path;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_CUSTOM: usize = 400;
const FILE_LIMIT: usize = 700;
const FUNCTION_CUSTOM: usize = 60;
const FUNCTION_LIMIT: usize = 100;

/// A file or a function with its length in lines.
struct Length {
    what: String,
    lines: usize,
}

pub(crate) fn run(all: bool) -> Result<()> {
    let mut files = Vec::new();
    let mut functions = Vec::new();
    for folder in ["crates", "engines", "bench", "conformance", "tests", "fuzz", "xtask"] {
        for source in source::below(Path::new(folder))? {
            files.push(Length { what: source.path.display().to_string(), lines: source.code_lines() });
            functions.extend(functions_of(&source)?);
        }
    }
    report("files", files, FILE_CUSTOM, FILE_LIMIT, all)?;
    report("functions", functions, FUNCTION_CUSTOM, FUNCTION_LIMIT, all)
}

fn report(kind: &str, mut found: Vec<Length>, custom: usize, limit: usize, all: bool) -> Result<()> {
    found.sort_by_key(|sized| std::cmp::Reverse(sized.lines));
    let median = found.get(found.len() / 2).map_or(0, |sized| sized.lines);
    let long = found.iter().filter(|sized| sized.lines > custom).count();
    eprintln!("sizes: {} {kind}, median {median} lines, {long} over {custom}", found.len());
    for sized in found.iter().filter(|sized| all || sized.lines > custom) {
        eprintln!("  {:5}  {}", sized.lines, sized.what);
    }
    let over = found.iter().filter(|sized| sized.lines > limit).count();
    if over > 0 {
        bail!("{over} {kind} over the limit of {limit} lines: split by subject");
    }
    Ok(())
}

fn functions_of(source: &Source) -> Result<Vec<Length>> {
    let file = syn::parse_file(&source.text).with_context(|| source.path.display().to_string())?;
    let mut measure = Measure { source, tests_start: source.code_lines(), found: Vec::new() };
    measure.visit_file(&file);
    Ok(measure.found)
}

/// Collects the functions of a file with their length from signature to closing brace.
struct Measure<'a> {
    source: &'a Source,
    tests_start: usize,
    found: Vec<Length>,
}

impl Measure<'_> {
    fn add(&mut self, name: &syn::Ident, block: &syn::Block) {
        let first = name.span().start().line;
        if first <= self.tests_start {
            let lines = block.span().end().line - first + 1;
            self.found.push(Length { what: format!("{}:{first} {name}", self.source.path.display()), lines });
        }
    }
}

impl<'ast> Visit<'ast> for Measure<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_and_tests_are_not() {
        let text = "fn short() {}\nimpl S {\n    fn long(\n        a: u8,\n    ) {\n        a;\n    }\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn test() {}\n}\n";
        let source = Source { path: "x.rs".into(), text: text.into() };
        let found: Vec<_> =
            functions_of(&source).unwrap().iter().map(|f| (f.what.clone(), f.lines)).collect();
        assert_eq!(found, [("x.rs:1 short".into(), 1), ("x.rs:3 long".into(), 5)]);
        assert_eq!(source.code_lines(), 8);
    }

    #[test]
    fn the_limit_is_an_error_and_the_custom_is_not() {
        let of = |lines| vec![Length { what: "x".into(), lines }];
        assert!(report("files", of(FILE_CUSTOM + 1), FILE_CUSTOM, FILE_LIMIT, false).is_ok());
        assert!(report("files", of(FILE_LIMIT + 1), FILE_CUSTOM, FILE_LIMIT, false).is_err());
    }
}
