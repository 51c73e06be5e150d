//! The header of the PROXY protocol, with which a connection may begin.

use hostler_http1::proxy_protocol::{ENOUGH, Start, start};

/// The input is what a connection begins with.
pub fn target(data: &[u8]) {
    let whole = start(data);
    if let Start::Header { length, .. } = whole {
        assert!((8..=4096).contains(&length));
        // What comes behind it changes nothing.
        let longer = [data, b"GET / HTTP/1.1\r\n"].concat();
        assert_eq!(start(&longer), whole);
    }
    // So many bytes are enough to tell.
    if data.len() >= ENOUGH {
        assert_ne!(whole, Start::More);
        assert_eq!(start(&data[..ENOUGH]), whole);
    }
    // As it comes byte by byte: nothing is told before it is certain, and then it stays so.
    for n in 0..data.len().min(ENOUGH) {
        match start(&data[..n]) {
            Start::More => {}
            told => assert_eq!(told, whole, "after {n} bytes"),
        }
    }
}
