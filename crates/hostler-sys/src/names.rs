//! Names of addresses, for access rules by host name.

use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};

/// The name that the resolver gives for an address, in lower case; `None` if it has none. Blocks.
#[must_use]
pub fn reverse_lookup(address: IpAddr) -> Option<String> {
    let socket = socket2::SockAddr::from(SocketAddr::new(address, 0));
    let mut name = [0u8; 1025];
    // SAFETY: `socket` is a valid address of the length it gives; `name` is writable for the length passed; no
    // service name is asked for.
    let failed = unsafe {
        libc::getnameinfo(
            socket.as_ptr().cast(),
            socket.len(),
            name.as_mut_ptr().cast(),
            name.len() as libc::socklen_t,
            std::ptr::null_mut(),
            0,
            libc::NI_NAMEREQD,
        )
    };
    if failed != 0 {
        return None;
    }
    let name = CStr::from_bytes_until_nul(&name).ok()?.to_str().ok()?;
    Some(name.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_address_for_documentation_has_no_name() {
        assert_eq!(super::reverse_lookup("192.0.2.77".parse().unwrap()), None);
    }
}
