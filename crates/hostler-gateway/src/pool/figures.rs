//! An engine's figures of its pool beyond those that all pools have: of a cache, for example.

/// The kind of a figure, for its reader.
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
    /// Its kind.
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
