//! The engines' Python code refers only to names that exist: much of it runs seldom, and a missing name shows only
//! then.

use hostler_tests::needs_program;
use std::path::Path;
use std::process::Command;

/// Prints the names that texts use and nobody defines; texts with a comma between them are one module.
const CHECK: &str = r#"
import builtins, dis, sys, types
def used(code):
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "STORE_NAME"):
            yield step.argval, step.opname.startswith("STORE")
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from used(inner)
for files in sys.argv[1:]:
    text = "\n".join(open(file).read() for file in files.split(","))
    names = list(used(compile(text, files, "exec")))
    # The extension puts its own module there.
    there = {name for name, is_stored in names if is_stored} | set(dir(builtins)) | {"__name__", "_hostler"}
    for name in sorted({name for name, _ in names} - there):
        print(name, "in", files)
"#;

#[test]
fn every_name_in_python_s_texts_is_there() {
    needs_program!("/usr/bin/python3");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engines/python/src");
    // As support.rs puts them together.
    let support = ["support", "scripts", "trial", "guards", "forwarded", "mod_wsgi"];
    let path = |name: &str| folder.join(format!("{name}.py")).display().to_string();
    let mut texts = vec![support.map(path).join(","), path("bootstrap")];
    let asgi = std::fs::read_dir(folder.join("asgi")).expect("the modules").flatten();
    texts.extend(asgi.map(|entry| entry.path().display().to_string()));
    assert!(texts.len() > 10, "{texts:?}");
    let output = Command::new("/usr/bin/python3").args(["-c", CHECK]).args(&texts).output().expect("Python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}
