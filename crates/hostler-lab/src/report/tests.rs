//! Reports of made-up runs.

use super::sample::{self, SHAPES};
use super::*;
use crate::scenario::Shape;
