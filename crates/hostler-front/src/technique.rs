//! Warm workers, whatever language they speak: their pools, and what their answers have in common.

pub(crate) mod framed;
pub(crate) mod pools;
pub(crate) mod warm;
