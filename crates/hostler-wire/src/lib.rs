//! The messages between Hostler's processes: the Plan (planner to master and front), the fixed-size control messages
//! (master and front), the frames between front and site, between front and engines, and to `hostler status`. Messages
//! between one engine and its own technique in the front travel as bytes.
//!
//! This crate moves no bytes; it only says what they mean. Everything decoded here may come from a tenant's
//! process and is checked by its reader, once, before use.

pub mod build;
pub mod codec;
pub mod control;
pub mod engine;
pub mod frame;
pub mod logs;
pub mod plan;
pub mod report;
pub mod site;
pub mod work;
