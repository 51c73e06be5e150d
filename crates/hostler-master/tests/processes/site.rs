//! The site's part: tells about itself on its socket, and on each that is attached later, and stays until the fronts
//! have closed them. A site named `crash` ends at once; one named `stubborn` stays although its front is gone.

use hostler_sys::fdpass::Wait;
use hostler_sys::fdpass::{inherited, recv, send_all};
use hostler_sys::poll::{Watch, wait};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

pub(crate) fn main(name: &str) -> ExitCode {
    let socket = inherited(3).unwrap();
    let fds = super::front::open_numbers();
    let door = inherited(4).unwrap();
    if name == "crash" {
        return ExitCode::from(3);
    }
    // Whatever is said there reaches nobody.
    send_all(door.as_fd(), b"listen to me", &[]).unwrap_err();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let said = format!("Fds: {fds}\nName: {name}\n{status}");
    let mut connections: Vec<OwnedFd> = vec![socket];
    send_all(connections[0].as_fd(), said.as_bytes(), &[]).unwrap();
    while !connections.is_empty() {
        let watched =
            connections.iter().chain([&door]).map(|socket| Watch { fd: socket.as_fd(), write: false });
        let ready = wait(&watched.collect::<Vec<_>>(), None).unwrap();
        let mut at = ready.iter();
        connections.retain(|socket| {
            let readable = at.next().is_some_and(|ready| ready.read);
            !readable || recv(socket.as_fd(), &mut [0; 8], &mut Vec::new(), Wait::Yes).is_ok_and(|n| n > 0)
        });
        if at.next().is_some_and(|ready| ready.read) {
            let mut attached = Vec::new();
            recv(door.as_fd(), &mut [0; 64], &mut attached, Wait::Yes).unwrap();
            let greeted = attached.iter().map(|socket| send_all(socket.as_fd(), said.as_bytes(), &[]));
            greeted.for_each(Result::unwrap);
            connections.append(&mut attached);
        }
    }
    if name == "stubborn" {
        // Time: it stays until it is killed.
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    ExitCode::SUCCESS
}
