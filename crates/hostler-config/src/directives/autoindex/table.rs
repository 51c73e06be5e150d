//! A listing as a table (IndexOptions HTMLTable). With IndexStyleSheet everything gets a class, without it the
//! old attributes.

use super::listing::{Row, special};
use super::render::{Page, alt};
use super::{IndexOption, Key, Width};
use hostler_ssi::abbreviated_size;

/// Writes the table.
pub(super) fn write(page: &mut Page<'_>, rows: &[Row<'_>]) {
    let styled = page.dir.style_sheet.is_some();
    let columns = head(page, styled);
    let rule = rule(page, styled, columns);
    page.put(&rule);
    for (index, row) in rows.iter().enumerate() {
        self::row(page, row, index, styled);
    }
    page.put(&rule);
    page.put("</table>\n");
}

/// The headings; returns how many there are.
fn head(page: &mut Page<'_>, styled: bool) -> usize {
    page.put(if styled {
        "  <table id=\"indexlist\">\n   <tr class=\"indexhead\">"
    } else {
        "  <table>\n   <tr>"
    });
    let mut columns = 1;
    if !page.has(IndexOption::SuppressIcon) {
        columns += 1;
        page.put(if styled { "<th class=\"indexcolicon\">" } else { "<th valign=\"top\">" });
        match special(&page.dir.icons, b"^^BLANKICON^^") {
            Some(icon) => page.icon(icon, "[ICO]"),
            None => page.put("&nbsp;"),
        }
        page.put("</th>");
    }
    let headings = [
        ("Name", Key::Name, "indexcolname", None),
        ("Last modified", Key::LastModified, "indexcollastmod", Some(IndexOption::SuppressLastModified)),
        ("Size", Key::Size, "indexcolsize", Some(IndexOption::SuppressSize)),
        ("Description", Key::Description, "indexcoldesc", Some(IndexOption::SuppressDescription)),
    ];
    for (text, key, class, suppressed) in headings {
        if suppressed.is_some_and(|option| page.has(option)) {
            continue;
        }
        columns += usize::from(key != Key::Name);
        page.put(&if styled { format!("<th class=\"{class}\">") } else { "<th>".into() });
        page.column_head(text, key);
        page.put("</th>");
    }
    page.put("</tr>\n");
    columns
}

fn rule(page: &Page<'_>, styled: bool, columns: usize) -> String {
    if page.has(IndexOption::SuppressRules) {
        return String::new();
    }
    let class = if styled { " class=\"indexbreakrow\"" } else { "" };
    format!("   <tr{class}><th colspan=\"{columns}\"><hr{}</th></tr>\n", page.void())
}

fn row(page: &mut Page<'_>, row: &Row<'_>, index: usize, styled: bool) {
    open_row(page, row, index, styled);
    if !page.has(IndexOption::SuppressIcon) {
        icon_cell(page, row, styled);
    }
    page.put(if styled { "<td class=\"indexcolname\">" } else { "<td>" });
    let padded = page.dir.options.name_width != Some(Width::Longest);
    page.named_link(row, padded);
    if !page.has(IndexOption::SuppressLastModified) {
        match row.modified {
            Some(modified) => {
                page.put(if styled {
                    "</td><td class=\"indexcollastmod\">"
                } else {
                    "</td><td align=\"right\">"
                });
                page.time(modified);
            }
            None => {
                page.put(if styled {
                    "</td><td class=\"indexcollastmod\">&nbsp;"
                } else {
                    "</td><td>&nbsp;"
                });
            }
        }
    }
    if !page.has(IndexOption::SuppressSize) {
        page.put(if styled { "</td><td class=\"indexcolsize\">" } else { "</td><td align=\"right\">" });
        abbreviated_size(row.size, &mut page.out);
    }
    if !page.has(IndexOption::SuppressDescription) {
        page.put(if styled { "</td><td class=\"indexcoldesc\">" } else { "</td><td>" });
        match &row.description {
            None => page.put("&nbsp;"),
            Some(text) if page.dir.options.description_width == Some(Width::Longest) => {
                page.out.extend_from_slice(text);
            }
            Some(text) => page.description(text),
        }
    }
    page.put("</td></tr>\n");
}

fn open_row(page: &mut Page<'_>, row: &Row<'_>, index: usize, styled: bool) {
    if !styled {
        return page.put("<tr>");
    }
    let parity = if index % 2 == 1 { "odd" } else { "even" };
    let kind = row.alt.filter(|_| page.has(IndexOption::AddAltClass));
    let kind = kind.map(|alt| format!("-{}", alt.to_ascii_lowercase())).unwrap_or_default();
    page.put(&format!("   <tr class=\"{parity}{kind}\">"));
}

fn icon_cell(page: &mut Page<'_>, row: &Row<'_>, styled: bool) {
    page.put(if styled { "<td class=\"indexcolicon\">" } else { "<td valign=\"top\">" });
    let linked = page.has(IndexOption::IconsAreLinks);
    if linked {
        page.open_link(row);
    }
    match row.icon.or(page.dir.default_icon.as_deref()) {
        Some(icon) => page.icon(icon, &alt(row)),
        None => page.put("&nbsp;"),
    }
    page.put(if linked { "</a></td>" } else { "</td>" });
}
