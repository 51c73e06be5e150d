use super::*;
use hostler_gateway::pool::{BUCKETS, Histogram, WorkerStatus};

fn snapshot() -> Snapshot {
    let worker = |id, state| WorkerStatus {
        id,
        pid: 100 + id,
        state,
        requests: 7,
        memory: 4096,
        since: Duration::from_secs(3),
    };
    let mut counts = [0; BUCKETS.len() + 1];
    counts[1] = 9;
    counts[4] = 1;
    let pool = Status {
        name: "a \"b\" <c>".into(),
        workers: vec![worker(1, WorkerState::Idle), worker(2, WorkerState::Busy)],
        queue: 3,
        served: 10,
        latency: Histogram { counts, sum: 1_500_000 },
        errors: vec![(hostler_gateway::Kind::Timeout, 2)],
        ..Status::default()
    };
    let totals = Totals {
        requests: 4,
        bytes: 4096,
        microseconds: 8000,
        classes: [0, 0, 3, 0, 0, 1],
        ..Totals::default()
    };
    Snapshot {
        product: "Hostler".into(),
        server_name: "a.example".into(),
        local: "192.0.2.1".into(),
        built: "Nov 12 2026 08:58:41".into(),
        now: UNIX_EPOCH + Duration::from_secs(1_000_000),
        uptime: Duration::from_secs(3661),
        load: ["0.1".into(), "0.2".into(), "0.3".into()],
        processor: (1.5, 0.5),
        connections: 5,
        generation: 3,
        sites: vec![Site {
            name: "#1001".into(),
            totals,
            limits: Limits::None,
            programs: Figures { running: 3, waiting: 7 },
        }],
        pools: vec![pool],
        balancers: Vec::new(),
        draining: false,
    }
}

#[test]
fn monitors_of_mod_status_find_their_lines() {
    let text = auto::text(&snapshot());
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    for (name, expected) in [
        ("Total Accesses", "4"),
        ("Total kBytes", "4"),
        ("Uptime", "3661"),
        ("ParentServerConfigGeneration", "3"),
        ("ParentServerMPMGeneration", "2"),
        ("BusyWorkers", "2"),
        ("IdleWorkers", "1"),
        ("BytesPerReq", "1024.000"),
        ("DurationPerReq", "2.000000"),
        ("ServerUptime", "1 hour 1 minute 1 second"),
        ("CurrentTime", "Monday, 12-Jan-1970 13:46:40 UTC"),
    ] {
        assert_eq!(value(name).as_deref(), Some(expected), "{name}\n{text}");
    }
    assert!(value("Scoreboard").is_some_and(|board| board.starts_with("W_W.") && board.len() == 64));
}

#[test]
fn the_page_escapes_what_it_shows() {
    let page = html::page(&snapshot(), Lists::Tables);
    assert!(page.contains("Pool a &quot;b&quot; &lt;c&gt;") && !page.contains("<c>"), "{page}");
    assert!(page.contains("Half of the answers took up to 100 µs, 99 of 100 up to 1 ms"), "{page}");
}

#[test]
fn workers_are_rows_or_lines() {
    let [rows, lines] = [Lists::Tables, Lists::Lines].map(|lists| html::page(&snapshot(), lists));
    assert!(rows.contains("<td>101</td><td>_</td>") && !rows.contains("<b>Server 1</b>"), "{rows}");
    assert!(lines.contains("<b>Server 2</b> (102): 7 [W] 3 s, 4 kB<br>"), "{lines}");
    assert!(!lines.contains("<th>PID</th>"), "{lines}");
}

#[test]
fn histograms_are_cumulative() {
    let text = metrics::text(&snapshot());
    let pool = r#"pool="a \"b\" <c>""#;
    for line in [
        format!("hostler_pool_request_seconds_bucket{{{pool},le=\"0.00005\"}} 0"),
        format!("hostler_pool_request_seconds_bucket{{{pool},le=\"0.0001\"}} 9"),
        format!("hostler_pool_request_seconds_bucket{{{pool},le=\"+Inf\"}} 10"),
        format!("hostler_pool_request_seconds_sum{{{pool}}} 1.5"),
        format!("hostler_pool_workers{{{pool},state=\"busy\"}} 1"),
        "hostler_requests_total{site=\"#1001\",class=\"5xx\"} 1".to_owned(),
        "hostler_site_programs{site=\"#1001\",state=\"waiting\"} 7".to_owned(),
    ] {
        assert!(text.lines().any(|there| there == line), "{line}\n{text}");
    }
}

#[test]
fn a_refresh_is_a_number_of_seconds() {
    for five in [b"refresh=5".as_slice(), b"auto&refresh=5", b"refresh=5;auto", b"refresh=5\r\nX: y"] {
        assert_eq!(refresh(five).as_deref(), Some(b"5".as_slice()), "{}", five.escape_ascii());
    }
    for other in [b"refresh".as_slice(), b"refresh=", b"refresh=0", b"refresh=-1", b"refresh=x"] {
        assert_eq!(refresh(other).as_deref(), Some(b"10".as_slice()), "{}", other.escape_ascii());
    }
    assert_eq!(refresh(b"other=5"), None);
}
