//! Fields of `/proc/PID/stat` (proc(5)): a process's name and state.

/// The first fields of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The program's name, at most 15 bytes, which it may have chosen itself: spaces and parentheses included.
    pub name: Vec<u8>,
    /// `R` runs, `S` and `D` sleep, `T` and `t` are stopped, `Z` and `X` are dead.
    pub state: u8,
}

impl Stat {
    /// Of a process; `None` where there is none, or none that may be seen.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `PID (NAME) STATE ...`
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let begin = line.iter().position(|byte| *byte == b'(')?;
        let end = line.iter().rposition(|byte| *byte == b')').filter(|end| *end > begin)?;
        let state = *line.get(end + 2).filter(|_| line[end + 1] == b' ')?;
        Some(Self { name: line[begin + 1..end].to_vec(), state })
    }

    /// Returns a process's effective user. A process may choose its name, but not this.
    #[must_use]
    pub fn user_of(pid: u32) -> Option<u32> {
        user(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    /// It has ended, and its parent has not taken note.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// The second of the four on the line `Uid:` of `/proc/PID/status`.
fn user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_counts() {
        assert_eq!(user("Name:\tUid:\t7\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n"), Some(0));
        assert_eq!(user("Name:\tx\n"), None);
        assert_eq!(Stat::user_of(std::process::id()), Some(rustix::process::geteuid().as_raw()));
    }

    #[test]
    fn a_name_may_be_anything() {
        for name in ["perl", "a b", ") Z 1 (", "", "((", "))"] {
            let stat = Stat::parse(format!("17 ({name}) S 1 17 17 0 -1").as_bytes()).unwrap();
            assert_eq!((stat.name.as_slice(), stat.state, stat.is_dead()), (name.as_bytes(), b'S', false));
        }
    }

    #[test]
    fn the_dead_are_dead() {
        let is_dead = |state| Stat::parse(format!("1 (x) {state} 0").as_bytes()).map(|stat| stat.is_dead());
        assert_eq!(["Z", "X", "R", "T", "D"].map(is_dead), [true, true, false, false, false].map(Some));
    }

    #[test]
    fn what_is_no_such_line_is_nobody() {
        for line in ["", "1", "1 (x", "1 x)", "1 (x)", "1 (x) ", "1 )x( S", "1 (x)S S"] {
            assert_eq!(Stat::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn we_are_alive() {
        assert!(Stat::of(std::process::id()).is_some_and(|stat| !stat.is_dead() && !stat.name.is_empty()));
        assert_eq!(Stat::of(u32::MAX), None);
    }
}
