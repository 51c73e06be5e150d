//! Scripts that directives name, and where they run: aliases, handlers, what is imported ahead, and guards.

use crate::options::split;
use crate::parts::{Alias, DIR, Guard, HandlerScript, Import, Matcher, SERVER, Where};
use hostler_config::{Args, Command};

pub(crate) fn alias(command: &mut Command<'_>, args: &Args, is_regex: bool) -> Result<(), String> {
    let (words, options) = split(&args.raw, 2)?;
    let [location, target] = &words[..] else { return Err("needs a URL path and a file".to_owned()) };
    let matcher = if is_regex {
        Matcher::Regex(command.regex(location, false)?)
    } else if location.starts_with('/') {
        Matcher::Prefix(location.as_str().into())
    } else {
        return Err(format!("\"{location}\" is not a URL path: it has to begin with a slash"));
    };
    let target = command.server_path(target).into();
    let mut own = Where::default();
    for (key, value) in options {
        match key.as_str() {
            "process-group" => own.process_group = Some(value.into()),
            "application-group" => own.application_group = Some(value.into()),
            "callable-object" => own.callable = Some(value.into()),
            "pass-authorization" => own.pass_authorization = Some(value.eq_ignore_ascii_case("on")),
            _ => return Err(format!("there is no option {key}=")),
        }
    }
    command.server.part_mut(&SERVER).aliases.push(Alias { matcher, target, own });
    Ok(())
}

pub(crate) fn import(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (words, options) = split(&args.raw, 1)?;
    let [file] = &words[..] else { return Err("needs a file".to_owned()) };
    let mut import = Import { file: command.server_path(file).into(), ..Import::default() };
    let (mut process_group, mut application_group) = (None, None);
    for (key, value) in options {
        match key.as_str() {
            "process-group" => process_group = Some(value.into()),
            "application-group" => application_group = Some(value.into()),
            _ => return Err(format!("there is no option {key}=")),
        }
    }
    import.process_group =
        process_group.ok_or("needs process-group=name (%{GLOBAL}: no WSGIDaemonProcess)")?;
    import.application_group =
        application_group.ok_or("needs application-group=name (%{GLOBAL}: the one that is named so)")?;
    command.server.part_mut(&SERVER).imports.push(import);
    Ok(())
}

pub(crate) fn handler_script(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (words, options) = split(&args.raw, 2)?;
    let [name, file] = &words[..] else { return Err("needs a handler's name and a file".to_owned()) };
    let mut own = Where::default();
    for (key, value) in options {
        match key.as_str() {
            "process-group" => own.process_group = Some(value.into()),
            "application-group" => own.application_group = Some(value.into()),
            "pass-authorization" if value.eq_ignore_ascii_case("on") => own.pass_authorization = Some(true),
            "pass-authorization" if value.eq_ignore_ascii_case("off") => own.pass_authorization = Some(false),
            "pass-authorization" => return Err(format!("{key}={value} is neither On nor Off")),
            _ => return Err(format!("there is no option {key}=")),
        }
    }
    let script = HandlerScript { name: name.as_str().into(), script: command.server_path(file).into(), own };
    let known = &mut command.dir.part_mut(&DIR).handler_scripts;
    known.retain(|known| known.name != script.name);
    known.push(script);
    Ok(())
}

pub(crate) fn guarding(command: &Command<'_>, args: &Args) -> Result<Guard, String> {
    let (words, options) = split(&args.raw, 1)?;
    let [file] = &words[..] else { return Err("needs a file".to_owned()) };
    let mut guard = Guard { script: command.server_path(file).into(), application_group: None };
    for (key, value) in options {
        match key.as_str() {
            "application-group" if !value.is_empty() => guard.application_group = Some(value.into()),
            _ => return Err(format!("there is no option {key}={value}")),
        }
    }
    Ok(guard)
}
