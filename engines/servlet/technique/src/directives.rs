//! Applications of servlets and JSP, each under a path of its own, in a Tomcat that the site's process starts.
//!
//! Apache has no such module; the words beside the path are those that people give a Java virtual machine. Whether Java is
//! there is not known here: it is looked for when a server starts that has applications.

use crate::parts::{App, SERVER, is_private};
use hostler_config::{Args, Arity, Command, Directive, Effect, Module, unknown};

/// The module.
pub static MODULE: Module = Module {
    name: "servlet_module",
    file: "mod_servlet.c",
    directives: DIRECTIVES,
    effect: Effect::HandsOver,
};

static DIRECTIVES: &[Directive] = &[Directive::new(
    "ServletApp",
    Arity::TakeArgv,
    "URL-path file.war|directory [heap=bytes[k|m|g]] [java-home=directory] [jvm=-option|option=-option] [work=directory] [threads=number] [reloadable=on|off] \
     [descriptor=context.xml] [parameter=name:value]",
    "Deploy a servlet or JSP application at a URL path; it answers all URLs below that path, whatever files \
        exist there. An archive is unpacked, and deployed again when it changes; an application for \
        javax.servlet (before Tomcat 10) is converted if the package tomcat-jakartaee-migration is \
        installed. descriptor is a context file that the site's user can read, such as one from Tomcat's \
        conf/Catalina/localhost; it replaces the application's META-INF/context.xml. All applications of \
        a site's user run in one Java virtual machine with Tomcat 10.1, which is started by the first \
        request and stopped after HostlerPoolIdle (default here: 1800 seconds); a reload that does not \
        change the applications leaves it running, unless files of Java or Tomcat were replaced. Its \
        heap and its number of threads are the largest values of all applications (default 256m and \
        150). Tomcat writes sessions and unpacked archives below work, a directory of the site's user \
        (default: the site's state directory, /var/lib/hostler/site-UID)",
    add,
)];

fn add(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (Some(context), Some(path)) = (args.word(0), args.word(1)) else {
        return Err("needs a URL-path and an archive or directory".to_owned());
    };
    let context = self::context(context)?;
    if path.is_empty() || path.contains(['\t', '\n']) {
        return Err("needs the name of an archive or directory, without tabs and line ends".to_owned());
    }
    if let Some(app) = command.server.part(&SERVER).apps.iter().find(|app| *app.context == *context) {
        return Err(format!("{} is already mapped to {}", args.first(), app.path));
    }
    let mut app = App {
        context: context.into(),
        path: command.server_path(path).trim_end_matches('/').into(),
        heap: None,
        java_home: None,
        work: None,
        jvm: Vec::new(),
        threads: None,
        reloadable: false,
        descriptor: None,
        parameters: Vec::new(),
        origin: command.origin,
    };
    args.words.iter().skip(2).try_for_each(|word| set(&mut app, word))?;
    command.server.part_mut(&SERVER).add(app);
    Ok(())
}

/// The path, as containers have it.
fn context(path: &str) -> Result<&str, String> {
    let context = path.strip_suffix('/').unwrap_or(path);
    let is_plain = |part: &str| {
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'@')
        };
        !part.is_empty() && !matches!(part, "." | "..") && part.bytes().all(plain)
    };
    let is_right = path.starts_with('/') && context.split('/').skip(1).all(is_plain);
    if !is_right || is_private(path.as_bytes()) {
        return Err(format!(
            "the path {path:?} is not a valid application path (expected / or /name, of letters, digits and -_.~+@"
        ));
    }
    Ok(context)
}

fn set(app: &mut App, word: &str) -> Result<(), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    if value.contains(['\t', '\n']) {
        return Err(format!("{name}: has a tab or a line end"));
    }
    match name.to_ascii_lowercase().as_str() {
        "heap" => app.heap = Some(heap(value)?),
        "java-home" if value.starts_with('/') => app.java_home = Some(value.trim_end_matches('/').into()),
        "java-home" => return Err("java-home: needs an absolute path".to_owned()),
        "work" if value.starts_with('/') => app.work = Some(value.trim_end_matches('/').into()),
        "work" => return Err("work: needs an absolute path".to_owned()),
        "descriptor" if value.starts_with('/') => app.descriptor = Some(value.into()),
        "descriptor" => return Err("descriptor: needs an absolute path".to_owned()),
        "jvm" | "option" if value.starts_with('-') => app.jvm.push(value.into()),
        "jvm" | "option" => return Err(format!("{name}: needs an option of java's, which begins with -")),
        "threads" => {
            let threads = value.parse().ok().filter(|threads| (1..=10_000).contains(threads));
            app.threads = Some(threads.ok_or("threads: needs a number from 1 to 10000")?);
        }
        "reloadable" if value.eq_ignore_ascii_case("on") => app.reloadable = true,
        "reloadable" if value.eq_ignore_ascii_case("off") => app.reloadable = false,
        "reloadable" => return Err("reloadable: needs on or off".to_owned()),
        "parameter" => {
            match value.split_once(':').filter(|(name, _)| !name.is_empty() && !name.contains('=')) {
                Some((name, value)) => app.parameters.push((name.into(), value.into())),
                None => return Err("parameter: needs a name, a colon and a value".to_owned()),
            }
        }
        _ => return Err(unknown("parameter", name, &[])),
    }
    Ok(())
}

/// As java's -Xmx reads it.
fn heap(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 8 << 20;
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => 0,
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes >= LEAST)
        .ok_or_else(|| "heap: needs a size such as 64m, 8m at least".to_owned())
}
