//! What is served: the same files for every contestant, in a temporary folder that every user can read.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// How many times the SSI page repeats its five elements.
const REPEATS: u32 = 20;

/// The files; deleted when dropped.
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hostler-bench-").tempdir()?;
        let site = Self { folder };
        fs::set_permissions(site.root(), fs::Permissions::from_mode(0o755))?;
        for name in ["htdocs", "nginx-htdocs", "cgi-bin", "run"] {
            fs::create_dir(site.path(name))?;
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755))?;
        }
        site.documents("htdocs", |n| format!("<!--#if expr=\"v('n') = '{n}'\" -->"))?;
        // nginx writes conditions in its own way; what comes out is the same.
        site.documents("nginx-htdocs", |n| format!("<!--#if expr=\"$n = {n}\" -->"))?;
        site.compile_hello()?;
        crate::bench::perl::write(&site)?;
        Ok(site)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn documents(&self, folder: &str, condition: impl Fn(u32) -> String) -> Result<()> {
        let folder = self.path(folder);
        let line = "Sixty-four bytes of text in each line make four kilobytes of it\n";
        fs::write(folder.join("small.html"), line.repeat(4096 / line.len()))?;
        fs::write(folder.join("large.bin"), vec![b'x'; 10 << 20])?;
        fs::write(folder.join("part.html"), "<p>A part of the page</p>\n")?;
        fs::write(folder.join("page.shtml"), page(condition))?;
        Ok(())
    }

    /// Statically linked: the servers are measured, not the dynamic loader.
    fn compile_hello(&self) -> Result<()> {
        let source = self.path("run/hello.c");
        fs::write(
            &source,
            "#include <stdio.h>\nint main(void) { puts(\"Content-Type: text/plain\\n\\nHello\"); return 0; }\n",
        )?;
        let status = Command::new("cc")
            .args(["-O2", "-static", "-o"])
            .arg(self.path("cgi-bin/hello"))
            .arg(source)
            .status();
        if !status.context("cannot run cc")?.success() {
            bail!("cc failed");
        }
        Ok(())
    }
}

/// The SSI page. Its date shows only the year, so that two answers can be compared.
fn page(condition: impl Fn(u32) -> String) -> String {
    let mut page = "<!DOCTYPE html>\n<title>SSI</title>\n<!--#config timefmt=\"%Y\" -->\n".to_owned();
    for n in 1..=REPEATS {
        let _ = write!(
            page,
            "<!--#set var=\"n\" value=\"{n}\" -->\n<h2>Section <!--#echo var=\"n\" --></h2>\n\
             <p>In the year <!--#echo var=\"DATE_LOCAL\" -->:</p>\n<!--#include virtual=\"/part.html\" -->\n\
             {}<p>Yes</p><!--#else --><p>No</p><!--#endif -->\n",
            condition(n)
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_file_has_four_kilobytes() {
        let site = Site::new().unwrap();
        assert_eq!(fs::metadata(site.path("htdocs/small.html")).unwrap().len(), 4096);
    }

    #[test]
    fn the_page_has_each_element_twenty_times() {
        let page = page(|n| format!("<!--#if expr=\"{n}\" -->"));
        for element in
            ["#set", "#echo var=\"n\"", "#echo var=\"DATE_LOCAL\"", "#include virtual", "#if", "#endif"]
        {
            assert_eq!(page.matches(element).count(), 20, "{element}");
        }
    }
}
