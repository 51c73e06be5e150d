//! A report as one page for the browser: style, plots and figures are in it, it asks for nothing else.
//!
//! It has no scripts: tables behind plots are `<details>`, what a point says is its `<title>`, light and dark are the
//! style's. Every text goes through [`escape`].

mod figure;
mod table;

use super::document::{Document, Section};
use super::escape::escape;
use super::{csv, setting};
use crate::run::Run;
use std::fmt::Write;

/// The style.
pub(super) const STYLE: &str = include_str!("html/page.css");

/// A picture of the page for the browser's tab, so that it asks nobody for one.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath \
                    fill='%230072b2' d='M1 9h4v6H1zM6 1h4v14H6zM11 5h4v10h-4z'/%3E%3C/svg%3E";

/// The whole page.
pub(super) fn page(run: &Run) -> String {
    let document = Document::new(run);
    let mut out = String::with_capacity(256 * 1024);
    let title = escape(&run.scenario.title);
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · Hostler lab</title>\n<link rel=\"icon\" href=\"{ICON}\">\n<style>\n{STYLE}</style>\n</head>\n\
         <body>"
    );
    head(run, &document, &mut out);
    contents(run, &document, &mut out);
    out.push_str("<main>\n");
    for section in &document.sections {
        self::section(run, section, &mut out);
        if section.name == "compared" {
            advice(run, &mut out);
        }
    }
    if !document.sections.iter().any(|section| section.name == "compared") {
        advice(run, &mut out);
    }
    notes(run, &mut out);
    out.push_str(
        "</main>\n<footer>Made by <code>hostler lab</code> from <a href=\"run.json\">run.json</a>; ",
    );
    out.push_str("nothing here is loaded from elsewhere.</footer>\n</body>\n</html>\n");
    out
}

fn head(run: &Run, document: &Document, out: &mut String) {
    let scenario = &run.scenario;
    let _ = writeln!(
        out,
        "<header>\n<p class=\"kicker\">Hostler lab <span>{}</span></p>\n<h1>{}</h1>",
        escape(&scenario.name),
        escape(&scenario.title)
    );
    let _ = writeln!(out, "<p class=\"answer\">{}</p>", escape(&document.answer));
    if let Some(why) = &document.incomplete {
        let _ = writeln!(out, "<p class=\"warning\"><strong>Incomplete:</strong> {}</p>", escape(why));
    }
    for warning in &document.warnings {
        let _ = writeln!(out, "<p class=\"warning\"><strong>Warning:</strong> {}.</p>", escape(warning));
    }
    if !scenario.question.trim().is_empty() {
        let _ = writeln!(out, "<p class=\"question\">{}</p>", escape(scenario.question.trim()));
    }
    if !scenario.source.is_empty() {
        let _ = writeln!(out, "<p class=\"source\">Published: {}</p>", escape(&scenario.source));
    }
    let machine = &run.machine;
    let mut chips = vec![run.started.clone(), machine.name.clone()];
    if machine.processors > 0 {
        chips.push(format!("{} × {}", machine.processors, machine.model));
    }
    chips.extend(run.quick.then(|| "quick".into()));
    chips.extend(run.saturation.then(|| "saturation".into()));
    chips.extend(run.cpu.map(|cpu| format!("servers capped to {cpu} CPU")));
    chips.extend(run.database.clone());
    out.push_str("<ul class=\"chips\">");
    for chip in chips.iter().filter(|chip| !chip.is_empty()) {
        let _ = write!(out, "<li>{}</li>", escape(chip));
    }
    out.push_str("</ul>\n</header>\n");
}

fn contents(run: &Run, document: &Document, out: &mut String) {
    out.push_str("<nav aria-label=\"Contents\">");
    for section in &document.sections {
        let _ = write!(out, "<a href=\"#{}\">{}</a>", section.name, section.title);
        if section.name == "compared" && !run.advice.is_empty() {
            out.push_str("<a href=\"#advice\">Advice</a>");
        }
    }
    if !run.notes.is_empty() {
        out.push_str("<a href=\"#notes\">Notes</a>");
    }
    out.push_str("</nav>\n");
}

fn section(run: &Run, section: &Section, out: &mut String) {
    let _ = writeln!(out, "<section id=\"{}\">\n<h2>{}</h2>", section.name, section.title);
    figure::figures(&section.plots, out);
    for table in &section.tables {
        table::table(table, out);
    }
    if section.name == "setting" {
        facts(run, out);
    }
    out.push_str("</section>\n");
}

fn facts(run: &Run, out: &mut String) {
    out.push_str("<dl>");
    for (name, value) in setting::facts(run) {
        let value = escape(&value);
        let value = if name == "repeat it" { format!("<code>{value}</code>") } else { value };
        let _ = write!(out, "<dt>{name}</dt><dd>{value}</dd>");
    }
    let _ = write!(out, "<dt>samples</dt><dd>{}</dd>", links(&files(run)));
    for (name, ending) in [("configurations", ".conf"), ("logs", ".txt")] {
        let kept = evidence(run, ending);
        if !kept.is_empty() {
            let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", links(&kept));
        }
    }
    out.push_str("</dl>\n");
}

/// The run's own files: names and addresses in its folder.
fn files(run: &Run) -> Vec<(String, String)> {
    let tables = csv::tables(run).into_iter().map(|(name, _)| name);
    std::iter::once("run.json".to_owned()).chain(tables).map(|name| (name.clone(), name)).collect()
}

/// Lists the configurations or logs of the servers that took part, as files in the run's folder.
fn evidence(run: &Run, ending: &str) -> Vec<(String, String)> {
    let title = |path: &str| {
        let mut parts = path.rsplit('/');
        let (file, folder) = (parts.next()?, parts.next()?);
        let server = run.servers.iter().find(|server| server.name == folder)?;
        // What is not the usual file of its kind is called by its name.
        let other = (file != "server.conf" && file != "error-log.txt").then(|| format!(", {file}"));
        Some(format!("{}{}", server.title, other.unwrap_or_default()))
    };
    let files = run.evidence.iter().filter(|path| path.ends_with(ending));
    files.map(|path| (title(path).unwrap_or_else(|| path.clone()), path.clone())).collect()
}

fn links(files: &[(String, String)]) -> String {
    let link =
        |(name, address): &(String, String)| format!("<a href=\"{}\">{}</a>", escape(address), escape(name));
    files.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn advice(run: &Run, out: &mut String) {
    if run.advice.is_empty() {
        return;
    }
    out.push_str("<section id=\"advice\">\n<h2>Advice</h2>\n<ul class=\"advice\">\n");
    for advice in &run.advice {
        let _ = write!(out, "<li><strong>{}</strong>", escape(&advice.says));
        for evidence in &advice.evidence {
            let _ = write!(out, "<span>{}</span>", escape(evidence));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n</section>\n");
}

fn notes(run: &Run, out: &mut String) {
    if run.notes.is_empty() {
        return;
    }
    out.push_str("<section id=\"notes\">\n<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for note in &run.notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    out.push_str("</ul>\n</section>\n");
}
