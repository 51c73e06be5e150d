//! Where the processes come from that pools speak to; a folder for each way.

pub mod exec;
pub mod fork;
