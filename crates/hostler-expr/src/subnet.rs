//! Addresses and networks as `-ipmatch`, `-R` and `Require ip` write them: `192.168.1.5`, `10.1` (leading
//! octets), `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `2001:db8::/32`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// A network: an address and how much of it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnet {
    /// IPv4 address and mask, both as big-endian numbers.
    V4 {
        /// The address, host bits cleared.
        address: u32,
        /// The mask.
        mask: u32,
    },
    /// IPv6 address and mask.
    V6 {
        /// The address, host bits cleared.
        address: u128,
        /// The mask.
        mask: u128,
    },
}

/// A text that is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubnetError {
    /// Neither an address nor leading octets.
    Address,
    /// The part after the slash.
    Mask,
}

impl fmt::Display for SubnetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "not an IP address or network",
            Self::Mask => "the part after \"/\" is neither a number of bits nor a netmask",
        })
    }
}

impl std::error::Error for SubnetError {}

impl Subnet {
    /// Parses a network.
    ///
    /// # Errors
    /// When the address or the mask is malformed. IPv4-mapped IPv6 addresses are refused, as in Apache: write
    /// the IPv4 address.
    pub fn parse(text: &str) -> Result<Self, SubnetError> {
        let Some((address, mask)) = text.split_once('/') else { return Self::without_mask(text) };
        match address.parse() {
            Ok(IpAddr::V4(address)) => {
                let mask = v4_mask(mask).ok_or(SubnetError::Mask)?;
                Ok(Self::V4 { address: address.to_bits() & mask, mask })
            }
            Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
                let mask = v6_mask(mask).ok_or(SubnetError::Mask)?;
                Ok(Self::V6 { address: address.to_bits() & mask, mask })
            }
            _ => Err(SubnetError::Address),
        }
    }

    fn without_mask(text: &str) -> Result<Self, SubnetError> {
        match text.parse() {
            Ok(IpAddr::V4(address)) => Ok(Self::V4 { address: address.to_bits(), mask: u32::MAX }),
            Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
                Ok(Self::V6 { address: address.to_bits(), mask: u128::MAX })
            }
            Ok(IpAddr::V6(_)) => Err(SubnetError::Address),
            Err(_) => leading_octets(text).ok_or(SubnetError::Address),
        }
    }

    /// Returns whether the address is in the network. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (*self, address.to_canonical()) {
            (Self::V4 { address: network, mask }, IpAddr::V4(address)) => address.to_bits() & mask == network,
            (Self::V6 { address: network, mask }, IpAddr::V6(address)) => address.to_bits() & mask == network,
            _ => false,
        }
    }
}

/// `10`, `10.1`, `10.1.2` or all four octets, each with or without a dot behind.
fn leading_octets(text: &str) -> Option<Subnet> {
    let octets = text.strip_suffix('.').unwrap_or(text);
    let mut network = [0_u8; 4];
    let mut count = 0;
    for octet in octets.split('.') {
        if count == 4 || octet.len() > 3 || !octet.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        network[count] = octet.parse().ok()?;
        count += 1;
    }
    let mask = u32::MAX << (32 - 8 * count);
    Some(Subnet::V4 { address: u32::from_be_bytes(network), mask })
}

fn v4_mask(text: &str) -> Option<u32> {
    match bits(text, 32) {
        Some(bits) => Some(u32::MAX << (32 - bits)),
        None => text.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits),
    }
}

/// Only a number of bits: Apache knows no IPv6 netmasks.
fn v6_mask(text: &str) -> Option<u128> {
    bits(text, 128).map(|bits| u128::MAX << (128 - bits))
}

/// A number of bits from 1 to `most`, as C reads numbers: a space or a plus sign before it is allowed.
/// Quirk(apache): 0 is refused.
fn bits(text: &str, most: u32) -> Option<u32> {
    let text = text.trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bits = digits.parse().ok()?;
    (1..=most).contains(&bits).then_some(bits)
}
