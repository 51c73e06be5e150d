//! The order of a listing.

use super::listing::Row;
use super::natural;
use super::{IndexOption, Key, View};
use std::cmp::Ordering;

/// Sorts rows: the parent first, then folders if they come first, then by the view's key, names last.
pub(super) fn sort(rows: &mut [Row<'_>], view: &View) {
    rows.sort_by(|a, b| {
        let place = b.is_parent.cmp(&a.is_parent).then(b.is_folder.cmp(&a.is_folder));
        place.then_with(|| if view.descending { by_key(b, a, view) } else { by_key(a, b, view) })
    });
}

fn by_key(a: &Row<'_>, b: &Row<'_>, view: &View) -> Ordering {
    let order = match view.key {
        Key::Name => Ordering::Equal,
        Key::LastModified => a.modified.cmp(&b.modified),
        Key::Size => a.size.cmp(&b.size),
        Key::Description => {
            let text = |row: &Row<'_>| row.description.as_deref().unwrap_or_default().to_vec();
            let natural = view.options.has(IndexOption::VersionSort);
            if natural { natural::compare(&text(a), &text(b), false) } else { text(a).cmp(&text(b)) }
        }
    };
    order.then_with(|| by_name(&a.name, &b.name, view))
}

/// Ends with the bytes themselves, so that the order never depends on that of the directory.
fn by_name(a: &[u8], b: &[u8], view: &View) -> Ordering {
    let ignore_case = view.options.has(IndexOption::IgnoreCase);
    let mut order = Ordering::Equal;
    if view.options.has(IndexOption::VersionSort) {
        if ignore_case {
            order = natural::compare(a, b, true);
        }
        order = order.then_with(|| natural::compare(a, b, false));
    }
    if ignore_case {
        order = order.then_with(|| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()));
    }
    order.then_with(|| a.cmp(b))
}
