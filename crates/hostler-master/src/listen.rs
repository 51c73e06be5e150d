//! The listening sockets. They are the master's, so that a front may die without a refused connection, and they
//! outlive a generation: an address that the next one has too keeps its socket and the connections that wait in it.

use hostler_sys::socket;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// A bound address. Generations share it; the last to let go closes it.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    /// As the plan has it.
    pub(crate) address: SocketAddr,
    /// The socket.
    pub(crate) socket: Rc<OwnedFd>,
}

/// A socket for each address: from `bound` where it is there, else a new one.
///
/// # Errors
/// The address that can't be bound and why, with what to do; what was bound new is closed again.
pub(crate) fn bind_all(
    addresses: &[SocketAddr],
    backlog: u32,
    bound: &[Listener],
) -> Result<Vec<Listener>, String> {
    let mut all: Vec<Listener> = Vec::with_capacity(addresses.len());
    for address in addresses {
        let known = bound.iter().chain(&all).find(|listener| listener.address == *address).cloned();
        let listener = match known {
            Some(listener) => listener,
            None => {
                // `Listen [::]:80` leaves IPv4 to a `Listen 0.0.0.0:80` beside it.
                let beside = SocketAddr::from(([0, 0, 0, 0], address.port()));
                let socket = bind(*address, backlog, addresses.contains(&beside))?;
                Listener { address: *address, socket: Rc::new(socket) }
            }
        };
        all.push(listener);
    }
    Ok(all)
}

fn bind(address: SocketAddr, backlog: u32, v6_only: bool) -> Result<OwnedFd, String> {
    socket::listen(address, backlog, v6_only).map_err(|e| {
        let hint = match e.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program, or a server that is still stopping, listens there (see `ss -ltnp`)"
            }
            std::io::ErrorKind::PermissionDenied => "; ports below 1024 need root",
            std::io::ErrorKind::AddrNotAvailable => {
                "; this machine does not have that address (see `ip addr`)"
            }
            _ => "",
        };
        format!("can't listen on {address}: {e}{hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_old_generation_keeps_its_socket() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let old = bind_all(&[any], 5, &[]).unwrap();
        let new = bind_all(&[any, any], 5, &old).unwrap();
        assert!(Rc::ptr_eq(&old[0].socket, &new[0].socket) && Rc::ptr_eq(&old[0].socket, &new[1].socket));
    }

    #[test]
    fn an_address_that_is_taken_is_named_with_the_way_out() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let why = bind_all(&[address], 5, &[]).unwrap_err();
        assert!(why.contains(&address.to_string()) && why.contains("ss -ltnp"), "{why}");
    }
}
