//! The planner's part: makes the plan that the file `plan` in the test's directory describes.
//!
//! Words in that file, one a line: `listen ADDRESS`, `front UID`, `site NAME UID`, `engine NAME`, `pid-file PATH`,
//! `behave WORD` (what the front does when told to go), `timeout MS`, `drain-timeout SECONDS`,
//! `exit STATUS`, `refuse REASON`, `hang`, `garbage`.

use hostler_sys::fdpass::{inherited, send_all};
use hostler_wire::build::Build;
use hostler_wire::frame;
use hostler_wire::plan::{Identity, MasterPlan, Plan, Planned, SitePlan};
use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn main(directory: &str) -> ExitCode {
    let directory = Path::new(directory);
    let text = std::fs::read_to_string(directory.join("plan")).unwrap();
    let mut master = MasterPlan {
        listeners: Vec::new(),
        backlog: 50,
        front: None,
        sites: Vec::new(),
        engines: Vec::new(),
        pid_file: None,
        ready_timeout_ms: 2000,
        drain_timeout_secs: 60,
        stop_timeout_secs: 60,
        drain_delay_secs: 0,
        told: Vec::new(),
        logs: Vec::new(),
    };
    let mut front = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["listen", address] => master.listeners.push(address.parse().unwrap()),
            ["front", uid] => master.front = identity(uid),
            ["site", name, uid] => {
                master.sites.push(SitePlan {
                    name: name.to_string(),
                    identity: identity(uid),
                    limits: hostler_wire::plan::SiteLimits::default(),
                });
            }
            ["engine", name] => master.engines.push(name.to_string()),
            ["pid-file", path] => master.pid_file = Some(path.to_string()),
            ["behave", word] => front = word.as_bytes().to_vec(),
            ["drain-timeout", seconds] => master.drain_timeout_secs = seconds.parse().unwrap(),
            ["stop-timeout", seconds] => master.stop_timeout_secs = seconds.parse().unwrap(),
            ["drain-delay", seconds] => master.drain_delay_secs = seconds.parse().unwrap(),
            ["timeout", ms] => master.ready_timeout_ms = ms.parse().unwrap(),
            ["exit", status] => return ExitCode::from(status.parse::<u8>().unwrap()),
            ["refuse", why] => return refuse(why),
            // Time: it hangs until it is killed.
            ["hang"] => std::thread::sleep(std::time::Duration::from_secs(60)),
            ["garbage"] => send_all(inherited(3).unwrap().as_fd(), &[0xff; 100], &[]).unwrap(),
            [] => {}
            _ => panic!("{line}"),
        }
    }
    send(&Plan { master, front, logs: 1 }, &log(directory));
    ExitCode::SUCCESS
}

fn refuse(why: &str) -> ExitCode {
    let mut bytes = Vec::new();
    frame::encode(&Build::own(), 0, &mut bytes).unwrap();
    frame::encode(&Planned::Err(why.to_string()), 0, &mut bytes).unwrap();
    send_all(inherited(3).unwrap().as_fd(), &bytes, &[]).unwrap();
    ExitCode::FAILURE
}

fn identity(uid: &str) -> Option<Identity> {
    let uid = uid.parse().ok()?;
    Some(Identity { uid, gid: uid, groups: Vec::new() })
}

fn log(directory: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(directory.join("log")).unwrap()
}

fn send(plan: &Plan, log: &File) {
    let socket = inherited(3).unwrap();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    frame::encode(&Build::own(), 0, &mut first).unwrap();
    frame::encode(&Planned::Ok(plan.clone()), 0, &mut first).unwrap();
    send_all(socket.as_fd(), &first, &[]).unwrap();
    frame::encode(&(), 1, &mut second).unwrap();
    send_all(socket.as_fd(), &second, &[log.as_fd()]).unwrap();
}
