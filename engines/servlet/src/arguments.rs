//! The front's arguments for a site's virtual machine, and the part of them that the Java program reads.

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The name of the site's folder: letters, digits and `-`.
    pub(crate) key: String,
    /// The directory below which that folder is, where the configuration says so.
    pub(crate) root: Option<String>,
    /// Java's home, if configured.
    pub(crate) java_home: Option<String>,
    /// The largest heap, as Java's `-Xmx` has it.
    pub(crate) heap: Option<String>,
    /// Further words for the virtual machine.
    pub(crate) jvm: Vec<String>,
    /// The arguments that the Java program reads.
    pub(crate) rest: Vec<String>,
}

impl Arguments {
    /// # Errors
    /// The fault in them.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self::default();
        for argument in arguments {
            match argument.split_once('=') {
                Some(("--key", key)) if is_name(key) => key.clone_into(&mut read.key),
                Some(("--root", root)) => read.root = Some(root.to_owned()),
                Some(("--java-home", home)) => read.java_home = Some(home.to_owned()),
                Some(("--heap", heap)) => read.heap = Some(heap.to_owned()),
                Some(("--jvm", word)) => read.jvm.push(word.to_owned()),
                Some(("--threads" | "--backlog" | "--app", _)) => read.rest.push(argument),
                _ => return Err(format!("hostler-servlet: the argument {argument:?}")),
            }
        }
        if read.key.is_empty() {
            return Err("hostler-servlet is started by Hostler, for ServletApp".to_owned());
        }
        Ok(read)
    }
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Arguments, String> {
        Arguments::read(arguments.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn arguments_are_sorted() {
        let read =
            read(&["--key=a-1", "--heap=64m", "--jvm=-Da=b", "--app=v0\t/\t/srv/a.war", "--jvm=-Xint"])
                .unwrap();
        assert_eq!((read.key.as_str(), read.heap.as_deref()), ("a-1", Some("64m")));
        assert_eq!(
            (read.jvm, read.rest),
            (vec!["-Da=b".into(), "-Xint".into()], vec!["--app=v0\t/\t/srv/a.war".into()])
        );
    }

    #[test]
    fn what_is_not_understood_starts_nothing() {
        for wrong in [&["--key=../a"][..], &["--heap=64m"], &["--key=a", "b"], &["--key=a", "--nothing=1"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
