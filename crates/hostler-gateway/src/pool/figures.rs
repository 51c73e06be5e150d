//! What an engine tells of its pool beyond what all pools have: the figures of a cache, say.

/// What a number is, for who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// It goes up and down.
    Gauge,
    /// It only grows while the pool's processes live.
    Counter,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// As a metric is called, without the product's name: `opcache_memory_bytes`.
    pub name: &'static str,
    /// For people: `opcache memory`.
    pub title: &'static str,
    /// What it is.
    pub measure: Measure,
    /// Its value.
    pub value: u64,
}

/// All of them, as they were told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The numbers.
    pub all: Vec<Figure>,
    /// A sentence for whoever runs the server, where something should be changed.
    pub advice: Option<String>,
}
