//! Warm workers that die, stop, lie or take too much; and tenants whose workers try to reach each other.

mod isolation;
mod losses;
mod storm;
mod trouble;
