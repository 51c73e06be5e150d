//! Places for configuration that other crates bring: a technique's own part of a directory's or a server's settings,
//! beside the typed parts of Apache's modules. This crate merges them without knowing what they are.

use crate::part::Merge;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The place of one type in all [`Slots`]; a `static` of whoever owns the type. Finding a part by it is an index and a
/// comparison of types.
pub struct Slot<T> {
    index: OnceLock<usize>,
    kind: PhantomData<fn() -> T>,
}

/// The next free index. Places are few and for ever: each is a `static`.
static NEXT: AtomicUsize = AtomicUsize::new(0);

impl<T: Merge> Slot<T> {
    /// A place of its own.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a place is a static, and made in a constant")]
    pub const fn new() -> Self {
        Self { index: OnceLock::new(), kind: PhantomData }
    }

    fn index(&self) -> usize {
        *self.index.get_or_init(|| NEXT.fetch_add(1, Relaxed))
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot of {}", std::any::type_name::<T>())
    }
}

/// A part, whatever its type.
trait Value: Any + fmt::Debug + Send + Sync {
    /// Returns the merged settings when `over` is more specific; it must be of the same type.
    fn merge(&self, over: &dyn Value) -> Option<Arc<dyn Value>>;

    fn copy(&self) -> Arc<dyn Value>;
}

impl<T: Merge> Value for T {
    fn merge(&self, over: &dyn Value) -> Option<Arc<dyn Value>> {
        let over: &dyn Any = over;
        Some(Arc::new(Merge::merge(self, over.downcast_ref::<T>()?)))
    }

    fn copy(&self) -> Arc<dyn Value> {
        Arc::new(self.clone())
    }
}

/// The parts of techniques in one configuration; those in which nothing is set take no memory.
#[derive(Clone, Default)]
pub struct Slots(Vec<Option<Arc<dyn Value>>>);

impl Slots {
    /// The part of a place, or the value in which nothing is set.
    #[must_use]
    pub fn part<T: Merge>(&self, slot: &Slot<T>) -> &T {
        let value = self.0.get(slot.index()).and_then(Option::as_deref);
        value.and_then(|value| (value as &dyn Any).downcast_ref()).unwrap_or_else(|| T::unset())
    }

    /// The part of a place, to be written to.
    pub fn part_mut<T: Merge>(&mut self, slot: &Slot<T>) -> &mut T {
        let index = slot.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        let value = self.0[index].get_or_insert_with(|| Arc::new(T::default()));
        if Arc::get_mut(value).is_none() {
            *value = value.copy();
        }
        let own = Arc::get_mut(value).and_then(|value| (value as &mut dyn Any).downcast_mut());
        own.expect("a place has one type, and the value has just been made this one's own")
    }

    /// Returns whether both have the same shared part at a place (or none): a cheap way to see that nothing differs.
    #[must_use]
    pub fn is_same<T: Merge>(&self, other: &Self, slot: &Slot<T>) -> bool {
        let [one, other] = [self, other].map(|slots| slots.0.get(slot.index()).and_then(Option::as_ref));
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        let length = self.0.len().max(over.0.len());
        let at = |slots: &Self, index: usize| slots.0.get(index).cloned().flatten();
        let merged = (0..length).map(|index| match (at(self, index), at(over, index)) {
            (Some(base), Some(over)) => Value::merge(&*base, &*over),
            (base, over) => over.or(base),
        });
        Self(merged.collect())
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().flatten()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unset_part;

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Words(Vec<&'static str>);

    impl Merge for Words {
        fn merge(&self, over: &Self) -> Self {
            Self([&self.0[..], &over.0[..]].concat())
        }

        unset_part!(Words);
    }

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Number(u32);

    impl Merge for Number {
        fn merge(&self, over: &Self) -> Self {
            over.clone()
        }

        unset_part!(Number);
    }

    static WORDS: Slot<Words> = Slot::new();
    static MORE: Slot<Words> = Slot::new();
    static NUMBER: Slot<Number> = Slot::new();

    #[test]
    fn each_place_has_a_part_of_its_own() {
        let mut base = Slots::default();
        assert_eq!((base.part(&WORDS), base.part(&NUMBER)), (&Words::default(), &Number(0)));
        base.part_mut(&WORDS).0.push("one");
        base.part_mut(&NUMBER).0 = 7;
        assert_eq!((base.part(&WORDS), base.part(&MORE)), (&Words(vec!["one"]), &Words::default()));
        let mut over = Slots::default();
        over.part_mut(&MORE).0.push("more");
        over.part_mut(&WORDS).0.push("two");
        for merged in [base.merge(&over), base.merge(&over).merge(&Slots::default())] {
            assert_eq!(merged.part(&WORDS), &Words(vec!["one", "two"]));
            assert_eq!((merged.part(&MORE), merged.part(&NUMBER)), (&Words(vec!["more"]), &Number(7)));
        }
    }

    #[test]
    fn what_is_shared_is_copied_before_it_is_written() {
        let mut base = Slots::default();
        base.part_mut(&WORDS).0.push("one");
        let mut copy = base.merge(&Slots::default());
        assert!(copy.is_same(&base, &WORDS) && copy.is_same(&base, &NUMBER));
        copy.part_mut(&WORDS).0.push("two");
        assert_eq!((base.part(&WORDS), copy.part(&WORDS)), (&Words(vec!["one"]), &Words(vec!["one", "two"])));
        assert!(!copy.is_same(&base, &WORDS));
        assert_eq!(format!("{base:?}"), r#"[Words(["one"])]"#);
    }
}
