//! Tables as data: what the terminal and the page show alike.

/// A table. Its first column names the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Above it.
    pub(super) title: String,
    /// Its columns.
    pub(super) columns: Vec<Column>,
    /// Its rows; each has an entry for every column.
    pub(super) rows: Vec<Vec<Entry>>,
    /// Below it.
    pub(super) notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The heading over this column and its neighbours of the same group: a server. May be empty.
    pub(super) group: String,
    /// The column's heading.
    pub(super) title: String,
    /// Words stand on the left, figures on the right.
    pub(super) words: bool,
}

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// As it is printed.
    pub(super) text: String,
    /// How.
    pub(super) tone: Tone,
}

/// The tone of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// As it is.
    Plain,
    /// The best of its kind.
    Good,
    /// Something went wrong, or is worse.
    Bad,
    /// Of less weight: published figures, what could not be measured.
    Faint,
}

impl Table {
    /// An empty one whose rows are named by `first`.
    pub(super) fn new(title: impl Into<String>, first: &str) -> Self {
        let first = Column { group: String::new(), title: first.into(), words: true };
        Self { title: title.into(), columns: vec![first], ..Self::default() }
    }

    /// Adds a column of figures.
    pub(super) fn column(&mut self, group: &str, title: impl Into<String>) {
        self.columns.push(Column { group: group.into(), title: title.into(), words: false });
    }

    /// Adds a column of words.
    pub(super) fn words(&mut self, title: &str) {
        self.columns.push(Column { group: String::new(), title: title.into(), words: true });
    }

    /// Adds a row, filled up or cut to the number of columns.
    pub(super) fn row(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let mut row: Vec<Entry> = entries.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), faint(""));
        self.rows.push(row);
    }

    /// Columns that belong together: first index and count of each run of one group.
    pub(super) fn groups(&self) -> Vec<(usize, usize)> {
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some((first, count))
                    if !column.group.is_empty() && self.columns[*first].group == column.group =>
                {
                    *count += 1;
                }
                _ => groups.push((index, 1)),
            }
        }
        groups
    }
}

/// An entry as it is.
pub(super) fn plain(text: impl Into<String>) -> Entry {
    Entry { text: text.into(), tone: Tone::Plain }
}

/// An entry of less weight.
pub(super) fn faint(text: impl Into<String>) -> Entry {
    Entry { text: text.into(), tone: Tone::Faint }
}

/// An entry that says what went wrong.
pub(super) fn bad(text: impl Into<String>) -> Entry {
    Entry { text: text.into(), tone: Tone::Bad }
}

/// An entry that says what is best.
pub(super) fn good(text: impl Into<String>) -> Entry {
    Entry { text: text.into(), tone: Tone::Good }
}
