//! `cargo xtask run`: builds Hostler and serves `examples/showcase`.
//!
//! As root the sites run as users of their own, who must be able to reach their files: a checkout below a
//! closed folder (such as root's home) is therefore laid out in /var/tmp instead of target/. Each address has a folder
//! of its own, so that several can be served at once.

use crate::cargo;
use anyhow::{Context, Result, bail};
use std::fs;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The address that the configuration names without help.
pub(crate) const DEFAULT: &str = "127.0.0.1:8080";

/// Serves in the foreground until interrupted; returns only on failure.
pub(crate) fn run(listen: SocketAddr) -> Result<()> {
    must_be_free(listen)?;
    if !cargo::programs("debug").join("hostler").exists() {
        eprintln!("Building Hostler, without optimisations; the first time takes some minutes.");
    }
    cargo::run(&["build"])?;
    // Somebody may have taken it meanwhile, and what a running showcase serves is not laid out anew.
    must_be_free(listen)?;
    let root = rustix::process::geteuid().is_root();
    let folder = folder(root, listen)?;
    cargo::finish(Command::new("examples/showcase/prepare.sh").arg(&folder))?;

    let mut hostler = Command::new(cargo::programs("debug").join("hostler"));
    hostler.arg("run").arg("-f").arg(folder.join("httpd.conf")).env("SHOWCASE", &folder);
    if listen.to_string() != DEFAULT {
        hostler.args(["-D", "OtherAddress"]).env("SHOWCASE_LISTEN", listen.to_string());
    }
    if root {
        eprintln!(
            "As root: the start page runs as uid 64101, its neighbour as 64102, the site of mod_perl 1 as 64103."
        );
    } else {
        eprintln!("Not root: all sites run as you (--single-user). With sudo each would have its own user.");
        hostler.arg("--single-user");
    }
    eprintln!("$ SHOWCASE={} {}", folder.display(), cargo::shown(&hostler));
    eprintln!("\n  http://{listen}/\n");
    Err(hostler.exec()).context("cannot run hostler")
}

/// An address and a port, or one of them: the other is as usual. A name is looked up.
///
/// # Errors
/// A sentence with the accepted forms.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let (usual_host, usual_port) = DEFAULT.split_once(':').unwrap_or((DEFAULT, "80"));
    let port = text.strip_prefix(':').unwrap_or(text);
    let forms = if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
        vec![format!("{usual_host}:{port}")]
    } else {
        vec![text.to_owned(), format!("{text}:{usual_port}"), format!("[{text}]:{usual_port}")]
    };
    let found = forms.iter().find_map(|form| {
        let addresses: Vec<SocketAddr> = form.to_socket_addrs().ok()?.collect();
        addresses.iter().find(|address| address.is_ipv4()).or(addresses.first()).copied()
    });
    let forms = "ADDRESS:PORT, a port or an address alone, as in LISTEN=8090 or LISTEN=localhost:8090";
    found.ok_or_else(|| format!("not an address to listen on: it is {forms}"))
}

/// Before anything is built or laid out.
fn must_be_free(listen: SocketAddr) -> Result<()> {
    let Err(error) = TcpListener::bind(listen) else { return Ok(()) };
    let why = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps another `make run`".to_owned()
        }
        _ => error.to_string(),
    };
    bail!("{listen} is not to be had: {why}. Choose another with LISTEN=, as in `make run LISTEN=8090`.");
}

/// The name of the folder for an address.
fn name(listen: SocketAddr) -> String {
    let shown = listen.to_string();
    if shown == DEFAULT {
        return "showcase".to_owned();
    }
    let plain: String = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("showcase-{plain}")
}

/// Returns the showcase's folder.
fn folder(root: bool, listen: SocketAddr) -> Result<PathBuf> {
    let target = cargo::workspace().join("target");
    fs::create_dir_all(target.join(name(listen)))?;
    if !root || open_to_all(&target)? {
        return Ok(target.join(name(listen)));
    }
    let far = PathBuf::from(format!("/var/tmp/hostler-{}", name(listen)));
    eprintln!("Other users cannot pass through {}; using {}.", cargo::workspace().display(), far.display());
    if !far.exists() {
        fs::create_dir(&far)?;
    }
    // Everybody can make folders and links in /var/tmp: only root's own folder will do.
    let found = fs::symlink_metadata(&far)?;
    if !found.is_dir() || found.uid() != 0 || found.mode() & 0o022 != 0 {
        bail!("{} exists and is not root's own folder: remove it and try again", far.display());
    }
    Ok(far)
}

/// Returns whether every user can pass through a folder and all folders above it.
fn open_to_all(folder: &Path) -> Result<bool> {
    for ancestor in folder.ancestors() {
        if fs::metadata(ancestor)?.permissions().mode() & 0o001 == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_or_an_address_alone_will_do() {
        for (text, expected) in [
            ("8090", "127.0.0.1:8090"),
            (":8092", "127.0.0.1:8092"),
            ("localhost:8090", "127.0.0.1:8090"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("0.0.0.0", "0.0.0.0:8080"),
            ("[::1]:8081", "[::1]:8081"),
            ("::1", "[::1]:8080"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "65536", "a b", "127.0.0.1:x"] {
            assert!(address(text).unwrap_err().contains("LISTEN=8090"), "{text}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_told_with_the_way_out() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let why = must_be_free(taken.local_addr().unwrap()).unwrap_err().to_string();
        assert!(why.contains("LISTEN=8090") && why.contains("another program"), "{why}");
        let free = taken.local_addr().unwrap();
        drop(taken);
        assert!(must_be_free(free).is_ok());
    }

    #[test]
    fn each_address_has_a_folder_of_its_own() {
        let name = |text: &str| name(text.parse().unwrap());
        assert_eq!(name(DEFAULT), "showcase");
        assert_eq!(name("127.0.0.1:8090"), "showcase-127-0-0-1-8090");
        assert_ne!(name("[::1]:8080"), name("[::1]:8090"));
    }

    #[test]
    fn a_closed_folder_above_is_seen() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(open_to_all(&inner).unwrap());
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!open_to_all(&inner).unwrap());
    }
}
