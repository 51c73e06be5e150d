//! `hostler-live`, `hostler-ready` and `HostlerHealth`, and the delay between "not ready" and "refused".

use super::await_refusal;
use crate::faults::until;
use hostler_tests::{Server, Site};
use rustix::process::Signal;

fn server(config: &str) -> Server {
    Site::new().file("htdocs/x", "x").config(config).start()
}

fn report(server: &Server, path: &str) -> (u16, String) {
    let response = server.get(path);
    assert_eq!(response.field("Cache-Control"), Some("no-store"), "{path}");
    (response.status, response.text())
}

#[test]
fn a_stopping_server_is_live_and_not_ready_and_still_accepts_connections() {
    let handlers = "<Location /h/live>\nSetHandler hostler-live\n</Location>\n\
                    <Location /h/ready>\nSetHandler hostler-ready\n</Location>\n";
    let paths = "HostlerHealth /-/live /-/ready\n<Location />\nRequire all denied\n</Location>\n";
    for (config, live, ready) in [(handlers, "/h/live", "/h/ready"), (paths, "/-/live", "/-/ready")] {
        let mut server = server(&format!("HostlerDrainDelay 3600\n{config}"));
        assert_eq!(report(&server, live), (200, "live\n".to_owned()));
        assert_eq!(report(&server, ready), (200, "ready\n".to_owned()));
        server.signal(Signal::TERM);
        let stopping =
            until("it is not ready", || Some(report(&server, ready)).filter(|(status, _)| *status != 200));
        assert_eq!(stopping, (503, "the server is stopping\n".to_owned()));
        assert_eq!(report(&server, live).0, 200);
        server.signal(Signal::TERM);
        assert!(server.await_end().success());
    }
}

#[test]
fn listeners_close_after_the_delay() {
    let mut server = server("HostlerDrainDelay 1\n");
    server.signal(Signal::TERM);
    await_refusal(&server);
    assert!(server.await_end().success());
}

#[test]
fn a_report_is_read_only_and_the_paths_can_be_off() {
    let server = server("HostlerHealth /-/live /-/ready\n");
    let refused = server.request(b"POST /-/ready HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((refused.status, refused.field("Allow")), (405, Some("GET,HEAD")));
    assert_eq!(server.get("/-/ready?query").status, 200);
    assert_eq!(server.get("/-/readyx").status, 404);
    let off = super::health::server("HostlerHealth /-/live /-/ready\nHostlerHealth off\n");
    assert_eq!(off.get("/-/ready").status, 404);
}
