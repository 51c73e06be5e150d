//! Lines of `workers.properties` and of `JkWorkerProperty`: `name=value`, where a value may have others' values in it, as
//! `$(workers.home)`.

use crate::Origin;
use std::borrow::Cow;

/// Values are put in values this often at most.
const MOST_PUT_IN: usize = 20;
/// A value is no longer than this.
const LONGEST: usize = 64 << 10;

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// The name of the property.
    pub name: Box<str>,
    /// To what.
    pub value: Box<str>,
    /// The directive that it is of.
    pub origin: Origin,
}

/// The properties whose repeated settings append; for all others the last one wins.
const LISTS: &[&str] = &["list", "balance_workers", "balanced_workers", "mount", "css"];

/// The properties of a file.
pub(super) fn of_file(text: &str, origin: Origin) -> Vec<Property> {
    text.lines().filter_map(|line| of_line(line, origin)).collect()
}

/// The property of a line, if there is one in it.
pub(super) fn of_line(line: &str, origin: Origin) -> Option<Property> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then(|| Property {
        name: name.into(),
        value: value.into(),
        origin,
    })
}

/// All properties, as they count together.
pub(super) fn together(properties: &[Property]) -> Result<Vec<Property>, (Origin, String)> {
    let mut all: Vec<Property> = Vec::with_capacity(properties.len());
    for property in properties {
        let value = put_in(&property.value, &all).map_err(|why| (property.origin, why))?.into();
        let is_list = LISTS.contains(&property.name.rsplit('.').next().unwrap_or_default());
        match all.iter_mut().find(|one| one.name == property.name) {
            Some(one) if is_list => one.value = format!("{},{value}", one.value).into(),
            Some(one) => one.value = value,
            None => all.push(Property { value, ..property.clone() }),
        }
        if all.last().is_some_and(|one| one.value.len() > LONGEST) {
            return Err((property.origin, format!("the value of {} is too long", property.name)));
        }
    }
    Ok(all)
}

/// Puts values of properties in, for `$(name)`. What is none stays.
fn put_in<'v>(value: &'v str, all: &[Property]) -> Result<Cow<'v, str>, String> {
    let mut value = Cow::Borrowed(value);
    let mut from = 0;
    for _ in 0..MOST_PUT_IN {
        let Some(start) = value[from..].find("$(").map(|at| from + at) else { return Ok(value) };
        let Some(end) = value[start..].find(')').map(|at| start + at) else { return Ok(value) };
        let Some(found) = all.iter().find(|one| *one.name == value[start + 2..end]) else {
            from = end;
            continue;
        };
        if value.len() + found.value.len() > LONGEST {
            return Err(format!("$({}) makes it too long", found.name));
        }
        value = Cow::Owned([&value[..start], &found.value, &value[end + 1..]].concat());
    }
    Err("it has too many $(...) in it".to_owned())
}

/// Words of a list.
pub(super) fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ' ', '\t']).filter(|word| !word.is_empty())
}
