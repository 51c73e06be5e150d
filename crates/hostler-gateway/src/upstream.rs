//! Other servers that answer for this one, over HTTP: connections that are kept, how they fare, and which of several
//! takes a request.
//!
//! Not a pool of workers: a server says itself how much it takes, and each thread of the front has connections of its
//! own, which no lock guards. What the threads share of a server is a few counters ([`Upstream`]).

mod balancer;
mod connection;
mod either;
mod exchange;
mod http2;
mod idle;
mod member;
mod resolve;
mod secure;
mod session;
mod stream;
mod tuning;

pub use balancer::{Balancer, Choice, ChosenMember, Method, NoMember};
pub use connection::Connection;
pub use either::Exchange;
pub use exchange::{Failure, FailureKind, Request};
pub use http2::{Head as Http2Head, Http2Connection};
pub use member::{Health, States, Upstream, UpstreamSettings, Usage};
pub use resolve::{NotConnected, Target, in_turn};
pub use secure::Secure;
pub use session::{Session, Sticky, route_of};
pub use tuning::{BalancerTuning, MemberTuning, Routes};
