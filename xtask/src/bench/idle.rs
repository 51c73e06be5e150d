//! What 10,000 idle keep-alive connections cost: each has asked once and stays.

use crate::bench::contestant::{Kind, Running};
use crate::bench::report::Report;
use crate::bench::site::Site;
use crate::bench::{Options, measure, present};
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const CONNECTIONS: u32 = 10_000;

pub(crate) fn run(site: &Site, options: &Options, report: &mut Report) -> Result<()> {
    let count = if options.quick { 1000 } else { CONNECTIONS };
    for kind in present(&[Kind::Hostler, Kind::Nginx], report) {
        eprintln!("idle: {}", kind.name());
        let contestant = Running::start(kind, site, "MaxRequestWorkers 20000\nServerLimit 20000\n")?;
        // Of Hostler only the front holds connections; nginx is workers and little else.
        let prefix = if kind == Kind::Hostler { "hostler-front" } else { "nginx" };
        measure::body(contestant.port, "/small.html")?;
        let before = measure::memory(contestant.pid(), prefix);
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(keep_one(contestant.port).with_context(|| format!("connection {}", held.len() + 1))?);
        }
        std::thread::sleep(Duration::from_secs(1));
        let after = measure::memory(contestant.pid(), prefix);
        let kilobytes = f64::from(u32::try_from(after.saturating_sub(before))?) / f64::from(count);
        report.idle(kind, count, kilobytes, after);
    }
    Ok(())
}

/// A connection that has had one answer.
fn keep_one(port: u16) -> Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
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
