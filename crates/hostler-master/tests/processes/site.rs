//! The site's part: tells about itself on its socket and stays until the front closes it. A site named `crash`
//! ends at once; one named `stubborn` stays although its front is gone.

use hostler_sys::fdpass::Wait;
use hostler_sys::fdpass::{inherited, recv, send_all};
use std::os::fd::AsFd;
use std::process::ExitCode;

pub(crate) fn main(name: &str) -> ExitCode {
    let socket = inherited(3).unwrap();
    let fds = super::front::open_numbers();
    if name == "crash" {
        return ExitCode::from(3);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let said = format!("Fds: {fds}\nName: {name}\n{status}");
    send_all(socket.as_fd(), said.as_bytes(), &[]).unwrap();
    let _ = recv(socket.as_fd(), &mut [0; 8], &mut Vec::new(), Wait::Yes);
    if name == "stubborn" {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    ExitCode::SUCCESS
}
