//! A PSGI application for `hostler serve`: it answers for all URLs.

use hostler_config::technique::{Served, Word, quoted};
use std::path::Path;

/// `app.psgi`
pub(crate) fn application(word: &Word<'_>) -> Option<Result<Served, String>> {
    let path = word.path.canonicalize().ok()?;
    let is_application = path.is_file() && path.extension().is_some_and(|extension| extension == "psgi");
    is_application.then(|| served(&path))
}

fn served(path: &Path) -> Result<Served, String> {
    // An application is asked for URLs with an encoded slash, too, as by servers of its own kind.
    let lines = format!(
        "AllowEncodedSlashes On\n<Location \"/\">\nSetHandler psgi\nPSGIApp \"{}\"\nRequire all granted\n</Location>\n",
        quoted(path)?
    );
    Ok(Served {
        word: path.into(),
        path: path.into(),
        directory: path.parent().unwrap_or(path).into(),
        lines,
        ..Served::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_answers_for_all_urls() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("app.psgi");
        std::fs::write(&file, "sub { [200, [], []] }").unwrap();
        let served = application(&Word { path: &file, user: |_| Ok(None) }).unwrap().unwrap();
        assert!(served.lines.contains(&format!("PSGIApp \"{}\"", file.display())), "{served:?}");
        assert!(served.lines.contains("<Location \"/\">\nSetHandler psgi"), "{served:?}");
        assert_eq!(application(&Word { path: folder.path(), user: |_| Ok(None) }), None);
    }
}
