use super::*;

/// The bytes of a frame, as `docs/protocol.md` shows them: numbers in hexadecimal, text in quotes, the rest are remarks.
fn vector(name: &str) -> Vec<u8> {
    let page = include_str!("../../../../docs/protocol.md");
    let block =
        page.split("```").find(|block| block.strip_prefix("bytes ").is_some_and(|b| b.starts_with(name)));
    let block = block.unwrap_or_else(|| panic!("docs/protocol.md has no bytes {name:?}"));
    let mut bytes = Vec::new();
    for line in block.lines().skip(1) {
        let (line, _) = line.split_once('#').unwrap_or((line, ""));
        for word in line.split_whitespace() {
            match word.strip_prefix('"') {
                Some(text) => bytes.extend_from_slice(text.trim_end_matches('"').as_bytes()),
                None => bytes.push(u8::from_str_radix(word, 16).unwrap_or_else(|e| panic!("{word}: {e}"))),
            }
        }
    }
    bytes
}

fn to(name: &str, message: &ToEngine, fds: usize) {
    let mut bytes = Vec::new();
    message.encode(fds, &mut bytes).unwrap();
    assert_eq!(bytes, vector(name), "{name}");
    assert_eq!(ToEngine::decode(&bytes[frame::HEAD..]).as_ref(), Ok(message));
    assert!(ToEngine::decode(&bytes[frame::HEAD..bytes.len() - 1]).is_err());
}

fn from(name: &str, message: &FromEngine) {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    assert_eq!(bytes, vector(name), "{name}");
    assert_eq!(FromEngine::decode(&bytes[frame::HEAD..]).as_ref(), Ok(message));
    bytes.push(0);
    assert!(FromEngine::decode(&bytes[frame::HEAD..]).is_err());
}

#[test]
fn frames_to_an_engine_are_as_documented() {
    to("Wakers", &ToEngine::Wakers, 2);
    to("Fork", &ToEngine::Fork { worker: 7 }, 2);
    to("Retire", &ToEngine::Retire { worker: 7 }, 0);
    let server = ServerFacts {
        name: "a.example".into(),
        port: 443,
        is_virtual: true,
        log_level: 4,
        timeout: 60,
        keep_alive: true,
        keep_alive_timeout: 5000,
        keep_alive_max: 100,
        aliases: vec!["b".into()],
        ..ServerFacts::default()
    };
    let setup = Setup {
        title: "site".into(),
        server_root: "/srv".into(),
        servers: vec![server],
        one_shot: false,
        max_requests: 1000,
        cpu: Some((2, u64::MAX)),
        own: vec![1, 2, 3],
        places: vec!["f:1".into()],
    };
    to("Setup", &ToEngine::Setup(Box::new(setup)), 0);
}

#[test]
fn frames_of_an_engine_are_as_documented() {
    from("Ready", &FromEngine::Ready { version: "echo 1".into(), workers: 0 });
    from("Began", &FromEngine::Began { worker: 7 });
    from("Forked", &FromEngine::Forked { worker: 7, pid: 4242 });
    from("ForkFailed", &FromEngine::ForkFailed { worker: 7, errno: 11 });
    from("WorkerFailed", &FromEngine::WorkerFailed { worker: 7, why: "no".into() });
    from("Exited", &FromEngine::Exited { worker: 7, exit: Exit::Signal(9) });
}

#[test]
fn names_of_engines_mean_nothing_in_a_path() {
    for name in ["perl", "php-8.2", "x"] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", "../perl", "a/b", "a:b", ".d", "8", "Perl", "a_b", &"a".repeat(33)] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn all_other_frames_come_back() {
    for message in
        [ToEngine::Door, ToEngine::Adopt, ToEngine::Kill { worker: 1 }, ToEngine::Setup(Box::default())]
    {
        let mut bytes = Vec::new();
        message.encode(0, &mut bytes).unwrap();
        assert_eq!(ToEngine::decode(&bytes[frame::HEAD..]), Ok(message));
    }
    let failed = FromEngine::Failed { why: "syntax error".into() };
    for message in [FromEngine::Hello(Build::own()), FromEngine::Stale, failed] {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        assert_eq!(FromEngine::decode(&bytes[frame::HEAD..]), Ok(message));
    }
    assert!(ToEngine::decode(&[9]).is_err() && FromEngine::decode(&[]).is_err());
}
