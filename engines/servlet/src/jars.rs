//! The jars that an application server is made of: Tomcat 10.1 for programs that embed it, and the compiler of JSP, where
//! Debian's packages have them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the packages put them.
pub(crate) const FOLDER: &str = "/usr/share/java";

/// Their names there, each with its package.
const JARS: [(&str, &str); 7] = [
    ("tomcat10-embed-core.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-el.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-jasper.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-websocket.jar", "libtomcat10-embed-java"),
    ("tomcat10-annotations-api.jar", "libtomcat10-java"),
    ("tomcat10-jdbc.jar", "libtomcat10-java"),
    ("eclipse-jdt-core.jar", "libeclipse-jdt-core-java"),
];

/// All of them.
///
/// # Errors
/// What is missing.
pub(crate) fn find(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let find = |(name, package): &(&str, &str)| {
        let path = folder.join(name);
        if path.exists() {
            Ok(path)
        } else {
            Err(format!("{} is missing (package {package})", path.display()))
        }
    };
    JARS.iter().map(find).collect()
}

/// Java's form of a list of jars.
pub(crate) fn class_path(jars: &[PathBuf]) -> OsString {
    let mut path = OsString::new();
    for jar in jars {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(jar);
    }
    path
}
