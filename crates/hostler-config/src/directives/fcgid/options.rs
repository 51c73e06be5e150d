//! The options of FastCGI programs: the virtual host's for all, and `FcgidCmdOptions` for one.

use crate::directives::core::values::number;
use crate::{Args, Command, over, words};

/// Variables that a program is started with, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Vec<(Box<str>, Box<str>)>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known = value.into(),
            None => self.0.push((name.into(), value.into())),
        }
    }

    /// All, in the order in which they were first set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// Options of programs; what is not set has mod_fcgid's default. Times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the directives' own words")]
pub struct Options {
    pub busy_timeout: Option<u32>,
    pub connect_timeout: Option<u32>,
    pub io_timeout: Option<u32>,
    pub idle_timeout: Option<u32>,
    pub lifetime: Option<u32>,
    pub max_processes: Option<u32>,
    pub min_processes: Option<u32>,
    pub max_requests: Option<u32>,
    pub env: Variables,
}

impl Options {
    /// With what `other` says instead.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut env = self.env.clone();
        other.env.iter().for_each(|(name, value)| env.set(name, value));
        Self {
            busy_timeout: over(&self.busy_timeout, &other.busy_timeout),
            connect_timeout: over(&self.connect_timeout, &other.connect_timeout),
            io_timeout: over(&self.io_timeout, &other.io_timeout),
            idle_timeout: over(&self.idle_timeout, &other.idle_timeout),
            lifetime: over(&self.lifetime, &other.lifetime),
            max_processes: over(&self.max_processes, &other.max_processes),
            min_processes: over(&self.min_processes, &other.min_processes),
            max_requests: over(&self.max_requests, &other.max_requests),
            env,
        }
    }
}

/// `FcgidCmdOptions command option value ...`
pub(super) fn of_command(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let mut words = words(&args.raw).into_iter();
    let program = words.next().ok_or("the command is missing")?;
    let mut options = Options::default();
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} has no value"))?;
        let slot = match &option.to_ascii_lowercase()[..] {
            "connecttimeout" => &mut options.connect_timeout,
            "idletimeout" => &mut options.idle_timeout,
            "iotimeout" => &mut options.io_timeout,
            "maxprocesses" => &mut options.max_processes,
            "maxprocesslifetime" => &mut options.lifetime,
            "maxrequestsperprocess" => &mut options.max_requests,
            "minprocesses" => &mut options.min_processes,
            "initialenv" => {
                let (name, value) = value.split_once('=').unwrap_or((&value, ""));
                options.env.set(name, value);
                continue;
            }
            _ => return Err(crate::unknown("option", &option, &[])),
        };
        *slot = Some(number(&value, 0..=u32::MAX)?);
    }
    let program = command.server_path(&program);
    command.server.fcgid.of_command.insert(program.into(), options);
    Ok(())
}
