//! Applications in Python for `hostler serve`: `app.py`, `app.py:name` and `package.module:name`. Which of the two interfaces
//! it has is found out by importing it, as the user that it will run as, with a limit on how long that may take.

use hostler_config::technique::{Served, Word, quoted};
use hostler_sys::process::{Pid, Signal, has_ended, kill_group};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROBE: &str = include_str!("probe.py");
/// The time limit of the import.
const LIMIT: Duration = Duration::from_secs(20);
/// The interval of checks whether it has exited.
const LOOK: Duration = Duration::from_millis(10);
/// The start of the probe's last line.
const MARK: &str = "hostler-probe ";
/// The names of virtual environments beside applications.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];

/// The calling interface of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    Wsgi,
    Asgi,
}

/// The application that the command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// An absolute path, or a module's name.
    module: String,
    /// The application's name; empty: one of the usual ones.
    name: String,
    /// The folder in which modules are looked up.
    home: PathBuf,
    /// The word, absolute: the planner reads it again.
    said: PathBuf,
}

/// An application.
#[derive(Clone, Debug)]
struct Application {
    place: Place,
    interface: Interface,
    name: String,
    /// Its file.
    file: PathBuf,
    /// The virtual environment, if there is one beside it.
    environment: Option<PathBuf>,
}

impl Place {
    /// `None`: it is not an application in Python that is meant.
    fn of(said: &Path) -> Option<Self> {
        let of_file = |file: &Path, name: &str| {
            let file = file.canonicalize().ok().filter(|file| file.is_file())?;
            let said =
                if name.is_empty() { file.clone() } else { format!("{}:{name}", file.display()).into() };
            let home = file.parent()?.to_path_buf();
            Some(Self { module: file.to_str()?.to_owned(), name: name.to_owned(), home, said })
        };
        if said.extension().is_some_and(|extension| extension == "py") && said.exists() {
            return of_file(said, "");
        }
        let (module, name) = said.file_name()?.to_str()?.split_once(':')?;
        if module.ends_with(".py") {
            return of_file(&said.with_file_name(module), name);
        }
        if !is_name(module) || !is_name(name.strip_suffix("()").unwrap_or(name)) {
            return None;
        }
        let parent = said.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let home = parent.canonicalize().ok()?;
        let said = home.join(format!("{module}:{name}"));
        Some(Self { module: module.to_owned(), name: name.to_owned(), home, said })
    }

    /// Returns whether it is found by a name, not by a file's path.
    fn is_module(&self) -> bool {
        !self.module.starts_with('/')
    }

    /// Returns the path whose owner it runs as: the file, or the folder of modules.
    fn path(&self) -> &Path {
        if self.is_module() { &self.home } else { Path::new(&self.module) }
    }
}

/// As `package.module`, `name`.
fn is_name(text: &str) -> bool {
    let plain = |part: &str| {
        let first = part.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_');
        first && part.chars().all(|one| one.is_alphanumeric() || one == '_')
    };
    text.split('.').all(plain)
}

/// An application in Python. Its code is run to find out.
pub(crate) fn application(word: &Word<'_>) -> Option<Result<Served, String>> {
    let place = Place::of(word.path)?;
    let user = (word.user)(place.path()).map_err(|error| format!("{}: {error}", place.path().display()));
    Some(user.and_then(|user| find(place, user)).and_then(|application| application.served()))
}

/// Asks the application, as this user and group if that can be chosen.
fn find(place: Place, as_user: Option<(u32, u32)>) -> Result<Application, String> {
    let is_there = |folder: &&&str| place.home.join(folder).join("bin/python3").exists();
    let environment = ENVIRONMENTS.iter().find(is_there).map(|folder| place.home.join(folder));
    let python =
        environment.as_ref().map_or_else(|| "/usr/bin/python3".into(), |folder| folder.join("bin/python3"));
    let mut command = Command::new(&python);
    command.args(["-c", PROBE, &place.module, &place.name]).arg(&place.home).current_dir(&place.home);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    if let Some((user, group)) = as_user {
        command.uid(user).gid(group);
    }
    let shown = place.said.display().to_string();
    let said = run(&mut command).map_err(|why| format!("{shown}: {}: {why}", python.display()))?;
    // What the application's own code says is believed in nothing but that.
    let line = said.lines().rev().find_map(|line| line.strip_prefix(MARK));
    let words: Option<Vec<&str>> = line.map(|line| line.splitn(3, ' ').collect());
    let Some([interface, name, file]) = words.as_deref() else {
        return Err(format!("{shown} can't be imported"));
    };
    if !is_name(name.strip_suffix("()").unwrap_or(name)) {
        return Err(format!("{shown} has an application without a proper name"));
    }
    let file = if place.is_module() { PathBuf::from(file) } else { place.path().to_path_buf() };
    let interface = if *interface == "asgi" { Interface::Asgi } else { Interface::Wsgi };
    if interface == Interface::Wsgi && name.ends_with("()") {
        return Err(format!(
            "{shown} makes a WSGI application: write a file that calls it (application = ...), and serve that"
        ));
    }
    Ok(Application { interface, name: (*name).to_owned(), file, environment, place })
}

/// Runs a command and returns its output; its own child processes are killed with it.
fn run(command: &mut Command) -> Result<String, String> {
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let output = child.stdout.take();
    // It may say more than a pipe holds.
    let reader = std::thread::spawn(move || {
        let mut said = String::new();
        let most = output.map(|output| output.take(1 << 20));
        most.map(|mut output| output.read_to_string(&mut said));
        said
    });
    let end = Instant::now() + LIMIT;
    let group = Pid::from_raw(child.id().cast_signed()).ok_or("it has no number")?;
    let is_late = loop {
        match has_ended(group) {
            Ok(true) => break false,
            Ok(false) if Instant::now() < end => std::thread::sleep(LOOK),
            Ok(false) => break true,
            Err(error) => return Err(error.to_string()),
        }
    };
    kill_group(group, Signal::KILL);
    let status = child.wait().map_err(|error| error.to_string())?;
    if is_late {
        return Err(format!("the import takes longer than {} seconds", LIMIT.as_secs()));
    }
    if !status.success() {
        return Err("it can't be imported".to_owned());
    }
    reader.join().map_err(|_| "it can't be read".to_owned())
}

impl Application {
    fn served(&self) -> Result<Served, String> {
        quoted(&self.file)?;
        quoted(&self.place.home)?;
        Ok(Served {
            word: self.place.said.clone(),
            path: self.place.path().to_path_buf(),
            directory: self.place.home.clone(),
            // An application is asked for URLs with an encoded slash, too, as by servers of its own kind.
            lines: format!("AllowEncodedSlashes On\n{}", self.lines()),
            sentence: self.sentence(),
        })
    }

    /// In a sentence.
    fn sentence(&self) -> String {
        let interface = if self.interface == Interface::Asgi { "an ASGI" } else { "a WSGI" };
        let environment = self.environment.as_ref().map(|folder| format!(", run by {}", folder.display()));
        format!(
            "{} is {interface} application ({}){}",
            self.place.said.display(),
            self.name,
            environment.unwrap_or_default()
        )
    }

    /// The lines that serve it.
    fn lines(&self) -> String {
        let Self { place, interface, name, file, environment } = self;
        let (home, file) = (place.home.display(), file.display());
        let all = "<Location \"/\">\nRequire all granted\n</Location>\n";
        match interface {
            Interface::Asgi => {
                let python =
                    environment.as_ref().map(|folder| format!(" \"python-home={}\"", folder.display()));
                format!(
                    "<Location \"/\">\nSetHandler asgi\nASGIApp \"{}:{name}\" \"home={home}\"{}\n</Location>\n{all}",
                    place.module,
                    python.unwrap_or_default()
                )
            }
            Interface::Wsgi => {
                let python =
                    environment.as_ref().map(|folder| format!("WSGIPythonHome \"{}\"\n", folder.display()));
                format!(
                    "{}WSGIPythonPath \"{home}\"\nWSGIScriptAlias / \"{file}\" callable-object={name} \
                     application-group=%{{GLOBAL}}\nWSGIPassAuthorization On\nWSGIChunkedRequest On\n{all}",
                    python.unwrap_or_default()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_a_file_or_a_module() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("app.py"), "").unwrap();
        let place =
            |word: &str| Place::of(&root.join(word)).map(|place| (place.module, place.name, place.home));
        let file = root.join("app.py").display().to_string();
        assert_eq!(place("app.py"), Some((file.clone(), String::new(), root.clone())));
        assert_eq!(place("app.py:main"), Some((file, "main".into(), root.clone())));
        assert_eq!(place("shop.web:make()"), Some(("shop.web".into(), "make()".into(), root.clone())));
        for other in ["none.py", "app.txt", "a b:c", "x:1", "a.b"] {
            assert_eq!(place(other), None, "{other}");
        }
        // The planner reads the word again, from wherever it is.
        let again = Place::of(&Place::of(&root.join("shop.web:app")).unwrap().said).unwrap();
        assert_eq!((&*again.module, &*again.name, again.home), ("shop.web", "app", root));
    }
}
