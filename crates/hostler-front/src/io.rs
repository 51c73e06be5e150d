//! Connections, deadlines, descriptors, open files and bodies: what is read and written, whatever it means.

pub(crate) mod body;
pub(crate) mod deadline;
pub(crate) mod descriptors;
pub(crate) mod early;
pub(crate) mod open_file;
pub(crate) mod scratch;
pub(crate) mod sent;
pub(crate) mod stream;
pub(crate) mod through;
pub(crate) mod tunnel;
pub(crate) mod websocket_frames;
