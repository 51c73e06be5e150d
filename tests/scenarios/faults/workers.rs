//! Warm workers that die, stop, lie or take too much; and tenants whose workers try to reach each other.

mod isolation;
mod storm;
mod trouble;
