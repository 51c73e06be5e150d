//! Remains of a script: locks, transactions, memory, connections; and a php.ini that changes.

use super::{INI, site};
use crate::faults::await_that;
use rustix::process::Signal;

#[test]
fn locks_and_transactions_end_with_their_request() {
    needs_php!("pdo_sqlite");
    let open = "<?php $d = new PDO('sqlite:' . sys_get_temp_dir() . '/' . basename(dirname(__DIR__)) . '.db', null, null, [PDO::ATTR_PERSISTENT => true]);
        $d->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION); $d->exec('CREATE TABLE IF NOT EXISTS t (n)');
        static $f; $f = fopen(__FILE__, 'r');";
    let server = site(&[
        (
            "leave.php",
            &format!("{open} $d->beginTransaction(); $d->exec('INSERT INTO t VALUES (1)'); echo (int) flock($f, LOCK_EX); if (isset($_GET['fatal'])) nothing();"),
        ),
        (
            "next.php",
            &format!("{open} echo (int) $d->inTransaction(), $d->query('SELECT COUNT(*) FROM t')->fetchColumn(), (int) flock($f, LOCK_EX | LOCK_NB), getmypid() > 0; $d->exec('DROP TABLE t');"),
        ),
    ])
    .config("MaxRequestWorkers 1")
    .start();
    for target in ["/leave.php", "/leave.php?fatal"] {
        assert!(server.get(target).text().starts_with('1'));
        assert_eq!(server.get("/next.php").text(), "0011", "{target}");
    }
}

#[test]
fn a_connection_to_a_database_outlives_its_request() {
    needs_php!();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let text = format!("<?php $s = pfsockopen('127.0.0.1', {port}); fwrite($s, $_GET['n']); echo 'sent';");
    let server = site(&[("a.php", &text)]).config("MaxRequestWorkers 1").start();
    for n in 1..=3 {
        assert_eq!(server.get(&format!("/a.php?n={n}")).text(), "sent");
    }
    let mut heard = [0; 3];
    std::io::Read::read_exact(&mut listener.accept().expect("the only one").0, &mut heard)
        .expect("three bytes");
    assert_eq!(&heard, b"123");
}

#[test]
fn a_script_that_takes_more_than_its_process_may_have_costs_its_own_request() {
    needs_php!();
    let text = "<?php ini_set('memory_limit', -1); $a = []; while (true) $a[] = str_repeat('x', 1 << 20);";
    let server =
        site(&[("a.php", text), ("b.php", "<?php echo 'good';")]).config("RLimitMEM 600000000").start();
    let answer = server.get("/a.php");
    assert!([500, 502].contains(&answer.status), "{}", answer.status);
    drop(server.await_error("Out of memory"));
    assert_eq!(server.get("/b.php").text(), "good");
}

#[test]
fn a_php_ini_that_has_changed_counts_after_a_reload() {
    needs_php!();
    let server = site(&[("a.php", "<?php echo ini_get('precision');")])
        .file("php.ini", format!("{INI}precision=5\n"))
        .config("HostlerPoolIdle 300")
        .start();
    assert_eq!(server.get("/a.php").text(), "5");
    std::fs::write(server.site().path("php.ini"), format!("{INI}precision=6\n")).expect("ours");
    server.signal(Signal::HUP);
    await_that("the new setting counts", || server.get("/a.php").text() == "6");
}
