//! An application of servlets for `hostler serve`, in its archive or unpacked: it answers for all URLs.

use hostler_config::technique::{Served, Word, quoted};
use std::path::Path;

/// `app.war`, or a folder with `WEB-INF/web.xml`
pub(crate) fn application(word: &Word<'_>) -> Option<Result<Served, String>> {
    let path = word.path.canonicalize().ok()?;
    let is_archive = path.is_file() && path.extension().is_some_and(|extension| extension == "war");
    (is_archive || path.join("WEB-INF/web.xml").is_file()).then(|| served(&path))
}

fn served(path: &Path) -> Result<Served, String> {
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    Ok(Served {
        word: path.into(),
        path: path.into(),
        directory: directory.into(),
        lines: format!(
            "ServletApp / \"{}\"\n<Location \"/\">\nRequire all granted\n</Location>\n",
            quoted(path)?
        ),
        ..Served::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_or_what_was_unpacked_of_one_answers_for_all_urls() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("app/WEB-INF")).unwrap();
        for file in ["a.war", "app/WEB-INF/web.xml"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        for name in ["a.war", "app"] {
            let path = root.join(name);
            let served = application(&Word { path: &path, user: |_| Ok(None) }).unwrap().unwrap();
            assert!(served.lines.contains(&format!("ServletApp / \"{}\"", path.display())), "{served:?}");
        }
        assert_eq!(application(&Word { path: &root, user: |_| Ok(None) }), None);
    }
}
