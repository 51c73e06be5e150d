//! `name=value` behind the URLs of servers and balancers. What is not given stays unset; what that means is in the
//! fields' descriptions.

use super::checks::Check;
use crate::directives::core::values::{choice, milliseconds, number};
use std::time::Duration;

/// States of a server, as `status=` and `hostler backend` set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(u8);

impl States {
    /// It takes no requests.
    pub const DISABLED: Self = Self(1);
    /// It takes no requests, not even those of its own sessions.
    pub const STOPPED: Self = Self(2);
    /// Errors are no reason to leave it alone.
    pub const IGNORE_ERRORS: Self = Self(4);
    /// It takes requests where all the others can't.
    pub const HOT_STANDBY: Self = Self(8);
    /// It takes requests of its own sessions only.
    pub const DRAIN: Self = Self(16);
    /// It takes requests for each of its set that can't.
    pub const HOT_SPARE: Self = Self(32);
    /// It begins in error.
    pub const ERROR: Self = Self(64);

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Of bits.
    #[must_use]
    pub const fn of(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns whether all of these hold.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets or clears what letters say: `+D-H`.
    ///
    /// # Errors
    /// A letter is none.
    pub fn apply(&mut self, text: &str) -> Result<(), String> {
        let mut sets = true;
        for letter in text.chars() {
            let state = match letter.to_ascii_uppercase() {
                '+' | '-' => {
                    sets = letter == '+';
                    continue;
                }
                'D' => Self::DISABLED,
                'S' => Self::STOPPED,
                'I' => Self::IGNORE_ERRORS,
                'H' => Self::HOT_STANDBY,
                'N' => Self::DRAIN,
                'R' => Self::HOT_SPARE,
                'E' => Self::ERROR,
                _ => {
                    return Err(format!(
                        "\"{letter}\" is not a state; the states are D, S, I, H, N, R and E"
                    ));
                }
            };
            self.0 = if sets { self.0 | state.0 } else { self.0 & !state.0 };
        }
        Ok(())
    }
}

/// `flushpackets=`: whether pieces of an answer are sent on as they come. They always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushPackets;

/// Parameters of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// `loadfactor`, times 100 (100 to 10000; default 100).
    pub load_factor: Option<u32>,
    /// `route`: what sessions of this server end in.
    pub route: Option<Box<str>>,
    /// `redirect`: the route of the server that takes over.
    pub redirect: Option<Box<str>>,
    /// `status`
    pub states: Option<States>,
    /// `retry`: how long it is left alone after it could not be connected to (default 60 s).
    pub retry: Option<Duration>,
    /// `timeout`: how long it may be silent (default: ProxyTimeout).
    pub timeout: Option<Duration>,
    /// `connectiontimeout` (default: `timeout`).
    pub connect_timeout: Option<Duration>,
    /// `keepalive`: the kernel looks after idle connections.
    pub keep_alive: Option<bool>,
    /// `disablereuse`; `enablereuse` is its contrary. Unset means that connections are kept.
    pub reuse: Option<bool>,
    /// `ping`: how long the server may take to say that it is there, before it gets the request: HTTP servers are sent
    /// `Expect: 100-continue`, servlet containers are asked.
    pub ping: Option<Duration>,
    /// `acquire`: how long to wait for a connection where `max` are in use (default: not at all).
    pub acquire: Option<Duration>,
    /// `lbset` (0 to 99; default 0): servers of a higher set take over where all of the lower ones can't.
    pub set: Option<u32>,
    /// `min`: entries of Apache's list of connections, not connections. Here they take no place before they are there.
    pub min: Option<u32>,
    /// `max`: most connections at once (default: no limit).
    pub max: Option<u32>,
    /// `smax`: more idle connections than these are closed after `ttl`.
    pub soft_max: Option<u32>,
    /// `ttl`: how long an idle connection is kept.
    pub ttl: Option<Duration>,
    /// `addressttl`: how long the addresses of a name are taken for true.
    pub address_ttl: Option<Duration>,
    /// `responsefieldsize`, in bytes (default 8192).
    pub field_size: Option<usize>,
    /// `receivebuffersize`: the kernel's buffer for answers, in bytes; 0: what it finds right (default:
    /// ProxyReceiveBufferSize).
    pub receive_buffer: Option<u32>,
    /// `iobuffersize`: the longest packet of AJP, in bytes (default: ProxyIOBufferSize). What else is read is read in pieces
    /// as large as they have to be.
    pub io_buffer: Option<usize>,
    /// `secret`: what a servlet container wants to hear before it answers.
    pub secret: Option<Box<str>>,
    /// `upgrade`: protocols that a connection may change to; empty: none; `*`: any.
    pub upgrade: Option<Vec<Box<str>>>,
    /// `hc...`: whether and how it is checked.
    pub check: Check,
}

impl Parameters {
    /// Sets one. `true`: it is one of a server's.
    ///
    /// # Errors
    /// The fault in the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let seconds = |value| milliseconds(value, 1000).map(Duration::from_millis);
        match name {
            "loadfactor" => self.load_factor = Some(load_factor(value)?),
            "route" => self.route = Some(short(value)?),
            "redirect" => self.redirect = Some(short(value)?),
            "status" => {
                let mut states = self.states.unwrap_or_default();
                states.apply(value)?;
                self.states = Some(states);
            }
            "retry" => self.retry = Some(seconds(value)?),
            "timeout" => self.timeout = Some(at_least(seconds(value)?, Duration::from_millis(1))?),
            "connectiontimeout" => {
                self.connect_timeout = Some(at_least(seconds(value)?, Duration::from_millis(1))?);
            }
            "keepalive" => self.keep_alive = Some(flag(value)?),
            "disablereuse" => self.reuse = Some(!flag(value)?),
            "enablereuse" => self.reuse = Some(flag(value)?),
            "ping" => self.ping = Some(at_least(seconds(value)?, Duration::from_millis(1))?),
            "acquire" => {
                self.acquire = Some(milliseconds(value, 1).map(Duration::from_millis)?);
            }
            "lbset" => self.set = Some(number(value, 0..=99)?),
            "min" => self.min = Some(number(value, 0..=100_000)?),
            "max" => self.max = Some(number(value, 1..=100_000)?),
            "smax" => self.soft_max = Some(number(value, 0..=100_000)?),
            "ttl" => self.ttl = Some(Duration::from_secs(number(whole(value), 1..=1_000_000)?)),
            "addressttl" => self.address_ttl = Some(Duration::from_secs(number(value, 0..=1_000_000)?)),
            "responsefieldsize" => self.field_size = Some(number(value, 256..=1 << 20)?),
            "upgrade" => self.upgrade = Some(protocols(value)),
            // Pieces of an answer are never held back.
            "flushpackets" => drop(choice(value, &[("on", ()), ("off", ()), ("auto", ())])?),
            "flushwait" => drop(number(value, 0..=1000_u32)?),
            "iobuffersize" => self.io_buffer = Some(buffer(value)?),
            "receivebuffersize" => self.receive_buffer = Some(buffer(value)? as u32),
            "secret" => self.secret = Some(value.into()),
            name if name.starts_with("hc") => return self.check.set(name, value),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Each field of the first where it is set, else the second's.
macro_rules! over {
    ($own:ident, $main:ident, $($field:ident),+; $($rest:tt)*) => {
        Self { $($field: $own.$field.clone().or_else(|| $main.$field.clone()),)+ $($rest)* }
    };
}

impl Parameters {
    /// Returns these parameters with unset ones taken from `main`.
    #[must_use]
    pub fn over(&self, main: &Self) -> Self {
        let check = if self.check == Check::default() { &main.check } else { &self.check };
        over!(self, main,
            load_factor, route, redirect, states, retry, timeout, connect_timeout, keep_alive, reuse, ping, acquire,
            set, min, max, soft_max, ttl, address_ttl, field_size, receive_buffer, io_buffer, secret, upgrade;
            check: check.clone())
    }
}

/// The method by which a balancer chooses among those of its members that can take a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By how many requests they have had.
    #[default]
    ByRequests,
    /// By how many bytes.
    ByTraffic,
    /// By how many they are at.
    ByBusyness,
}

/// Parameters of a balancer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BalancerParameters {
    /// `stickysession`: the name of the cookie, and that of the path's parameter.
    pub sticky: Option<(Box<str>, Box<str>)>,
    /// `stickysessionsep`: what stands before the route in a session's value (default: a dot); `None`: nothing, all of the
    /// value is the route.
    pub separator: Option<Option<u8>>,
    /// `nofailover`: a session whose server can't answer gets 503.
    pub no_failover: Option<bool>,
    /// `timeout`: how long to wait for a member that can take the request (default: not at all).
    pub timeout: Option<Duration>,
    /// `maxattempts`: members that are tried, beside the first (default: all).
    pub max_attempts: Option<u32>,
    /// `lbmethod`
    pub method: Option<Method>,
    /// `scolonpathdelim`: a semicolon in a cookie begins what is no session's.
    pub semicolon: Option<bool>,
    /// `failonstatus`: answers after which a member is left alone.
    pub fail_on_status: Option<Vec<u16>>,
    /// `failontimeout`: a member that does not answer in time is left alone.
    pub fail_on_timeout: Option<bool>,
    /// `nonce`: what a form of balancer-manager has to send to change something (default: a random one); empty: nothing
    /// can be changed there.
    pub nonce: Option<Box<str>>,
    /// `forcerecovery`: where all members are left alone, they are tried at once (default: On).
    pub force_recovery: Option<bool>,
}

impl BalancerParameters {
    /// Sets one. `true`: it is one of a balancer's.
    ///
    /// # Errors
    /// The fault in the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "stickysession" => self.sticky = Some(sticky(value)?),
            "stickysessionsep" => self.separator = Some(separator(value)?),
            "nofailover" => self.no_failover = Some(flag(value)?),
            "timeout" => {
                let wait = milliseconds(value, 1000).map(Duration::from_millis)?;
                self.timeout = Some(at_least(wait, Duration::from_millis(1))?);
            }
            "maxattempts" => self.max_attempts = Some(number(value, 0..=99)?),
            "lbmethod" => self.method = Some(method_of(value)?),
            "scolonpathdelim" => self.semicolon = Some(flag(value)?),
            "failonstatus" => self.fail_on_status = Some(statuses(value)?),
            "failontimeout" => self.fail_on_timeout = Some(flag(value)?),
            "forcerecovery" => self.force_recovery = Some(flag(value)?),
            // Members are those that the configuration has: none is added while the server runs.
            "growth" => drop(number(value, 1..=100_u32)?),
            "nonce" => self.nonce = Some(nonce(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl BalancerParameters {
    /// Returns these parameters with unset ones taken from `main`.
    #[must_use]
    pub fn over(&self, main: &Self) -> Self {
        over!(self, main,
            sticky, separator, no_failover, timeout, max_attempts, method, semicolon, fail_on_status, fail_on_timeout,
            nonce, force_recovery;)
    }
}

impl Method {
    /// All of them, by their names in the configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("byrequests", Self::ByRequests), ("bytraffic", Self::ByTraffic), ("bybusyness", Self::ByBusyness)];
}

fn method_of(value: &str) -> Result<Method, String> {
    if value == "heartbeat" {
        return Err(
            "lbmethod=heartbeat is not supported: Hostler does not receive heartbeats; use bybusyness instead"
                .to_owned(),
        );
    }
    choice(value, &Method::NAMES)
}

fn nonce(value: &str) -> Result<Box<str>, String> {
    match value {
        _ if value.eq_ignore_ascii_case("none") => Ok("".into()),
        _ if value.len() > 36 => Err(format!("\"{value}\" is longer than 36 characters")),
        _ => Ok(value.into()),
    }
}

/// The names of a session's cookie and of its parameter.
///
/// # Errors
/// The text is none, or too long.
pub fn sticky(value: &str) -> Result<(Box<str>, Box<str>), String> {
    let (cookie, path) = value.split_once('|').unwrap_or((value, value));
    if cookie.is_empty() || path.is_empty() || value.len() > 62 {
        return Err(format!(
            "\"{value}\" is not the name of a session cookie, or two of them as in JSESSIONID|jsessionid"
        ));
    }
    Ok((cookie.into(), path.into()))
}

fn separator(value: &str) -> Result<Option<u8>, String> {
    match value.as_bytes() {
        [one] => Ok(Some(*one)),
        _ if value.eq_ignore_ascii_case("off") => Ok(None),
        _ => Err(format!("\"{value}\" is neither one character nor Off")),
    }
}

fn statuses(value: &str) -> Result<Vec<u16>, String> {
    value.split(',').map(|one| number(one.trim(), 100..=599)).collect()
}

fn flag(value: &str) -> Result<bool, String> {
    choice(value, &[("on", true), ("off", false)])
}

fn load_factor(value: &str) -> Result<u32, String> {
    let factor = value.parse::<f64>().ok().filter(|factor| (1.0..=100.0).contains(factor));
    factor
        .map(|factor| (factor * 100.0) as u32)
        .ok_or_else(|| format!("\"{value}\" is not a number from 1 to 100"))
}

fn short(value: &str) -> Result<Box<str>, String> {
    if value.is_empty() || value.len() > 63 {
        return Err(format!("\"{value}\" is empty, or longer than 63 characters"));
    }
    Ok(value.into())
}

fn at_least(given: Duration, least: Duration) -> Result<Duration, String> {
    if given < least { Err(format!("must be {least:?} at least")) } else { Ok(given) }
}

/// A size of a buffer: 0, or 512 bytes at least.
pub(super) fn buffer(value: &str) -> Result<usize, String> {
    match number(value, 0..=1 << 30)? {
        1..512 => Err(format!("\"{value}\" is neither 0 nor 512 at least")),
        size => Ok(size),
    }
}

/// The digits that a number of seconds begins with. Quirk(apache): a unit behind them counts for nothing (`retry=5s`, and also
/// `retry=5ms`, are five seconds).
fn whole(value: &str) -> &str {
    let end = value.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(value.len());
    if end == 0 { value } else { &value[..end] }
}

fn protocols(value: &str) -> Vec<Box<str>> {
    if value.eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    if value.eq_ignore_ascii_case("any") {
        return vec!["*".into()];
    }
    value.split(',').map(|one| one.trim().into()).collect()
}
