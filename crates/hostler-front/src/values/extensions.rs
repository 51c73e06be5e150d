//! Data that other parts attach to an object that does not know them: one value of each type, so that threads, sites
//! and open files need not name the modules' data.

use smallvec::SmallVec;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Values of one thread, each made when it is first asked for.
#[derive(Default)]
pub(crate) struct Extensions(RefCell<SmallVec<[Rc<dyn Any>; 2]>>);

impl Extensions {
    /// The value of this type.
    pub(crate) fn of<T: Default + 'static>(&self) -> Rc<T> {
        let known = self.0.borrow().iter().find(|value| value.is::<T>()).cloned();
        let value = known.unwrap_or_else(|| {
            let made = Rc::new(T::default());
            self.0.borrow_mut().push(made.clone());
            made
        });
        value.downcast().expect("it was looked for by its type")
    }

    /// Lets go of the value of this type.
    pub(crate) fn forget<T: 'static>(&self) {
        self.0.borrow_mut().retain(|value| !value.is::<T>());
    }

    /// Lets go of all values.
    pub(crate) fn clear(&self) {
        self.0.take();
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} values", self.0.borrow().len())
    }
}

/// Values that all threads share; all are there from the start.
#[derive(Default)]
pub(crate) struct SharedExtensions(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl SharedExtensions {
    /// One more.
    pub(crate) fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.0.push((TypeId::of::<T>(), Box::new(value)));
        self
    }

    /// The value of this type.
    ///
    /// # Panics
    /// When nobody has put one there.
    pub(crate) fn of<T: Any + Send + Sync>(&self) -> &T {
        let mut all = self.0.iter();
        let value = all.find(|(id, _)| *id == TypeId::of::<T>()).and_then(|(_, value)| value.downcast_ref());
        value.expect("it is put there before there are threads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn there_is_one_value_of_each_type() {
        let all = Extensions::default();
        all.of::<Cell<u8>>().set(1);
        all.of::<Cell<u16>>().set(2);
        assert_eq!((all.of::<Cell<u8>>().get(), all.of::<Cell<u16>>().get()), (1, 2));
        all.forget::<Cell<u8>>();
        assert_eq!((all.of::<Cell<u8>>().get(), all.of::<Cell<u16>>().get()), (0, 2));
        all.clear();
        assert_eq!(all.of::<Cell<u16>>().get(), 0);
    }

    #[test]
    fn shared_values_are_found_by_type() {
        let all = SharedExtensions::default().with(1_u8).with("text");
        assert_eq!((*all.of::<u8>(), *all.of::<&str>()), (1, "text"));
    }
}
