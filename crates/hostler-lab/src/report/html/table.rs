//! Tables on the page.

use crate::report::escape::escape;
use crate::report::table::{Column, Table, Tone};
use std::fmt::Write;

/// A table that scrolls in itself where the window is too narrow.
pub(super) fn table(table: &Table, out: &mut String) {
    if !table.title.is_empty() {
        let _ = writeln!(out, "<h3>{}</h3>", escape(&table.title));
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>\n");
    heads(table, out);
    out.push_str("</thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (index, (entry, column)) in row.iter().zip(&table.columns).enumerate() {
            let text = escape(&entry.text);
            if index == 0 {
                let _ = write!(out, "<th scope=\"row\">{text}</th>");
            } else {
                let _ = write!(out, "<td{}>{text}</td>", classes(column, entry.tone));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    for note in &table.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
    }
}

/// One row of titles, or two where columns stand in groups.
fn heads(table: &Table, out: &mut String) {
    if table.columns.iter().any(|column| !column.group.is_empty()) {
        out.push_str("<tr>");
        for (first, count) in table.groups() {
            let group = &table.columns[first].group;
            if group.is_empty() {
                out.push_str("<td></td>");
            } else {
                let _ = write!(
                    out,
                    "<th class=\"group\" scope=\"colgroup\" colspan=\"{count}\">{}</th>",
                    escape(group)
                );
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("<tr>");
    for column in &table.columns {
        let class = if column.words { " class=\"words\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(&column.title));
    }
    out.push_str("</tr>\n");
}

fn classes(column: &Column, tone: Tone) -> String {
    let tone = match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Faint => "faint",
    };
    let words = if column.words { "words" } else { "" };
    let both = format!("{tone} {words}");
    match both.trim() {
        "" => String::new(),
        classes => format!(" class=\"{classes}\""),
    }
}
