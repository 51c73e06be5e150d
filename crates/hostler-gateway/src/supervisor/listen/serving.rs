//! Has a program that listens begun to serve? Its socket takes connections before that, while it loads, which may take
//! seconds. The first bytes of any request are sent ahead: once the program has read them, it serves.

use crate::backend::stream::Protocol;
use crate::register;
use hostler_sys::socket::unread;
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Sends [`Protocol::GREETING`] over a new connection, and waits until the program has read it, or the connection has
/// ended. Returns whether it was sent.
pub async fn greet<P: Protocol>(socket: &Arc<OwnedFd>) -> bool {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if P::GREETING.is_empty() || send(socket, P::GREETING, flags) != Ok(P::GREETING.len()) {
        return false;
    }
    if let Ok(registered) = register(socket.clone(), Interest::WRITABLE) {
        until_read(&registered).await;
    }
    true
}

/// Ready when the other side has read all that was sent, or can't be waited for. There is room for more whenever it has read.
async fn until_read(socket: &AsyncFd<Arc<OwnedFd>>) {
    while let Ok(mut room) = socket.writable().await {
        if unread(socket.get_ref().as_fd()).unwrap_or(0) == 0 {
            return;
        }
        room.clear_ready();
    }
}
