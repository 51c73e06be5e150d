//! Addresses of clients, as they are counted.

use std::net::IpAddr;

/// An address as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client(u128);

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits() >> 64 << 64),
        }
    }
}

impl Client {
    /// A number below `shards`, spread over them.
    pub(crate) fn shard(self, shards: usize) -> usize {
        // The lower half of an IPv6 network is empty, the upper one of an IPv4 address always the same.
        let folded = (self.0 ^ self.0 >> 64 ^ self.0 >> 32) as usize;
        (folded ^ folded >> 8) % shards
    }
}
