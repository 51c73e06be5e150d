//! The cost of 10,000 idle keep-alive connections: each has sent one request and stays.

use crate::Options;
use crate::drive::float;
use crate::figures::Figure;
use crate::report::Report;
use crate::stage::{Stage, present, title};
use anyhow::{Context, Result, bail};
use hostler_lab::contestant::Running;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECTIONS: u64 = 10_000;

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let count = if options.quick { 1000 } else { CONNECTIONS };
    for name in present(&["hostler", "nginx"], report) {
        let stage = Stage::new("include", "MaxRequestWorkers 20000\nServerLimit 20000\n")?;
        let server = stage.start(name)?;
        drop(keep_one(server.address)?);
        let before = memory(&server, name);
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(keep_one(server.address).with_context(|| format!("connection {}", held.len() + 1))?);
        }
        std::thread::sleep(Duration::from_secs(1));
        let after = memory(&server, name);
        let kilobytes = float(after.saturating_sub(before)) / 1024.0 / float(count);
        report.figure(&format!("idle/{name}"), Figure::of(kilobytes));
        report.line(
            format!("{}: memory (PSS) for each of {count} idle keep-alive connections", title(name)),
            format!("{kilobytes:.1} KiB ({} MiB in all)", after >> 20),
        );
    }
    Ok(())
}

/// Bytes of the processes that hold connections: of Hostler only the front does; nginx is workers and little else.
fn memory(server: &Running, name: &str) -> u64 {
    let prefix = if name == "hostler" { "hostler-front" } else { name };
    let all = server.held().into_iter().filter(|held| held.name.starts_with(prefix));
    all.map(|held| held.proportional).sum()
}

/// A connection that has had one answer.
fn keep_one(address: SocketAddr) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(b"GET /small.html HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut piece = [0; 8192];
    let mut have = Vec::new();
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            bail!("closed by the server");
        }
        have.extend_from_slice(&piece[..count]);
        // The file's own last byte ends the answer.
        let header = have.windows(4).position(|window| window == b"\r\n\r\n");
        if header.is_some_and(|end| have.len() >= end + 4 + 4096) {
            return Ok(stream);
        }
    }
}
