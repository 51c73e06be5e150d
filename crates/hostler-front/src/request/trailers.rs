//! Fields that come behind bodies (RFC 9110 §6.5), for the access log (`%{name}^ti`, `%{name}^to`) and `MergeTrailers`. What is sent
//! on of them is the senders' own business.

use crate::values::table::Table;
use crate::values::trailers::may_follow;
use bytes::Bytes;
use hostler_config::Server;
use std::cell::RefCell;

/// The trailers of a request and of its response, as far as they have arrived. Several of one name are one list (RFC
/// 9110 §5.3), which is joined on demand: joining each with those before it would take the longer, the more there are.
#[derive(Debug, Default)]
pub(crate) struct Trailers {
    asked: RefCell<Table>,
    answered: RefCell<Table>,
}

impl Trailers {
    /// A field behind the request's body.
    pub(crate) fn ask(&self, name: impl Into<Bytes>, value: &Bytes) {
        self.asked.borrow_mut().add(name, value.clone());
    }

    /// One behind the answer's body.
    pub(crate) fn answer(&self, name: &Bytes, value: &Bytes) {
        self.answered.borrow_mut().add(name.clone(), value.clone());
    }

    /// `%{name}^ti`
    pub(crate) fn asked(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.asked.borrow().joined(name).map(|value| value.to_vec())
    }

    /// `%{name}^to`
    pub(crate) fn answered(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.answered.borrow().joined(name).map(|value| value.to_vec())
    }

    /// One of the request's where `MergeTrailers` is on.
    pub(crate) fn merged(&self, server: &Server, name: &[u8]) -> Option<Vec<u8>> {
        if is_merging(server) && may_follow(name) { self.asked(name) } else { None }
    }

    /// Where `MergeTrailers` is on, adds the request's trailers to its fields. Fields of the head take precedence;
    /// fields that say who is asking, or how, are not taken from trailers.
    pub(crate) fn merge(&self, server: &Server, headers: &mut Table) {
        if is_merging(server) {
            self.merge_into(headers);
        }
    }

    fn merge_into(&self, headers: &mut Table) {
        let asked = self.asked.borrow();
        for (name, _) in asked.iter() {
            if may_follow(name)
                && !headers.contains(name)
                && let Some(value) = asked.joined(name)
            {
                headers.add(name.clone(), value);
            }
        }
    }
}

fn is_merging(server: &Server) -> bool {
    server.conf.core.merge_trailers == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_says_afterwards_who_asks() {
        let (trailers, mut headers) = (Trailers::default(), Table::default());
        headers.add("X-Said", Bytes::from_static(b"first"));
        for name in ["X-Said", "X-New", "X-New", "Authorization", "Cookie", "Host"] {
            trailers.ask(name, &Bytes::from_static(b"then"));
        }
        trailers.merge_into(&mut headers);
        let all: Vec<_> = headers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        assert_eq!(all, [(&b"X-Said"[..], &b"first"[..]), (b"X-New", b"then, then")]);
    }
}
