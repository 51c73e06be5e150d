//! The machine that a run is taken on.

use crate::run::Machine;
use std::fs;

/// This machine.
#[must_use]
pub fn this() -> Machine {
    let system = rustix::system::uname();
    let said = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Machine {
        name: folder_name(&said(system.nodename())),
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        model: model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
            .unwrap_or_else(|| said(system.machine())),
        memory: memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default()).unwrap_or(0),
        kernel: format!("{} {} {}", said(system.sysname()), said(system.release()), said(system.machine())),
        load: load(&fs::read_to_string("/proc/loadavg").unwrap_or_default()),
    }
}

/// A host name without its domain, of letters, digits and dashes, so that it can be part of a folder's name.
fn folder_name(host: &str) -> String {
    let first = host.split('.').next().unwrap_or_default();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = first.chars().map(plain).take(32).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "machine".to_owned() } else { name.to_owned() }
}

/// `model name` of x86; other processors call themselves in other ways.
fn model(cpuinfo: &str) -> Option<String> {
    let value = |key| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    ["model name", "Model", "cpu model", "cpu", "uarch"]
        .into_iter()
        .find_map(value)
        .filter(|name| !name.is_empty())
}

fn memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Of the last minute (proc(5)).
fn load(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_becomes_part_of_a_folders_name() {
        assert_eq!(folder_name("Web-1.example.org"), "web-1");
        assert_eq!(folder_name("../../x y"), "machine");
        assert_eq!(folder_name("a/b c"), "a-b-c");
        assert_eq!(folder_name(""), "machine");
    }

    #[test]
    fn the_kernels_words_are_understood() {
        assert_eq!(model("processor\t: 0\nmodel name\t: A B @ 3 GHz\n").as_deref(), Some("A B @ 3 GHz"));
        assert_eq!(model("\n"), None);
        assert_eq!(load("1.25 0.5 0.1 2/300 4711\n"), Some(1.25));
        assert_eq!(memory("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16 << 10));
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let machine = this();
        assert!(machine.processors > 0 && machine.memory > 1 << 20, "{machine:?}");
        assert!(machine.kernel.starts_with("Linux "), "{machine:?}");
    }
}
