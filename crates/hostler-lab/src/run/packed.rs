//! A run's single requests in `run.json`: columns of differences, compressed, as one base64 string.
//!
//! A run of 150,000 requests takes 1 MB this way instead of 14 MB as a list of objects. Times are whole microseconds, so they
//! are read back exactly. Layout before compression: the number of requests, then the columns `at`, `took`, `phase`, `client`,
//! `clients`, `status` and `bytes`; each number is a zigzag LEB128 varint of the difference to the one above it.

use crate::load::{MOST_REQUESTS, Request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{ZlibDecoder, ZlibEncoder};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serializer};
use std::io::Read;

/// Bytes of a varint of 64 bits, at most.
const LONGEST: usize = 10;
const COLUMNS: usize = 7;

/// For serde's `with`.
pub(super) fn serialize<S: Serializer>(requests: &[Request], serializer: S) -> Result<S::Ok, S::Error> {
    let mut packed = Vec::new();
    ZlibEncoder::new(columns(requests).as_slice(), Compression::best())
        .read_to_end(&mut packed)
        .map_err(S::Error::custom)?;
    serializer.serialize_str(&STANDARD.encode(packed))
}

/// For serde's `with`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Request>, D::Error> {
    let packed = STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)?;
    let mut bytes = Vec::new();
    let most = (MOST_REQUESTS * COLUMNS + 1) * LONGEST;
    ZlibDecoder::new(packed.as_slice())
        .take(most as u64)
        .read_to_end(&mut bytes)
        .map_err(D::Error::custom)?;
    requests(&bytes).ok_or_else(|| D::Error::custom("the packed requests are damaged"))
}

fn columns(requests: &[Request]) -> Vec<u8> {
    let mut out = Vec::with_capacity(requests.len() * COLUMNS);
    put(requests.len() as u64, 0, &mut out);
    let mut column = |value: &dyn Fn(&Request) -> u64| {
        let mut above = 0;
        for request in requests {
            let value = value(request);
            put(value, above, &mut out);
            above = value;
        }
    };
    column(&|request| micros(request.at));
    column(&|request| micros(request.took));
    column(&|request| request.phase.into());
    column(&|request| request.client.into());
    column(&|request| request.clients.into());
    column(&|request| request.status.into());
    column(&|request| request.bytes);
    out
}

fn requests(mut bytes: &[u8]) -> Option<Vec<Request>> {
    let count = usize::try_from(take(&mut bytes, 0)?).ok().filter(|count| *count <= MOST_REQUESTS)?;
    let mut column = || {
        let mut above = 0;
        let mut next = || {
            above = take(&mut bytes, above)?;
            Some(above)
        };
        (0..count).map(|_| next()).collect::<Option<Vec<u64>>>()
    };
    let (at, took, phase, client) = (column()?, column()?, column()?, column()?);
    let (clients, status, size) = (column()?, column()?, column()?);
    let request = |row: usize| {
        Some(Request {
            at: seconds(at[row]),
            took: seconds(took[row]),
            phase: phase[row].try_into().ok()?,
            client: client[row].try_into().ok()?,
            clients: clients[row].try_into().ok()?,
            status: status[row].try_into().ok()?,
            bytes: size[row],
        })
    };
    (0..count).map(request).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a run, not negative")]
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a run are far below 2^52")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Appends the difference of two values.
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "zigzag takes all 64 bits")]
fn put(value: u64, above: u64, out: &mut Vec<u8>) {
    let difference = value.wrapping_sub(above) as i64;
    let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The next value, after the one `above`; `None`: the bytes end early or a number is too long.
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "zigzag takes all 64 bits")]
fn take(bytes: &mut &[u8], above: u64) -> Option<u64> {
    let length = bytes.iter().take(LONGEST).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    *bytes = rest;
    let zigzag = number.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    Some(above.wrapping_add(difference as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] Vec<Request>);

    fn request(micros: u64, client: u32, bytes: u64) -> Request {
        let status = if client == 0 { 0 } else { 200 };
        Request {
            at: seconds(micros),
            took: seconds(micros / 3),
            phase: 1,
            client,
            clients: 9,
            status,
            bytes,
        }
    }

    #[test]
    fn requests_are_read_back_exactly() {
        let all = [
            request(28, 0, 49_958),
            request(23_097, 1, 0),
            request(9, 2, u64::MAX),
            request(u64::MAX >> 14, 3, 1),
        ];
        for count in 0..=all.len() {
            let holder = Holder(all[..count].to_vec());
            let json = serde_json::to_string(&holder).unwrap();
            assert_eq!(serde_json::from_str::<Holder>(&json).unwrap(), holder, "{json}");
        }
    }

    #[test]
    fn damaged_strings_are_errors() {
        let whole = columns(&[request(28, 1, 3), request(29, 1, 3)]);
        assert_eq!(requests(&whole[..whole.len() - 1]), None);
        let mut many = Vec::new();
        put(MOST_REQUESTS as u64 + 1, 0, &mut many);
        assert_eq!(requests(&many), None);
        assert_eq!(requests(&[0xff; 20]), None);
        assert!(serde_json::from_str::<Holder>("\"no base64!\"").is_err());
        assert!(serde_json::from_str::<Holder>("\"AAAA\"").is_err());
    }
}
