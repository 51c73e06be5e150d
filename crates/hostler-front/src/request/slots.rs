//! The modules' data about a request. Each module has one value of its own type; the request carries it without knowing
//! it.

use crate::request::Request;
use smallvec::SmallVec;
use std::any::Any;

/// The ways in which a request arises from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It goes on in the other's place.
    Redirect,
    /// It is a part of the other, or a question about a URL.
    Sub,
}

/// A module's value.
pub(crate) trait State: Any {
    /// The value of a copy of the request.
    fn copy(&self) -> Box<dyn State>;

    /// Returns the data that a request arising from `from` inherits; `None`: none.
    fn related(&self, from: &Request, relation: Relation) -> Option<Box<dyn State>>;

    /// Returns whether a request has it that goes on as this one, a sub-request of its own (the index of a directory).
    fn goes_on(&self) -> bool {
        false
    }

    /// Returns whether each request for the URL would have the same, whoever asks.
    fn holds(&self) -> bool {
        false
    }

    /// Returns whether the request's answer is a part of another's, though it is made as if it were one of its own.
    fn is_part(&self) -> bool {
        false
    }
}

/// The values of a request. Most have none, and few more than one.
#[derive(Default)]
pub(crate) struct Slots(SmallVec<[Box<dyn State>; 1]>);

impl Slots {
    /// The value of this type.
    pub(crate) fn find<T: State>(&self) -> Option<&T> {
        self.0.iter().find_map(|state| (&**state as &dyn Any).downcast_ref())
    }

    /// The value of this type, made if there is none yet.
    pub(crate) fn find_mut<T: State + Default>(&mut self) -> &mut T {
        let is_there = self.0.iter().position(|state| (&**state as &dyn Any).is::<T>());
        let at = is_there.unwrap_or_else(|| {
            self.0.push(Box::new(T::default()));
            self.0.len() - 1
        });
        let state: &mut dyn Any = &mut *self.0[at];
        state.downcast_mut().expect("it was looked for by its type")
    }

    /// Sets the value of this type.
    pub(crate) fn put<T: State>(&mut self, value: T) {
        self.take::<T>();
        self.0.push(Box::new(value));
    }

    /// Takes the value of this type out.
    pub(crate) fn take<T: State>(&mut self) -> Option<Box<T>> {
        let at = self.0.iter().position(|state| (&**state as &dyn Any).is::<T>())?;
        let state: Box<dyn Any> = self.0.remove(at);
        state.downcast().ok()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the data of a request that arises from `from`, whose data this is.
    pub(super) fn related(&self, from: &Request, relation: Relation) -> Self {
        Self(self.0.iter().filter_map(|state| state.related(from, relation)).collect())
    }

    /// Takes over those of a sub-request that this one goes on as.
    pub(super) fn absorb(&mut self, sub: Self) {
        for state in sub.0.into_iter().filter(|state| state.goes_on()) {
            let kind = (&*state as &dyn Any).type_id();
            self.0.retain(|own| (&**own as &dyn Any).type_id() != kind);
            self.0.push(state);
        }
    }

    /// See [`State::holds`].
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(|state| state.holds())
    }

    /// See [`State::is_part`].
    pub(super) fn are_part(&self) -> bool {
        self.0.iter().any(|state| state.is_part())
    }
}

impl Clone for Slots {
    fn clone(&self) -> Self {
        Self(self.0.iter().map(|state| state.copy()).collect())
    }
}
