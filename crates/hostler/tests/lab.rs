//! `hostler lab` from outside: what it says to wrong arguments, and its exit status.

use std::process::{Command, Output};

fn lab(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hostler")).arg("lab").args(words).output().expect("hostler runs")
}

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    for (words, expected) in [
        (&["regestry"][..], "there are registry, include, isolation, bench1"),
        (&["registry", "--contestants", "iis"], "there are hostler, apache-prefork"),
        (&["registry", "--technique", "fortran"], "there are handler, registry"),
        (&["bench1", "--only", "all"], "there are cgi-c, cgi-perl"),
        (&["registry", "--cpu", "0"], "--cpu 0"),
        (&["registry", "--database", "mysql"], "sqlite, postgresql"),
        (&["./none.toml"], "cannot read the scenario ./none.toml"),
    ] {
        let output = lab(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", says(&output));
        assert!(says(&output).contains(expected), "{words:?}: {}", says(&output));
    }
}

#[test]
fn the_list_names_scenarios_and_servers() {
    let output = lab(&["list"]);
    assert!(output.status.success());
    for name in ["registry", "bench4", "apache-itk", "nginx"] {
        assert!(says(&output).contains(name), "{name}");
    }
}

#[test]
fn runs_that_are_none_can_not_be_compared_or_reported() {
    for words in [&["compare", "/none", "/none"][..], &["report", "/none"]] {
        let output = lab(words);
        assert_eq!(output.status.code(), Some(1), "{}", says(&output));
        assert!(says(&output).contains("cannot read the run /none"), "{}", says(&output));
    }
}
