//! Names that a tenant has looked up: a name server that does not answer holds a thread for many seconds, and there are
//! only so many.

use super::{B, Owned, tenants};
use hostler_tests::needs_root;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};

/// More than the front has threads for what waits.
const MANY: usize = 1200;

/// A name server that hears and never says anything.
fn name_server() -> UdpSocket {
    let of_process = std::process::id();
    let host = (of_process / 250 % 250 + 1) as u8;
    UdpSocket::bind((Ipv4Addr::new(127, 53, host, (of_process % 250 + 1) as u8), 53)).expect("a name server")
}

#[test]
fn names_that_nobody_tells_hold_up_nobody_else() {
    needs_root!();
    let names = name_server();
    names.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a timeout");
    let address = names.local_addr().expect("its address").ip();
    let login = "<Location /closed>\nAuthType Basic\nAuthName x\nAuthUserFile \"@ROOT@/b/users\"\n\
                 Require valid-user\n</Location>";
    // eve:x
    let users = "eve:$apr1$h4W5HAWS$.77QU3nRZN4dij58ut2JR.\n";
    let site = tenants("")
        .config(&format!("HostlerConnectionsPerAddress max\nHostlerSiteConnections max\n{login}"))
        .descriptors(8192)
        .a_file("htdocs/names/.htaccess", "Require forward-dns nobody.test")
        .a_file("htdocs/names/a.html", "A's page")
        .file("b/users", users)
        .owner("b/users", B)
        .file("b/htdocs/closed/b.html", "B's page")
        .file("resolv.conf", format!("nameserver {address}\noptions timeout:30 attempts:1\n"));
    let wrapper = "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind \"$NAMES\" /etc/resolv.conf && exec \"$0\" \"$@\"' \
                   \"$HOSTLER\" \"$@\"\n";
    let site = site.script("hostler", wrapper).environment("NAMES", "@ROOT@/resolv.conf");
    let site = site.environment("HOSTLER", &hostler_tests::hostler().display().to_string());
    let program = site.path("hostler");
    let server = site.command(program).start();
    let clients: Vec<TcpStream> = (0..MANY)
        .map(|_| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("a connection");
            stream.write_all(b"GET /names/a.html HTTP/1.1\r\nHost: a.test\r\n\r\n").expect("it is sent");
            stream.set_nonblocking(true).expect("its mode");
            stream
        })
        .collect();
    // The server has asked.
    let mut question = [0; 512];
    names.recv(&mut question).expect("a question");
    for _ in 0..100 {
        let answer = server.get_with("/closed/b.html", "Host: b.test\r\nAuthorization: Basic ZXZlOng=\r\n");
        assert_eq!(answer.status, 401, "the password is another one");
    }
    let answered = clients.iter().filter(|client| (&mut &**client).read(&mut [0; 64]).is_ok()).count();
    assert_eq!(answered, 0, "of A's requests, which wait for names");
}
