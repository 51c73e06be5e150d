//! The parts that a configuration consists of: one per module, shared until somebody writes to it.
//!
//! Most directories set something in two or three modules. A [`Part`] that nothing was set in takes no
//! memory, and merging one costs a reference count, so ten thousand virtual hosts stay cheap.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A module's configuration for a directory or a server, and how two of them become one.
pub trait Merge: Clone + Default + fmt::Debug + Send + Sync + 'static {
    /// Returns the merged settings when `over` is more specific than `self`. Merging with [`Merge::unset`] on either
    /// side must change nothing: a [`Part`] in which nothing is set is not merged at all.
    #[must_use]
    fn merge(&self, over: &Self) -> Self;

    /// The value in which nothing is set. Written with [`unset_part!`](crate::unset_part).
    fn unset() -> &'static Self;
}

/// Writes [`Merge::unset`] inside an `impl Merge`.
#[macro_export]
macro_rules! unset_part {
    ($type:ty) => {
        fn unset() -> &'static Self {
            static UNSET: std::sync::LazyLock<$type> = std::sync::LazyLock::new(Default::default);
            &UNSET
        }
    };
}

/// The more specific of two optional values: the rule for most directives.
#[must_use]
pub fn over<T: Clone>(base: &Option<T>, over: &Option<T>) -> Option<T> {
    over.as_ref().or(base.as_ref()).cloned()
}

/// One module's part. Reads like the value itself; writing makes it "set".
pub struct Part<T>(Option<Arc<T>>);

impl<T> Part<T> {
    /// Returns whether some directive of the module was given.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether both are the same shared value (or both unset): a cheap way to see that nothing differs.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl<T: Merge> Part<T> {
    /// Returns the merged settings when `over` is more specific.
    #[must_use]
    pub fn merge(&self, over: &Self) -> Self {
        match (&self.0, &over.0) {
            (_, None) => self.clone(),
            (None, Some(_)) => over.clone(),
            (Some(base), Some(over)) => Self(Some(Arc::new(base.merge(over)))),
        }
    }
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: fmt::Debug> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("unset"),
        }
    }
}

impl<T: Merge> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::unset())
    }
}

impl<T: Merge> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_with(Arc::default))
    }
}
