//! The cost of a site's Java virtual machine: CPU time up to the first response of a small application, and its own
//! memory after the last request.

use crate::Options;
use crate::drive::float;
use crate::figures::Figure;
use crate::memory::mebibytes;
use crate::report::Report;
use crate::stage::{Stage, present};
use anyhow::{Context, Result, ensure};
use hostler_lab::application;
use hostler_lab::contestant::{ProcessMemory, Running};
use hostler_lab::method::statistics::median;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The idle time before its memory is counted.
const REST: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    let techniques = application::techniques("hello", &application::Options::default())?;
    let servlet = techniques.iter().find(|one| one.name == "servlet").context("hello has a servlet")?;
    if present(&["hostler"], report).is_empty() {
        return Ok(());
    }
    if let Some(why) = servlet.unavailable_at("hostler") {
        report.absent("a Java virtual machine", &why);
        return Ok(());
    }
    let (mut processor, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..options.times().min(5) {
        // A new one each time: the archive of compiled pages and sessions is the site's own, and is not there yet.
        let stage = Stage::new("hello", "")?;
        let server = stage.start("hostler")?;
        let used = || server.cost().processor.context("processor time can't be counted here");
        let before = used()?;
        ask(&server)?;
        processor.push(used()? - before);
        std::thread::sleep(REST);
        memory.push(float(virtual_machine(&server).context("no virtual machine runs")?.private));
    }
    let (seconds, bytes) = (median(&processor).unwrap_or(f64::NAN), median(&memory).unwrap_or(f64::NAN));
    report.figure("jvm/first", Figure::of(seconds));
    report.figure("jvm/idle", Figure::of(bytes / 1_048_576.0));
    report.line(
        "a site's Java virtual machine: processor time up to its first answer".into(),
        format!("{seconds:.2} s"),
    );
    report.line(
        "the same: memory of its own when idle (USS)".into(),
        format!("{} MiB", mebibytes(bytes as u64)),
    );
    Ok(())
}

/// The first request, which waits until all has started.
fn ask(server: &Running) -> Result<()> {
    let mut stream = TcpStream::connect(server.address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /servlet/hello HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.ends_with("\r\n\r\nHello"), "the servlet answers {answer:?}");
    Ok(())
}

/// The largest of the server's processes that is not the server's own.
fn virtual_machine(server: &Running) -> Option<ProcessMemory> {
    let own = ["hostler-front", "hostler-master", "hostler-site", "hostler"];
    let others = server.held().into_iter().filter(|held| !own.contains(&held.name.as_str()));
    others.max_by_key(|held| held.private)
}
