//! Asking the serving front for its figures, over the socket beside the PidFile.

use hostler_sys::socket::connect_in;
use hostler_wire::frame::{self, HEAD, Head};
use hostler_wire::report::{Ask, FORM, MAX_REPORT, Report};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time limit of the front in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// The figures.
///
/// # Errors
/// Why there are none, as a sentence.
pub(crate) fn report(pid_file: &Path, ask: &Ask) -> Result<Report, String> {
    let mut name = pid_file.file_name().unwrap_or_default().to_os_string();
    name.push(".status");
    let shown = format!("{}.status", pid_file.display());
    let directory = File::open(pid_file.parent().unwrap_or(Path::new("/")));
    let socket = directory.and_then(|directory| connect_in(directory.as_fd(), &name));
    let mut stream = UnixStream::from(socket.map_err(|e| refused(&shown, &e))?);
    let mut asked = Vec::new();
    frame::encode(ask, 0, &mut asked).map_err(|e| e.to_string())?;
    stream.write_all(&asked).map_err(|e| refused(&shown, &e))?;
    let body = body(stream, Instant::now() + PATIENCE).map_err(|e| match e.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the front does not answer in time".to_owned(),
        _ => format!("the front's answer on {shown} can't be read: {e}"),
    })?;
    let report: Option<Report> = frame::decode(&body).ok();
    report
        .filter(|report| report.form == FORM)
        .ok_or_else(|| "the server that runs is of another release than this command".to_owned())
}

fn refused(shown: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("{shown} is open to the user who started the server alone: be that user, or root")
        }
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            format!("nobody listens on {shown}; the server's error output says why")
        }
        _ => format!("can't connect to {shown}: {error}"),
    }
}

fn body(mut stream: UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD];
    exactly(&mut stream, &mut head, until)?;
    let head = Head::decode(head).map_err(io::Error::other)?;
    if head.body > MAX_REPORT || head.fds > 0 {
        return Err(io::Error::other("it is over the limit"));
    }
    let mut body = vec![0; head.body];
    exactly(&mut stream, &mut body, until)?;
    Ok(body)
}

/// `read_exact` with one deadline for all of it.
fn exactly(stream: &mut UnixStream, mut into: &mut [u8], until: Instant) -> io::Result<()> {
    while !into.is_empty() {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        match stream.read(into) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => into = &mut into[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if Instant::now() >= until && !into.is_empty() {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        body(ours, Instant::now() + Duration::from_secs(5))
    }

    #[test]
    fn one_frame_within_the_limit_is_read() {
        let mut whole = Vec::new();
        frame::encode(&7u32, 0, &mut whole).unwrap();
        assert_eq!(heard(&whole).unwrap(), [7]);
        assert!(heard(&whole[..HEAD]).is_err(), "cut short");
        assert!(heard(&[0xff; 16]).is_err(), "too long");
    }

    #[test]
    fn silence_is_not_waited_for_without_end() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let error = body(ours, Instant::now() + Duration::from_millis(30)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    }
}
