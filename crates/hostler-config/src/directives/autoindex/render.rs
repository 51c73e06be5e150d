//! Writing a listing as a page, in Apache's three styles: a list of names, preformatted columns, and (in
//! [`super::table`]) a table. The bytes are Apache's, since pages of its users are taken apart by programs.

use super::listing::{Listing, Part, Row, rows, special};
use super::options::DEFAULT_WIDTH;
use super::sort::sort;
use super::{Dir, IndexOption, Key, View, Width, table};
use crate::directives::alias::escape_path;
use crate::directives::log_config::Zone;
use hostler_cgi::write_html;
use hostler_ssi::{abbreviated_size, time};

/// The values needed to write any part of a page.
pub(super) struct Page<'a> {
    pub(super) dir: &'a Dir,
    pub(super) view: &'a View,
    /// The local time zone at a moment.
    pub(super) zone: &'a dyn Fn(i64) -> Zone<'a>,
    /// Width of the name column.
    pub(super) name_width: usize,
    /// Width of the description column.
    pub(super) description_width: usize,
    pub(super) out: Vec<u8>,
}

/// Writes the page. `zone` tells the local time zone at a moment (seconds since 1970).
#[must_use]
pub fn render<'a>(
    dir: &'a Dir,
    view: &'a View,
    listing: &Listing<'_>,
    zone: &'a dyn Fn(i64) -> Zone<'a>,
) -> Vec<u8> {
    let mut rows = rows(dir, view, listing);
    sort(&mut rows, view);
    let out = Vec::with_capacity(1024 + rows.len() * 160);
    let mut page = Page { dir, view, zone, name_width: 0, description_width: 0, out };
    page.measure(&rows);
    page.head(listing);
    if page.has(IndexOption::HtmlTable) {
        table::write(&mut page, &rows);
    } else if page.has(IndexOption::FancyIndexing) {
        page.columns(&rows);
    } else {
        page.list(&rows);
    }
    page.tail(listing);
    page.out
}

impl Page<'_> {
    pub(super) fn has(&self, option: IndexOption) -> bool {
        self.view.options.has(option)
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Text as HTML.
    pub(super) fn html(&mut self, text: &[u8]) {
        write_html(text, |part| self.out.extend_from_slice(part));
    }

    pub(super) fn spaces(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(b' ', count));
    }

    /// Returns the end of an element without content.
    pub(super) fn void(&self) -> &'static str {
        if self.has(IndexOption::Xhtml) { " />" } else { ">" }
    }

    fn measure(&mut self, rows: &[Row<'_>]) {
        let columns = self.has(IndexOption::FancyIndexing) && !self.has(IndexOption::HtmlTable);
        let width = |width: Option<Width>, longest: Option<usize>| match width {
            Some(Width::Fixed(width)) => width,
            Some(Width::Longest) if columns => longest.unwrap_or(0).max(DEFAULT_WIDTH),
            _ => DEFAULT_WIDTH,
        };
        let options = &self.dir.options;
        let names = rows.iter().map(|row| row.name.len()).max();
        self.name_width = width(options.name_width, names);
        let descriptions = rows.iter().filter_map(|row| Some(row.description.as_ref()?.len())).max();
        self.description_width = width(options.description_width, descriptions);
    }

    fn head(&mut self, listing: &Listing<'_>) {
        let title = listing
            .uri
            .iter()
            .rposition(|byte| *byte != b'/')
            .map_or(&listing.uri[..1.min(listing.uri.len())], |end| &listing.uri[..=end]);
        let suppressed = self.has(IndexOption::SuppressHtmlPreamble);
        match listing.header {
            Part::Html(html) => {
                if !suppressed {
                    self.preamble(title);
                }
                self.out.extend_from_slice(html);
                return;
            }
            Part::Text(text) => {
                self.preamble(title);
                self.plain(text);
                return;
            }
            Part::None => self.preamble(title),
        }
        self.put(if self.dir.style_sheet.is_some() { "  <h1 id=\"indextitle\">" } else { "<h1>" });
        self.put("Index of ");
        self.html(title);
        self.put("</h1>\n");
    }

    fn preamble(&mut self, title: &[u8]) {
        self.put(if self.has(IndexOption::Xhtml) {
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n\
             \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n\
             <html xmlns=\"http://www.w3.org/1999/xhtml\">\n"
        } else {
            "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n<html>\n"
        });
        self.put(" <head>\n  <title>Index of ");
        self.html(title);
        self.put("</title>\n");
        if let Some(style_sheet) = self.dir.style_sheet.as_deref() {
            let void = self.void();
            self.put(&format!("  <link rel=\"stylesheet\" href=\"{style_sheet}\" type=\"text/css\"{void}\n"));
        }
        self.put(self.dir.head_insert.as_deref().unwrap_or_default());
        self.put(" </head>\n <body>\n");
    }

    /// A text file between others' HTML.
    fn plain(&mut self, text: &[u8]) {
        self.put("<pre>\n");
        let mut start = 0;
        for at in memchr::memchr3_iter(b'<', b'>', b'&', text) {
            self.out.extend_from_slice(&text[start..at]);
            self.put(match text[at] {
                b'<' => "&lt;",
                b'>' => "&gt;",
                _ => "&amp;",
            });
            start = at + 1;
        }
        self.out.extend_from_slice(&text[start..]);
        self.put("</pre>\n");
    }

    fn tail(&mut self, listing: &Listing<'_>) {
        match listing.readme {
            Part::Html(html) => self.out.extend_from_slice(html),
            Part::Text(text) => self.plain(text),
            Part::None => self.out.extend_from_slice(listing.signature),
        }
        let brought = matches!(listing.readme, Part::Html(_)) && self.has(IndexOption::SuppressHtmlPreamble);
        if !brought {
            self.put("</body></html>\n");
        }
    }

    fn list(&mut self, rows: &[Row<'_>]) {
        self.put("<ul>");
        for row in rows {
            self.put("<li><a href=\"");
            self.href(row);
            self.put("\"> ");
            self.html(row.label());
            self.put("</a></li>\n");
        }
        self.put("</ul>\n");
    }

    fn columns(&mut self, rows: &[Row<'_>]) {
        self.put("<pre>");
        if !self.has(IndexOption::SuppressIcon) {
            match special(&self.dir.icons, b"^^BLANKICON^^") {
                Some(icon) => {
                    self.icon(icon, "Icon ");
                    self.put(" ");
                }
                None => self.put("      "),
            }
        }
        self.column_head("Name", Key::Name);
        self.spaces(self.name_width.saturating_sub(4) + 1);
        if !self.has(IndexOption::SuppressLastModified) {
            self.column_head("Last modified", Key::LastModified);
            self.put("      ");
        }
        if !self.has(IndexOption::SuppressSize) {
            self.column_head("Size", Key::Size);
            self.put("  ");
        }
        if !self.has(IndexOption::SuppressDescription) {
            self.column_head("Description", Key::Description);
        }
        self.rule_or_line();
        for row in rows {
            self.line(row);
        }
        if !self.has(IndexOption::SuppressRules) {
            let void = self.void();
            self.put(&format!("<hr{void}"));
        }
        self.put("</pre>\n");
    }

    fn rule_or_line(&mut self) {
        if self.has(IndexOption::SuppressRules) {
            self.put("\n");
        } else {
            let void = self.void();
            self.put(&format!("<hr{void}"));
        }
    }

    fn line(&mut self, row: &Row<'_>) {
        if !self.has(IndexOption::SuppressIcon) {
            let linked = self.has(IndexOption::IconsAreLinks);
            if linked {
                self.open_link(row);
            }
            match row.icon.or(self.dir.default_icon.as_deref()) {
                Some(icon) => self.icon(icon, &alt(row)),
                None => self.put("     "),
            }
            self.put(if linked { "</a> " } else { " " });
        }
        self.named_link(row, true);
        self.put(" ");
        if !self.has(IndexOption::SuppressLastModified) {
            match row.modified {
                Some(modified) => self.time(modified),
                // As wide as the old format of dates, which was longer: so it is in Apache.
                None => self.spaces(19),
            }
        }
        if !self.has(IndexOption::SuppressSize) {
            abbreviated_size(row.size, &mut self.out);
            self.put("  ");
        }
        if !self.has(IndexOption::SuppressDescription)
            && let Some(description) = &row.description
        {
            self.description(description);
        }
        self.put("\n");
    }

    fn href(&mut self, row: &Row<'_>) {
        self.html(&escape_path(&row.name));
    }

    pub(super) fn open_link(&mut self, row: &Row<'_>) {
        self.put("<a href=\"");
        self.href(row);
        self.put("\">");
    }

    /// The name as a link, cut to the column's width and filled up to it.
    pub(super) fn named_link(&mut self, row: &Row<'_>, padded: bool) {
        self.open_link(row);
        let label = row.label();
        let width = self.name_width;
        if padded && label.len() > width {
            let cut = [&label[..width.saturating_sub(3).min(label.len())], b"..>"].concat();
            self.html(&cut);
            self.put("</a>");
        } else {
            self.html(label);
            self.put("</a>");
            self.spaces(if padded { width - label.len() } else { 0 });
        }
    }

    pub(super) fn icon(&mut self, url: &str, alt: &str) {
        self.put("<img src=\"");
        self.html(url.as_bytes());
        self.put("\" alt=\"");
        self.put(alt);
        self.put("\"");
        let options = &self.dir.options;
        for (name, pixels) in [("width", options.icon_width), ("height", options.icon_height)] {
            if pixels > 0 {
                self.put(&format!(" {name}=\"{pixels}\""));
            }
        }
        let void = self.void();
        self.put(void);
    }

    /// A column's heading; a link that sorts by it, the other way round if it is sorted by already.
    pub(super) fn column_head(&mut self, text: &str, key: Key) {
        if self.has(IndexOption::SuppressColumnSorting) {
            return self.put(text);
        }
        let reverse = self.view.key == key && !self.view.descending;
        let order = if reverse { 'D' } else { 'A' };
        self.put(&format!("<a href=\"?C={};O={order}", char::from(key.letter())));
        self.out.extend_from_slice(&self.view.kept);
        self.put(&format!("\">{text}</a>"));
    }

    pub(super) fn time(&mut self, modified: i64) {
        let old = self.has(IndexOption::UseOldDateFormat);
        let format: &[u8] = if old { b"%d-%b-%Y %H:%M  " } else { b"%Y-%m-%d %H:%M  " };
        let zone = (self.zone)(modified);
        time::format(format, &time::CivilTime::new(modified, zone.offset, zone.name), &mut self.out);
    }

    /// A description, cut to the width of its column: tags take no place, entities take one.
    pub(super) fn description(&mut self, text: &[u8]) {
        let mut width = self.description_width;
        if self.dir.options.description_width.is_none() {
            let hidden = |option, columns| if self.has(option) { columns } else { 0 };
            width += hidden(IndexOption::SuppressIcon, 6)
                + hidden(IndexOption::SuppressLastModified, 19)
                + hidden(IndexOption::SuppressSize, 7);
        }
        match cut_at(text, width) {
            Some(end) => {
                self.out.extend_from_slice(&text[..end.saturating_sub(1)]);
                self.put(if end > 0 { ">" } else { "" });
            }
            None => self.out.extend_from_slice(text),
        }
    }
}

/// Returns where a description is cut, if it is too long. An unclosed element is left whole.
fn cut_at(text: &[u8], width: usize) -> Option<usize> {
    let (mut at, mut left) = (0, width);
    while at < text.len() && (left > 0 || text[at] == b'<') {
        match text[at] {
            b'<' => at += text[at..].iter().position(|byte| *byte == b'>')?,
            b'&' => {
                left = left.saturating_sub(1);
                at += text[at..].iter().position(|byte| *byte == b';')?;
            }
            _ => left -= 1,
        }
        at += 1;
    }
    (left == 0 && at < text.len()).then_some(at)
}

/// `[TXT]`
pub(super) fn alt(row: &Row<'_>) -> String {
    format!("[{}]", row.alt.unwrap_or("   "))
}
