//! A line of the error log, as `ErrorLogFormat` wants it (`hostler_config::directives::log_config::ErrorFormat` reads that).
//! A field that lacks something is left out whole, with the text around it.

use super::escape::push_escaped;
use super::id;
use crate::request::Request;
use crate::request::variables;
use hostler_config::directives::log_config::{ErrorFormat, ErrorItem as Item, Level};
use hostler_sys::time::{Zone, strftime};
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest message, in bytes (Apache cuts there too).
const LONGEST: usize = 8192;

/// A message and what is known about it.
pub(super) struct Entry<'a> {
    pub(super) time: SystemTime,
    pub(super) level: Level,
    pub(super) module: &'a str,
    pub(super) message: &'a [u8],
    /// The request's id, where it has to be told.
    pub(super) id: Option<&'a str>,
    pub(super) pid: u32,
    pub(super) remote: Option<SocketAddr>,
    pub(super) request: Option<&'a Request>,
}

/// Appends the line, without its end.
pub(super) fn write(format: &ErrorFormat, entry: &Entry<'_>, out: &mut Vec<u8>) {
    let mut field = out.len();
    let mut skipping = false;
    for piece in &format.pieces {
        if piece.starts_field {
            skipping = false;
            field = out.len();
        }
        if skipping {
            continue;
        }
        let before = out.len();
        if (entry.level as u8) >= piece.least {
            write_item(format, &piece.item, entry, out);
        }
        let empty = out.len() == before && !matches!(&piece.item, Item::Text(_));
        if empty && piece.hyphen {
            out.push(b'-');
        } else if empty {
            out.truncate(field);
            skipping = true;
        }
    }
}

fn write_item(format: &ErrorFormat, item: &Item, entry: &Entry<'_>, out: &mut Vec<u8>) {
    let request = entry.request;
    let written = match item {
        Item::Text(text) => out.write_all(text),
        Item::Client => entry.remote.map_or(Ok(()), |remote| write_address(remote, out)),
        Item::Local => request.map_or(Ok(()), |r| write_address(r.client.peer.local, out)),
        Item::KeepAliveRequests => {
            request.map_or(Ok(()), |r| write!(out, "{}", r.client.peer.requests.get()))
        }
        Item::Level => write!(out, "{}", entry.level),
        Item::Id => entry.id.map_or(Ok(()), |id| out.write_all(id.as_bytes())),
        Item::ConnectionId => {
            request.map_or(Ok(()), |r| out.write_all(id::connection_id(&r.client.peer).as_bytes()))
        }
        Item::Module => out.write_all(entry.module.as_bytes()),
        Item::Pid => write!(out, "{}", entry.pid),
        Item::Tid => write!(out, "{}", crate::log::access_log::tid()),
        Item::Message => {
            write_message(format, entry, out);
            Ok(())
        }
        Item::Time { micro, compact } => {
            write_time(entry.time, *micro, *compact, out);
            Ok(())
        }
        item => {
            if let Some(text) = request.and_then(|r| of_request(item, r)) {
                push_escaped(&text, out);
            }
            Ok(())
        }
    };
    debug_assert!(written.is_ok(), "writing to memory can't fail");
}

fn write_message(format: &ErrorFormat, entry: &Entry<'_>, out: &mut Vec<u8>) {
    push_escaped(&entry.message[..entry.message.len().min(LONGEST)], out);
    if let Some(id) = entry.id.filter(|_| !format.tells_id) {
        out.extend_from_slice(b" [id ");
        out.extend_from_slice(id.as_bytes());
        out.push(b']');
    }
}

/// Items that are a text of the request.
fn of_request(item: &Item, request: &Request) -> Option<Vec<u8>> {
    let table = |table: &crate::values::table::Table, name: &[u8]| table.find(name).map(|v| v.to_vec());
    match item {
        Item::Env(name) => table(&request.env, name),
        Item::Note(name) => table(&request.notes, name),
        Item::RequestHeader(name) => table(&request.target.headers_in, name),
        Item::VirtualHost => {
            Some(variables::virtual_host(&request.server, &request.client.peer).into_owned())
        }
        Item::ServerName => Some(variables::server_name(request)),
        _ => None,
    }
}

fn write_address(address: SocketAddr, out: &mut Vec<u8>) -> std::io::Result<()> {
    // Apache writes IPv6 addresses without brackets here.
    write!(out, "{}:{}", address.ip(), address.port())
}

/// Local time, in the format of `ctime` or, compact, of ISO 8601.
fn write_time(time: SystemTime, micro: bool, compact: bool, out: &mut Vec<u8>) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() as i64;
    let clock: &[u8] = if compact { b"%Y-%m-%d %H:%M:%S" } else { b"%a %b %d %H:%M:%S" };
    strftime(clock, seconds, Zone::Local, out);
    if micro {
        let _ = write!(out, ".{:06}", since.subsec_micros());
    }
    if !compact {
        strftime(b" %Y", seconds, Zone::Local, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn entry<'a>(level: Level, message: &'a [u8]) -> Entry<'a> {
        Entry {
            time: UNIX_EPOCH + Duration::from_micros(1_763_715_600_123_456),
            level,
            module: "cgi",
            message,
            id: None,
            pid: 7,
            remote: Some(([192, 0, 2, 1], 4711).into()),
            request: None,
        }
    }

    fn line(format: &str, entry: &Entry<'_>) -> String {
        let mut out = Vec::new();
        write(&ErrorFormat::parse(format).unwrap(), entry, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_usual_layout() {
        let mut about = entry(Level::Error, b"it \"broke\"\nbadly");
        let tid = rustix::thread::gettid();
        let usual = |entry: &Entry<'_>| {
            {
                let mut out = Vec::new();
                write(&ErrorFormat::default(), entry, &mut out);
                String::from_utf8(out).unwrap()
            }
            .split_once("] ")
            .unwrap()
            .1
            .to_owned()
        };
        assert_eq!(
            usual(&about),
            format!("[cgi:error] [pid 7:tid {tid}] [client 192.0.2.1:4711] it \"broke\"\\nbadly")
        );
        about.id = Some("abc");
        about.remote = None;
        assert_eq!(usual(&about), format!("[cgi:error] [pid 7:tid {tid}] it \"broke\"\\nbadly [id abc]"));
        let time = line("[%{u}t]%M", &Entry { message: b"m", id: None, ..about });
        assert!(
            time.contains(".123456 2025]m") && time.len() == "[Fri Nov 21 09:00:00.123456 2025]m".len(),
            "{time}"
        );
    }

    #[test]
    fn fields_without_their_value_are_left_out_whole() {
        let about = entry(Level::Error, b"m");
        assert_eq!(line("a %a b%{X}ic d %M", &about), "a 192.0.2.1:4711 d m");
        assert_eq!(line("%-{X}i %M", &about), "- m");
        assert_eq!(line("%M% ,\\ x\\ %{X}i", &about), "m");
        assert_eq!(line("%M% ,\\ x\\ %l", &about), "m, x error");
        assert_eq!(line("%7l %M", &about), " m");
        assert_eq!(line("%7l %M", &entry(Level::Debug, b"m")), "debug m");
    }

    #[test]
    fn an_id_is_shown_once() {
        let about = Entry { id: Some("x1"), ..entry(Level::Crit, b"m") };
        assert_eq!(line("%L %M", &about), "x1 m");
        assert_eq!(line("%M", &about), "m [id x1]");
    }
}
