//! Sockets as the server needs them: pairs between processes, and listening sockets.

use rustix::fs::{AtFlags, FileType, Mode, statat, unlinkat};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, ipproto, listen as rustix_listen,
    socket_with, socketpair, sockopt,
};
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A pair of connected stream sockets, close-on-exec, blocking.
///
/// # Errors
/// The kernel's (EMFILE, ENFILE, ENOMEM).
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// A pair of connected datagram sockets that keep order and tell the peer's end (`SOCK_SEQPACKET`),
/// close-on-exec, blocking.
///
/// # Errors
/// The kernel's (EMFILE, ENFILE, ENOMEM).
pub fn seqpacket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A connected pair of stream sockets, of which the first only sends: what the other one sends is refused to it.
///
/// # Errors
/// The kernel's.
pub fn one_way_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (sender, receiver) = stream_pair()?;
    rustix::net::shutdown(&sender, rustix::net::Shutdown::Read)?;
    Ok((sender, receiver))
}

/// Returns how much of the data sent over a Unix socket the other side has not read yet, including the kernel's
/// overhead: zero means that it has read everything.
///
/// # Errors
/// The kernel's: it is no Unix socket, say.
pub fn unread(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut left: libc::c_int = 0;
    // SAFETY: the request writes one int, which `left` is.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut left) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u32::try_from(left).unwrap_or(0))
}

/// Bytes that a connection may hold unsent. What is beyond the client's window only fills kernel memory; and
/// when it can be sent at last, the kernel does so at the cost of whoever reads.
const UNSENT: libc::c_int = 128 << 10;

/// A listening TCP socket: close-on-exec, non-blocking, `SO_REUSEADDR`; accepted sockets inherit `TCP_NODELAY`,
/// `SO_KEEPALIVE` and `TCP_NOTSENT_LOWAT` (128 KiB, so a slow reader holds little memory of the kernel's).
///
/// An IPv6 address also takes IPv4 connections unless `v6_only`: `[::]` is what `Listen 80` means in an Apache
/// built with v4-mapped addresses. On a machine without IPv6 it is bound as `0.0.0.0`.
///
/// # Errors
/// The kernel's, EADDRINUSE and EACCES above all.
pub fn listen(address: SocketAddr, backlog: u32, v6_only: bool) -> io::Result<OwnedFd> {
    match listen_exactly(address, backlog, v6_only) {
        Err(e) if e.raw_os_error() == Some(libc::EAFNOSUPPORT) && address.ip() == UNSPECIFIED_V6 => {
            listen_exactly(SocketAddr::from(([0, 0, 0, 0], address.port())), backlog, false)
        }
        other => other,
    }
}

const UNSPECIFIED_V6: std::net::IpAddr = std::net::IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);

fn listen_exactly(address: SocketAddr, backlog: u32, v6_only: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_keepalive(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    bound_unsent(&socket)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, v6_only)?;
    }
    bind(&socket, &address)?;
    rustix_listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// Sets `TCP_NOTSENT_LOWAT` (tcp(7)).
fn bound_unsent(socket: &OwnedFd) -> io::Result<()> {
    let size = size_of_val(&UNSENT) as libc::socklen_t;
    let value = std::ptr::from_ref(&UNSENT).cast();
    // SAFETY: the descriptor is open for the call, and `value` points to `size` bytes that outlive it.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, value, size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A listening Unix socket of this name in a directory, that its owner (who we are) alone may connect to:
/// close-on-exec, non-blocking. A socket that stands there is replaced.
///
/// # Errors
/// EADDRINUSE: something else than a socket stands there. The kernel's.
pub fn listen_privately(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    remove_socket(directory, name)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file takes its mode from the socket's own, less the umask: it is never open to others.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &address_in(directory, name)?)?;
    rustix_listen(&socket, 8)?;
    Ok(socket)
}

/// A listening Unix socket of this name in a directory, that its owner (who we are) alone may connect to, to be a
/// program's descriptor 0: close-on-exec, blocking.
///
/// # Errors
/// EADDRINUSE: something stands there. The kernel's.
pub fn listen_for_program(directory: BorrowedFd<'_>, name: &OsStr, backlog: u32) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &address_in(directory, name)?)?;
    rustix_listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// Connects to the Unix stream socket that this descriptor (`O_PATH`) holds; close-on-exec, non-blocking.
///
/// # Errors
/// ECONNREFUSED: nobody listens, or it is no socket. EAGAIN: as many wait as may. EACCES: it may not be written to.
/// EPROTOTYPE: it is of another type.
pub fn connect_to(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connection = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(Path::new("/proc/self/fd").join(socket.as_raw_fd().to_string()))?;
    rustix::net::connect(&connection, &address)?;
    Ok(connection)
}

/// Connects to the Unix socket of this name in a directory; close-on-exec, blocking.
///
/// # Errors
/// ENOENT, ECONNREFUSED: nobody listens there. EACCES: it is another user's.
pub fn connect_in(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::net::connect(&socket, &address_in(directory, name)?)?;
    Ok(socket)
}

/// Removes a socket of this name, and nothing else.
///
/// # Errors
/// The kernel's; that there is none is no error.
pub fn remove_socket(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Socket => {
            Ok(unlinkat(directory, name, AtFlags::empty())?)
        }
        Ok(_) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Addresses hold 108 bytes, paths more; and the held directory can't be exchanged for another.
fn address_in(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<SocketAddrUnix> {
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok(SocketAddrUnix::new(path)?)
}

/// The address a socket is bound to; `None` for anything but IPv4 and IPv6.
#[must_use]
pub fn local_address(socket: BorrowedFd<'_>) -> Option<SocketAddr> {
    rustix::net::getsockname(socket).ok().and_then(|any| SocketAddr::try_from(any).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_was_sent_is_unread_until_the_other_side_has_read_it() {
        let (one, other) = stream_pair().unwrap();
        assert_eq!(unread(one.as_fd()).unwrap(), 0);
        rustix::io::write(&one, b"greeting").unwrap();
        assert!(unread(one.as_fd()).unwrap() > 0);
        rustix::io::read(&other, &mut [0; 8]).unwrap();
        assert_eq!(unread(one.as_fd()).unwrap(), 0);
    }

    #[test]
    fn a_listener_takes_connections_at_once_and_is_non_blocking() {
        let socket = listen("127.0.0.1:0".parse().unwrap(), 5, false).unwrap();
        let address = local_address(socket.as_fd()).unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        let listener = std::net::TcpListener::from(socket);
        assert!(listener.accept().unwrap().0.nodelay().unwrap());
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn the_same_port_twice_is_in_use() {
        let socket = listen("127.0.0.1:0".parse().unwrap(), 5, false).unwrap();
        let again = listen(local_address(socket.as_fd()).unwrap(), 5, false).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn both_unspecified_addresses_can_stand_side_by_side() {
        let v6 = listen("[::]:0".parse().unwrap(), 5, true).unwrap();
        let port = local_address(v6.as_fd()).unwrap().port();
        assert!(listen(SocketAddr::from(([0, 0, 0, 0], port)), 5, false).is_ok());
    }

    #[test]
    fn a_private_socket_is_its_owners_alone_and_replaces_its_like() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("hostler-socket-test-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let directory = std::fs::File::open(&path).unwrap();
        let name = OsStr::new("x.status");
        for _ in 0..2 {
            let _listening = listen_privately(directory.as_fd(), name).unwrap();
            let mode = path.join(name).symlink_metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o600);
            connect_in(directory.as_fd(), name).unwrap();
        }
        assert!(connect_in(directory.as_fd(), name).is_err());
        std::fs::write(path.join("file"), "kept").unwrap();
        assert!(listen_privately(directory.as_fd(), OsStr::new("file")).is_err());
        assert_eq!(std::fs::read(path.join("file")).unwrap(), b"kept");
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_unspecified_address_takes_ipv4_too() {
        let socket = listen("[::]:0".parse().unwrap(), 5, false).unwrap();
        let port = local_address(socket.as_fd()).unwrap().port();
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }
}
