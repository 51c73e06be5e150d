//! The planner, black box: a configuration in, a plan with its log descriptors (or errors) out.
//!
//! Most of it is about what root may do for tenants, so it needs root; without it those tests say so and pass.
#![allow(clippy::unwrap_used)]

use hostler_sys::fdpass::recv_exact;
use hostler_sys::process::{self, ExitCause, Identity, Program, Spawn};
use hostler_wire::build::Build;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::plan::{FrontPlan, Plan, Planned};
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const TENANT: u32 = 64_895;
const OTHER: u32 = 64_896;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A ServerRoot, gone when dropped.
struct Root(PathBuf);

/// The planner's result.
struct Outcome {
    ended: ExitCause,
    errors: String,
    plan: Option<(Plan, FrontPlan, Vec<OwnedFd>)>,
}

impl Root {
    fn new(configuration: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hostler-plan-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("logs")).unwrap();
        let common = "Listen 127.0.0.1:8099\nUser #64894\nGroup #64894\nErrorLog logs/error.log\n";
        fs::write(path.join("httpd.conf"), format!("{common}{configuration}")).unwrap();
        Self(path)
    }

    /// A directory in it that belongs to a tenant.
    fn home(&self, owner: u32) -> PathBuf {
        let home = self.0.join(format!("home-{owner}"));
        fs::create_dir(&home).unwrap();
        chown(&home, Some(owner), Some(owner)).unwrap();
        home
    }

    /// Gives the whole to the user that the planner runs as, where that is not root.
    fn give_to(&self, uid: Option<u32>) {
        if uid.is_some() {
            chown(&self.0, uid, uid).unwrap();
            chown(self.0.join("logs"), uid, uid).unwrap();
        }
    }

    fn plan(&self) -> Outcome {
        self.plan_as(None, &[])
    }

    fn plan_as(&self, uid: Option<u32>, more: &[&str]) -> Outcome {
        let program = Program::open(Path::new(env!("CARGO_BIN_EXE_hostler"))).unwrap();
        let file = self.0.join("httpd.conf");
        let mut args = vec!["hostler", "plan", "run", "-f", file.to_str().unwrap()];
        args.extend(more);
        let args: Vec<CString> = args.into_iter().map(|arg| CString::new(arg).unwrap()).collect();
        let (ours, theirs) = hostler_sys::socket::stream_pair().unwrap();
        let (mut said, stderr) = std::io::pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        let identity = uid.map(|uid| Identity { uid, gid: uid, groups: Vec::new() });
        let pid = process::spawn(&Spawn {
            program: &program,
            args: &args,
            env: &[c"PATH=/usr/bin:/bin".to_owned()],
            fds: &[(null.as_fd(), 0), (stderr.as_fd(), 1), (stderr.as_fd(), 2), (theirs.as_fd(), 3)],
            identity: identity.as_ref(),
            group: None,
            limits: &[],
            directory: Some(c"/"),
            no_new_privs: false,
            dies_with_parent: true,
            own_session: true,
        })
        .unwrap();
        drop((theirs, stderr));
        let plan = receive(&ours);
        let mut errors = String::new();
        said.read_to_string(&mut errors).unwrap();
        Outcome { ended: process::wait(pid).unwrap(), errors, plan }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads frames until the log descriptors are complete.
fn receive(socket: &OwnedFd) -> Option<(Plan, FrontPlan, Vec<OwnedFd>)> {
    let mut fds = Vec::new();
    let hello: Build = frame::decode(&frame_body(socket, &mut fds)?).unwrap();
    assert_eq!(hello, Build::own());
    let body = frame_body(socket, &mut fds)?;
    let planned: Planned = frame::decode(&body).unwrap();
    let plan = planned.ok()?;
    while fds.len() < plan.logs as usize {
        assert!(frame_body(socket, &mut fds).unwrap().is_empty());
    }
    let front = postcard::from_bytes(&plan.front).unwrap();
    Some((plan, front, fds))
}

fn frame_body(socket: &OwnedFd, fds: &mut Vec<OwnedFd>) -> Option<Vec<u8>> {
    let mut head = [0; HEAD];
    recv_exact(socket.as_fd(), &mut head, fds).ok()?;
    let mut body = vec![0; Head::decode(head).unwrap().body];
    recv_exact(socket.as_fd(), &mut body, fds).unwrap();
    Some(body)
}

impl Outcome {
    fn good(self) -> (Plan, FrontPlan, Vec<OwnedFd>) {
        assert_eq!((self.ended, self.errors.as_str()), (ExitCause::Status(0), ""));
        self.plan.unwrap()
    }

    /// Asserts that there is a plan with each of these in a warning, and that what would go to the tenant's log
    /// goes to the main one.
    fn warned(self, parts: &[&str], root: &Root) {
        assert!(self.errors.starts_with("hostler: warning:"), "{}", self.errors);
        for part in parts {
            assert!(self.errors.contains(part), "{part:?} is not in {:?}", self.errors);
        }
        let (_, front, fds) = self.plan.unwrap();
        for (log, fd) in front.logs.iter().zip(fds) {
            File::from(fd).write_all(format!("for {}\n", log.target).as_bytes()).unwrap();
        }
        let main = fs::read_to_string(root.0.join("logs/error.log")).unwrap();
        assert!(main.contains("home-64895/error.log\n"), "{main}");
    }

    /// Asserts that it was refused with each of these in the message.
    fn refused(&self, parts: &[&str]) {
        assert_eq!(self.ended, ExitCause::Status(1), "{}", self.errors);
        assert!(self.plan.is_none());
        for part in parts {
            assert!(self.errors.contains(part), "{part:?} is not in {:?}", self.errors);
        }
    }
}

fn root(test: &str) -> bool {
    let root = process::is_root();
    if !root {
        hostler_untested::not_tested(test, "it changes users, which takes root");
    }
    root
}

fn host(owner: u32, more: &str) -> String {
    format!(
        "<VirtualHost *:8099>\nServerName x{owner}\nAssignUserID #{owner} #{owner}\n{more}\n</VirtualHost>\n"
    )
}

#[test]
fn identities_sites_and_logs_are_planned() {
    if !root("identities_sites_and_logs_are_planned") {
        return;
    }
    let many: String = (0..10).map(|n| host(TENANT, &format!("CustomLog logs/{n}.log common"))).collect();
    let root = Root::new(&format!("PidFile run.pid\n{many}{}", host(OTHER, "")));
    let (plan, front, fds) = root.plan().good();
    let master = plan.master;
    assert_eq!(master.pid_file.as_deref(), root.0.join("run.pid").to_str());
    assert_eq!(master.listeners, ["127.0.0.1:8099".parse().unwrap()]);
    let uids: Vec<u32> = master.sites.iter().map(|site| site.identity.as_ref().unwrap().uid).collect();
    assert_eq!(uids, [64_894, TENANT, OTHER]);
    let front_uid = master.front.unwrap().uid;
    assert!(front_uid != 0 && !uids.contains(&front_uid));
    assert_eq!(front.sites, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!((front.logs.len(), fds.len()), (11, 11));
    for (log, fd) in front.logs.iter().zip(fds) {
        File::from(fd).write_all(log.target.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&log.target).unwrap(), log.target);
    }
}

#[test]
fn a_log_in_a_tenants_directory_is_the_tenants() {
    if !root("a_log_in_a_tenants_directory_is_the_tenants") {
        return;
    }
    let root = Root::new(&host(TENANT, &format!("ErrorLog home-{TENANT}/error.log")));
    let home = root.home(TENANT);
    let (_, front, fds) = root.plan().good();
    let at = front.logs.iter().position(|log| log.target.contains("home-")).unwrap();
    File::from(fds.into_iter().nth(at).unwrap()).write_all(b"line\n").unwrap();
    assert_eq!(fs::metadata(home.join("error.log")).unwrap().uid(), TENANT);
    assert_eq!(fs::read(home.join("error.log")).unwrap(), b"line\n");
}

#[test]
fn a_tenants_link_leads_root_nowhere() {
    if !root("a_tenants_link_leads_root_nowhere") {
        return;
    }
    let root = Root::new(&host(TENANT, &format!("ErrorLog home-{TENANT}/error.log")));
    let home = root.home(TENANT);
    let victim = root.0.join("victim");
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, home.join("error.log")).unwrap();
    root.plan().warned(&["httpd.conf:8: ErrorLog", "home-64895/error.log", "Permission denied"], &root);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");

    // Nor does a directory that the tenant swaps for a link to one of root's.
    fs::rename(&home, root.0.join("away")).unwrap();
    symlink(root.0.join("logs"), &home).unwrap();
    lchown(&home, Some(TENANT), Some(TENANT)).unwrap();
    root.plan().warned(&["home-64895"], &root);
}

#[test]
fn a_pipe_in_place_of_a_log_is_refused() {
    if !root("a_pipe_in_place_of_a_log_is_refused") {
        return;
    }
    let root = Root::new(&host(TENANT, &format!("ErrorLog home-{TENANT}/error.log")));
    let home = root.home(TENANT);
    let made = std::process::Command::new("mkfifo").arg(home.join("error.log")).status().unwrap();
    assert!(made.success());
    fs::set_permissions(home.join("error.log"), Permissions::from_mode(0o666)).unwrap();
    // Somebody reads at its other end, or opening would already fail.
    let reader = File::options().read(true).write(true).open(home.join("error.log")).unwrap();
    root.plan().warned(&["it is not a regular file"], &root);
    drop(reader);
}

#[test]
fn a_missing_log_directory_is_named_with_its_line() {
    let root = Root::new("CustomLog nowhere/access.log common\n");
    let somebody = process::is_root().then_some(64_894);
    let named = format!("the directory {} does not exist", root.0.join("nowhere").display());
    root.plan().refused(&["httpd.conf:5: CustomLog", &named]);
    root.give_to(somebody);
    root.plan_as(somebody, &[]).refused(&["httpd.conf:5: CustomLog", &named]);
}

#[test]
fn users_are_checked_with_their_line() {
    if !root("users_are_checked_with_their_line") {
        return;
    }
    let deleted = "<VirtualHost *:8099>\nAssignUserID deleted-user #64895\n</VirtualHost>\n";
    Root::new(deleted).plan().refused(&["httpd.conf:6: AssignUserID", "no user deleted-user"]);
    let same = format!("HostlerUser #{TENANT}\n{}", host(TENANT, ""));
    Root::new(&same).plan().refused(&["HostlerUser", "of its own"]);
}

#[test]
fn without_root_other_users_are_refused_or_accepted() {
    if !root("without_root_other_users_are_refused_or_accepted") {
        return;
    }
    let root = Root::new(&host(TENANT, ""));
    root.give_to(Some(OTHER));
    root.plan_as(Some(OTHER), &[]).refused(&["httpd.conf:7: AssignUserID", "--single-user"]);
    let accepted = root.plan_as(Some(OTHER), &["--single-user"]);
    assert!(accepted.errors.contains("User is ignored"), "{}", accepted.errors);
    let (plan, _, _) = accepted.plan.unwrap();
    assert_eq!((plan.master.front, plan.master.sites.len()), (None, 1));
}

#[test]
fn keys_of_root_are_read_and_those_behind_tenants_links_are_not() {
    if !root("keys_of_root_are_read_and_those_behind_tenants_links_are_not") {
        return;
    }
    let ssl = |path: &str| format!("SSLEngine on\nSSLCertificateFile {path}");
    let secret = |path: &Path, text: &str| {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    };
    let root = Root::new(&host(TENANT, &ssl("tls.pem")));
    secret(&root.0.join("tls.pem"), "key");
    let (_, front, _) = root.plan().good();
    assert_eq!(front.secrets.len(), 1);
    assert_eq!(front.secrets[0].1.as_ref(), b"key");

    let root = Root::new(&host(TENANT, &ssl(&format!("home-{TENANT}/tls.pem"))));
    let home = root.home(TENANT);
    secret(&root.0.join("others.pem"), "another's key");
    symlink(root.0.join("others.pem"), home.join("tls.pem")).unwrap();
    root.plan().refused(&["httpd.conf:9: SSLCertificateFile", "as uid 64895"]);
    fs::remove_file(home.join("tls.pem")).unwrap();
    fs::write(home.join("tls.pem"), "own key").unwrap();
    assert_eq!(root.plan().good().1.secrets[0].1.as_ref(), b"own key");
}

#[test]
fn a_bad_configuration_is_told_line_by_line() {
    let root = Root::new("NoSuchDirective x\n<Directory\n");
    let outcome = root.plan();
    assert_eq!(outcome.ended, ExitCause::Status(1));
    assert!(outcome.errors.lines().all(|line| line.starts_with("hostler: ")), "{}", outcome.errors);
    assert!(outcome.errors.contains("httpd.conf:"), "{}", outcome.errors);
}

impl Root {
    /// Returns whether `hostler check` finds nothing against a start, and what it says.
    fn check(&self) -> (bool, String) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hostler"));
        let output = command.arg("check").arg("-f").arg(self.0.join("httpd.conf")).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn check_and_a_start_come_to_the_same_verdict() {
    if !root("check_and_a_start_come_to_the_same_verdict") {
        return;
    }
    let tenants_log = host(TENANT, &format!("ErrorLog home-{TENANT}/error.log"));
    for (lines, good, told) in [
        ("", true, ""),
        ("PerlRequire /no/such.pl", false, "httpd.conf:5: the file /no/such.pl does not exist"),
        (
            &*host(TENANT, "PerlRequire /no/such.pl"),
            true,
            "httpd.conf:8: the file /no/such.pl does not exist",
        ),
        ("PidFile none/x.pid", false, "httpd.conf:5: PidFile"),
        ("PidFile /tmp/hostler-plan-test.pid", false, "others than root can write"),
        ("PidFile logs", false, "is a directory"),
        ("Listen 8099", false, "httpd.conf:5: Listen: 8099"),
        ("CustomLog logs common", false, "httpd.conf:5: CustomLog"),
        ("CustomLog second common", false, "it is not a regular file with a single name"),
        ("CustomLog link common", false, "httpd.conf:5: CustomLog"),
        ("DocumentRoot none", false, "httpd.conf:5: DocumentRoot"),
        ("User no-such-user", false, "httpd.conf:5: User"),
        ("Include none.conf\nNonsense x", false, "httpd.conf:6: Nonsense"),
        (&*tenants_log, true, "this log is not written"),
        (&*host(TENANT, "SSLEngine on\nSSLCertificateFile none.pem"), false, "none.pem"),
    ] {
        let root = Root::new(lines);
        fs::write(root.0.join("first"), "").unwrap();
        fs::hard_link(root.0.join("first"), root.0.join("second")).unwrap();
        symlink("first", root.0.join("link")).unwrap();
        fs::create_dir(root.home(TENANT).join("error.log")).unwrap();
        let before = fs::read_dir(root.0.join("logs")).unwrap().count();
        let (passes, said) = root.check();
        assert_eq!(before, fs::read_dir(root.0.join("logs")).unwrap().count(), "check has made a log");
        let planned = root.plan();
        assert_eq!((passes, planned.plan.is_some()), (good, good), "{lines}: {said}\n{}", planned.errors);
        assert!(said.contains(told) && planned.errors.contains(told), "{lines}: {said}\n{}", planned.errors);
    }
}

#[test]
fn neither_starts_without_an_address() {
    let root = Root::new("");
    fs::write(root.0.join("httpd.conf"), "User #64894\nGroup #64894\nErrorLog /dev/stderr\n").unwrap();
    let (passes, said) = root.check();
    assert!(!passes && said.contains("there is no Listen directive"), "{said}");
    root.plan().refused(&["there is no Listen directive"]);
    // What could not be read may have been one.
    fs::write(root.0.join("httpd.conf"), "Include none.conf\n").unwrap();
    let (passes, said) = root.check();
    assert!(
        !passes && said.contains("Include") && !said.contains("Listen") && !said.contains("Group"),
        "{said}"
    );
}
