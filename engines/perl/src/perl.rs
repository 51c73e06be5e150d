//! The interpreter, as the parent and the worker see it.

use hostler_perl_frames::{Preload, PreloadKind, Setup};
use hostler_wire::engine::ServerFacts;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use crate::directory::{list, pairs};
use crate::ffi::{self, Fields, Server, Str};

/// Makes the interpreter.
pub(crate) fn boot(setup: &Setup) -> Result<(), String> {
    // Kept for ever: the glue refers to it for as long as the process lives.
    let setup: &'static Setup = Box::leak(Box::new(setup.clone()));
    let vars = setup.vars.iter().map(|vars| pairs(vars)).chain(std::iter::repeat_with(|| pairs(&[])));
    let servers = setup.servers.iter().zip(vars).map(|(facts, vars)| server(facts, vars));
    let servers: &'static [Server] = Box::leak(servers.collect());
    let switches = list(&setup.switches);
    let given = Box::leak(Box::new(ffi::Setup {
        generation: if setup.generation == 1 { 1 } else { 2 },
        one_shot: setup.one_shot.into(),
        switches: switches.as_ptr(),
        switch_count: switches.len(),
        env: pairs(&setup.env),
        server_root: Str::new(setup.server_root.as_bytes()),
        servers: servers.as_ptr(),
        server_count: servers.len(),
        max_requests: setup.max_requests,
        tree: Str::new(setup.tree.as_bytes()),
    }));
    // SAFETY: everything given lives for ever.
    answered(|error| unsafe { ffi::hp_perl_boot(given, error) })
}

fn server(facts: &'static ServerFacts, vars: Fields) -> Server {
    let text = |text: &'static String| Str::new(text.as_bytes());
    Server {
        id: facts.id,
        port: facts.port,
        is_virtual: facts.is_virtual.into(),
        log_level: facts.log_level,
        timeout: i64::from(facts.timeout) * 1_000_000,
        keep_alive_timeout: i64::try_from(facts.keep_alive_timeout).unwrap_or(i64::MAX).saturating_mul(1000),
        keep_alive: facts.keep_alive.into(),
        keep_alive_max: c_int::try_from(facts.keep_alive_max).unwrap_or(c_int::MAX),
        name: text(&facts.name),
        admin: text(&facts.admin),
        document_root: text(&facts.document_root),
        software: text(&facts.software),
        error_log: text(&facts.error_log),
        vars,
        aliases: list(&facts.aliases).as_ptr(),
        alias_count: facts.aliases.len(),
    }
}

/// `perl v5.36.0`.
pub(crate) fn version() -> String {
    // SAFETY: a C string that is always there.
    unsafe { CStr::from_ptr(ffi::hp_perl_version()) }.to_string_lossy().into_owned()
}

/// Loads one thing; the error is Perl's, with the place of the directive before it.
pub(crate) fn preload(preload: &Preload) -> Result<(), String> {
    let kind = c_int::from(preload.kind as u8);
    let (text, origin) = (Str::new(preload.text.as_bytes()), Str::new(preload.origin.as_bytes()));
    // SAFETY: the strings live until the call returns.
    answered(|error| unsafe { ffi::hp_perl_preload(kind, text, origin, preload.configured.into(), error) })
}

/// Runs a section, or loads something, for the configuration that it builds: its text, what it warned of, and the directives that
/// modules have added so far.
pub(crate) fn configure(preload: &Preload, in_host: bool) -> Result<[String; 3], String> {
    self::preload(&Preload {
        kind: PreloadKind::Module,
        text: "Hostler::Configure".into(),
        origin: String::new(),
        configured: false,
    })?;
    begin_section(in_host, preload.kind == PreloadKind::Code);
    let ran = self::preload(preload);
    let mut texts = [ffi::Str::ABSENT; 3];
    // SAFETY: all are written; they belong to the interpreter until the next call.
    let built = answered(|error| unsafe { ffi::hp_perl_configured(texts.as_mut_ptr(), error) });
    // The planner knows where the section, or the directive, stands.
    let place = if preload.kind == PreloadKind::Code { "<Perl>: " } else { &format!("{}: ", preload.text) };
    let bare = |why: &str| Some(why.strip_prefix(&preload.origin)?.split_once(place)?.1.to_owned());
    ran.map_err(|why| bare(&why).unwrap_or(why))?;
    built?;
    // SAFETY: as above.
    let owned = |bytes: Str| String::from_utf8_lossy(unsafe { bytes.bytes() }).into_owned();
    Ok(texts.map(owned))
}

fn begin_section(in_host: bool, is_section: bool) {
    // SAFETY: sets variables of the interpreter.
    unsafe { ffi::hp_perl_configure(in_host.into(), is_section.into()) }
}

/// The last of what a parent does whose workers serve one request each: from here on forks are cheap.
pub(crate) fn prepare_forks() {
    // SAFETY: the process has one thread, which is not inside the interpreter.
    unsafe { ffi::hp_prepare_forks() }
}

/// A new worker's first steps: `PerlChildInitHandler`.
pub(crate) fn child_init(functions: &[String]) -> Result<(), String> {
    let functions = borrowed(functions);
    // SAFETY: the list lives until the call returns.
    answered(|error| unsafe { ffi::hp_perl_child_init(functions.as_ptr(), functions.len(), error) })
}

/// `PerlChildExitHandler`, END blocks, and unless `quick` the interpreter's own end.
pub(crate) fn end(functions: &[String], quick: bool) {
    let functions = borrowed(functions);
    // SAFETY: the list lives until the call returns.
    unsafe { ffi::hp_perl_end(functions.as_ptr(), functions.len(), quick.into()) }
}

fn borrowed(texts: &[String]) -> Vec<Str> {
    texts.iter().map(|text| Str::new(text.as_bytes())).collect()
}

fn answered(call: impl FnOnce(*mut *mut c_char) -> c_int) -> Result<(), String> {
    let mut error = null_mut();
    if call(&raw mut error) == 0 {
        return Ok(());
    }
    if error.is_null() {
        return Err("perl gave no reason".into());
    }
    // SAFETY: a C string that C has allocated for us, freed once.
    unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::hp_free(error.cast());
        Err(text)
    }
}
