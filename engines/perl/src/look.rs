//! True if the text of something that is to be loaded shows that it builds configuration, with that of the tenant's own
//! modules that it loads; of the system's only the one that the directive names. Nothing is run, and no interpreter is
//! needed: most of what is loaded builds nothing, and is not to be run twice. Where the text does not show it, the call
//! says so when the pool is started.
//!
//! **Runs as** the site's user, in `hostler-perl configure`.

use hostler_perl_frames::configure::{SourceFacts, pushes_to_server};
use hostler_perl_frames::{Preload, PreloadKind};
use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Files that are read for one thing to load, most.
const MAX_FILES: usize = 300;
/// Bytes that are read of a file, most.
const MAX_BYTES: u64 = 1 << 20;
/// Directories that are kept, most.
const MAX_PLACES: usize = 50;

/// Looks at one thing to load. `places` are those in which modules are looked for, beside `ServerRoot` for files.
pub(crate) fn look(preload: &Preload, server_root: &str, places: Vec<String>) -> SourceFacts {
    let mut look = Look {
        shown: SourceFacts { places, ..SourceFacts::default() },
        server_root: PathBuf::from(server_root),
        seen: HashSet::new(),
        queue: VecDeque::new(),
    };
    match preload.kind {
        PreloadKind::Code => look.text(&preload.text),
        PreloadKind::Module => look.named_module(&preload.text),
        _ => look.file(&preload.text),
    }
    while let Some(path) = look.queue.pop_front() {
        if look.shown.adds {
            break;
        }
        if let Some(text) = read(&path) {
            look.text(&text);
        }
    }
    look.shown
}

struct Look {
    shown: SourceFacts,
    server_root: PathBuf,
    seen: HashSet<PathBuf>,
    queue: VecDeque<PathBuf>,
}

impl Look {
    fn text(&mut self, text: &str) {
        let mut in_pod = false;
        for line in text.lines() {
            if matches!(line.trim_end(), "__END__" | "__DATA__") {
                break;
            }
            if line.starts_with('=') {
                in_pod = !line.starts_with("=cut");
            } else if !in_pod {
                self.line(line);
            }
        }
    }

    fn line(&mut self, line: &str) {
        self.shown.adds |= line.contains("httpd_conf") || adds_to_server(line) || pushes_to_server(line);
        self.shown.fills |= line.contains("ReadConfig::");
        let names = |classes: &[&str]| classes.iter().any(|class| line.contains(class));
        self.shown.first |= names(&["Apache->", "use Apache ", "Apache::Constants", "Apache::Registry"]);
        self.shown.second |= names(&["Apache2::", "ModPerl::"]);
        for word in ["use", "require", "do"] {
            for rest in statements(line, word) {
                self.loads(rest);
            }
        }
    }

    /// Notes the modules that `use` or `require` names.
    fn loads(&mut self, rest: &str) {
        let name = rest.split(|c: char| !is_of_name(c)).next().unwrap_or_default();
        let more = &rest[name.len()..];
        match name {
            "lib" => quoted(more).for_each(|place| self.place(place)),
            "base" | "parent" => quoted(more).for_each(|name| self.module(name)),
            "" => quoted(rest).take(1).for_each(|file| self.file(file)),
            _ => self.module(name),
        }
    }

    fn place(&mut self, place: &str) {
        let places = &mut self.shown.places;
        if place.starts_with('/') && places.len() < MAX_PLACES && !places.iter().any(|known| known == place) {
            places.push(place.to_owned());
        }
    }

    /// A module that a directive names may be an installed program's.
    fn named_module(&mut self, name: &str) {
        let system = option_env!("SYSTEM_PERL_PLACES").unwrap_or_default().split(':').map(PathBuf::from);
        let path = find_module(name, self.places().chain(system));
        self.queue(path);
    }

    fn module(&mut self, name: &str) {
        let path = find_module(name, self.places());
        self.queue(path);
    }

    /// `ServerRoot` is one of mod_perl's own places.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let own = [self.server_root.clone(), self.server_root.join("lib/perl")];
        self.shown.places.iter().map(PathBuf::from).chain(own)
    }

    /// As `require` finds it.
    fn file(&mut self, name: &str) {
        let path = self.places().map(|place| place.join(name)).find(|path| path.is_file());
        self.queue(path);
    }

    fn queue(&mut self, path: Option<PathBuf>) {
        if let Some(path) = path
            && self.seen.len() < MAX_FILES
            && self.seen.insert(path.clone())
        {
            self.queue.push_back(path);
        }
    }
}

fn find_module(name: &str, mut places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_of_name) {
        return None;
    }
    let file = format!("{}.pm", name.replace("::", "/"));
    places.find_map(|place| Some(place.join(&file)).filter(|path| path.is_file()))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | ':')
}

/// `$r->add_config` is the request's own, for handlers.
fn adds_to_server(line: &str) -> bool {
    line.match_indices("add_config").any(|(at, _)| !line[..at].ends_with("$r->"))
}

/// Iterates over the statements with this word, wherever it occurs in the line.
fn statements<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let follows = |(at, _): (usize, &str)| {
        let before = line[..at].chars().next_back();
        let rest = &line[at + word.len()..];
        let apart = !before.is_some_and(|c| is_of_name(c) || matches!(c, '$' | '@' | '%' | '>' | '-'));
        (apart && rest.starts_with([' ', '\t', '\'', '"', '(']))
            .then(|| rest.trim_start_matches([' ', '\t', '(']))
    };
    line.match_indices(word).filter_map(follows)
}

/// The words in quotes, or in `qw(...)`.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split(';').next().unwrap_or_default();
    let is_between = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '(' | ')' | ',' | '[' | ']');
    text.split(is_between).filter(|word| !matches!(*word, "" | "qw" | "-norequire") && !word.contains('$'))
}

/// The beginning of a file; a pipe is not waited for.
fn read(path: &Path) -> Option<String> {
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("hostler-look-{name}-{}", std::process::id()));
            for (file, text) in files {
                let path = root.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn look(&self, kind: PreloadKind, text: &str) -> SourceFacts {
            let root = self.0.to_string_lossy();
            let text = text.replace("ROOT", &root);
            let preload = Preload { kind, text, origin: String::new(), configured: false };
            look(&preload, &root, vec![format!("{root}/lib")])
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn calls_are_found_in_the_file_and_in_what_it_loads() {
        let folder = Folder::new(
            "calls",
            &[
                ("adds.pl", "my $s = X->server;\n$s->add_config([split /\\n/, $conf]);\n"),
                ("old.pl", "Apache->httpd_conf('A b');"),
                ("through.pl", "BEGIN { use My::Setup (); }\n1;\n"),
                ("lib/My/Setup.pm", "package My::Setup;\nuse base qw(My::Base);\n1;\n"),
                ("lib/My/Base.pm", "sub f { shift->server->add_config(@_) }\n1;\n"),
                ("by_file.pl", "require 'adds.pl';\n"),
                ("elsewhere.pl", "use strict;\nuse lib '/none', 'LIB';\nuse Far;\n"),
                (
                    "pushes.pl",
                    "Apache2::ServerUtil->server->push_handlers(\n    PerlFixupHandler => \\&f);\n1;",
                ),
                ("request.pl", "sub handler { my $r = shift; $r->add_config(['AuthName x']); }\n1;\n"),
                ("pod.pl", "1;\n\n=head1 X\n\n  $s->add_config\n\n=cut\n\n1;\n__END__\nadd_config\n"),
                ("round.pl", "require 'round.pl'; use Round; do 'round.pl';\n"),
                ("lib/Round.pm", "package Round; use Round; 1;"),
                ("plain.pl", "use DBI (); my $user = 'x'; $use = 1; My->require('adds.pl'); 1;\n"),
            ],
        );
        let far = folder.0.join("far");
        std::fs::create_dir_all(&far).unwrap();
        std::fs::write(far.join("Far.pm"), "Apache->httpd_conf('A');").unwrap();
        let text = std::fs::read_to_string(folder.0.join("elsewhere.pl")).unwrap();
        std::fs::write(folder.0.join("elsewhere.pl"), text.replace("LIB", &far.to_string_lossy())).unwrap();
        for (file, adds) in [
            ("adds.pl", true),
            ("ROOT/adds.pl", true),
            ("old.pl", true),
            ("through.pl", true),
            ("by_file.pl", true),
            ("elsewhere.pl", true),
            ("pushes.pl", true),
            ("request.pl", false),
            ("pod.pl", false),
            ("round.pl", false),
            ("plain.pl", false),
            ("missing.pl", false),
        ] {
            assert_eq!(folder.look(PreloadKind::File, file).adds, adds, "{file}");
        }
        assert!(folder.look(PreloadKind::Module, "My::Setup").adds);
        assert!(!folder.look(PreloadKind::Module, "My::Other").adds);
        let generations = |shown: SourceFacts| (shown.first, shown.second);
        assert_eq!(generations(folder.look(PreloadKind::File, "old.pl")), (true, false));
        assert_eq!(generations(folder.look(PreloadKind::Code, "use Apache2::Const;")), (false, true));
        assert_eq!(generations(folder.look(PreloadKind::File, "adds.pl")), (false, false));
        // Of the system's perl: found where the directive names it, and not searched for what others load.
        let system = option_env!("SYSTEM_PERL_PLACES").unwrap_or_default().split(':').map(PathBuf::from);
        assert!(find_module("strict", system).is_some());
        assert_eq!(find_module("../tmp", [PathBuf::from("/")].into_iter()), None);
        assert!(folder.look(PreloadKind::Code, "use My::Setup; My::Setup->f;\n").adds);
        let learned = folder.look(PreloadKind::File, "elsewhere.pl").places;
        assert!(learned.contains(&far.to_string_lossy().into_owned()), "{learned:?}");
    }

    #[test]
    fn variables_of_sections_are_found() {
        let folder =
            Folder::new("fills", &[("lib/V.pm", "$Apache2::ReadConfig::Location{'/x'} = {};\n1;\n")]);
        let shown = folder.look(PreloadKind::Module, "V");
        assert!(shown.fills && !shown.adds);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = Folder::new("pipe", &[("x", "")]);
        let pipe = folder.0.join("pipe.pl");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        assert_eq!(read(&pipe), None);
        assert!(!folder.look(PreloadKind::File, "pipe.pl").adds);
    }
}
