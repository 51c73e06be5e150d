//! Room in pipes: the kernel bounds it for each user (`fs.pipe-user-pages-soft`), and a program may enlarge its own.

use super::{Attack, B, Owned, tenants};
use hostler_tests::{Server, needs_root};

/// Leaves a process behind that holds the program's pipes, as large as they may be, until `go` is there.
const HOARDS: &str = r#"#!/usr/bin/perl
for my $pipe (\*STDIN, \*STDOUT, \*STDERR) {
    for (my $size = 1 << 20; $size > 8192; $size /= 2) { last if fcntl $pipe, 1031, $size }
}
$0 =~ m{(.*)/cgi-bin/};
my $folder = "$1/htdocs";
unless (fork) {
    POSIX::setsid() if require POSIX;
    open my $held, '>', "$folder/held.$$";
    until (-e "$folder/go" || !-d $folder) { select undef, undef, undef, 0.05 }
    exit;
}
print "Content-Type: text/plain\n\n", fcntl(STDOUT, 1032, 0), "\n";
"#;
/// Says how much its pipes hold.
const TELLS: &str = "print \"Content-Type: text/plain\\n\\n\", join ' ', map { fcntl $_, 1032, 0 }";

fn sizes(server: &Server, path: &str) -> String {
    let text = "POST {path} HTTP/1.1\r\nHost: b.test\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    let mut connection = server.connect();
    connection.send(text.replace("{path}", path));
    connection.response().text()
}

#[test]
fn who_enlarges_pipes_takes_the_room_from_nobody_else() {
    needs_root!();
    let cgi = format!("#!/usr/bin/perl\n{TELLS} \\*STDIN, \\*STDOUT, \\*STDERR;\n");
    let server = tenants("HostlerSitePrograms 100\n")
        .config(super::workers::PERL)
        .a_script("cgi-bin/hoards", HOARDS)
        .script("b/cgi-bin/tells", cgi)
        .owner("b/cgi-bin/tells", B)
        .dir("b/htdocs/perl")
        .script("b/htdocs/perl/tells", format!("open my $errors, '>&=', 2;\n{TELLS} $errors;\n"))
        .owner("b/htdocs/perl/tells", B)
        .start();
    let whole = "65536";
    assert_eq!(sizes(&server, "/cgi-bin/tells"), [whole; 3].join(" "), "{}", server.error_log());
    Attack::new("programs that enlarge their pipes and keep them", 16).run(&server, || {
        let hoard = || server.get_with("/cgi-bin/hoards", "Host: a.test\r\n").text();
        // Twice 64 MiB: what the front's user may have, and what A may have itself. The answers are slow, because what
        // holds their pipes might be about to say something.
        std::thread::scope(|scope| (0..80).for_each(|_| drop(scope.spawn(hoard))));
        assert_ne!(hoard().trim(), "1048576", "there is room without end here; is there a limit at all?");
        assert_eq!(sizes(&server, "/cgi-bin/tells"), [whole; 3].join(" "), "{}", server.error_log());
        assert_eq!(sizes(&server, "/perl/tells"), whole, "{}", server.error_log());
        std::fs::write(server.site().path("a/htdocs/go"), "").expect("a file");
    });
}
