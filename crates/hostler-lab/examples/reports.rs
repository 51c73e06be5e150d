//! Writes reports of made-up runs of each shape into a folder, to look at them in a browser:
//! `cargo run -p hostler-lab --example reports -- FOLDER`. With `--terminal WIDTH` it
//! prints them instead; with `--again FOLDER` it makes the report of a run again.

use hostler_lab::{load, report, run, scenario};

#[path = "../src/report/sample.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod sample;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, width, only @ ..] = arguments.as_slice()
        && option == "--terminal"
    {
        for (shape, name) in
            sample::SHAPES.iter().filter(|(_, name)| only.is_empty() || only.iter().any(|only| only == name))
        {
            println!(
                "{}",
                report::terminal(&sample::run(*shape, name), width.parse().unwrap_or(100), only.len() > 1)
            );
        }
        return Ok(());
    }
    if let [option, folder] = arguments.as_slice()
        && option == "--again"
    {
        let again = || run::reports(&run::open(folder.as_ref())?, folder.as_ref());
        return again().map_err(std::io::Error::other);
    }
    let folder = arguments.first().map_or("reports", String::as_str);
    std::fs::create_dir_all(folder)?;
    for (shape, name) in sample::SHAPES {
        let run = sample::run(shape, name);
        std::fs::write(format!("{folder}/{name}.html"), report::html(&run))?;
        for (file, text) in report::csv(&run) {
            std::fs::write(format!("{folder}/{name}-{file}"), text)?;
        }
    }
    Ok(())
}
