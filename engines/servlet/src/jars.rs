//! The jars that an application server is made of: Tomcat 10.1 for programs that embed it, and the compiler of JSP, where
//! Debian's packages have them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The packages' folder.
pub(crate) const FOLDER: &str = "/usr/share/java";

/// Their names there, each with its package.
const JARS: [(&str, &str); 8] = [
    ("tomcat10-embed-core.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-el.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-jasper.jar", "libtomcat10-embed-java"),
    ("tomcat10-embed-websocket.jar", "libtomcat10-embed-java"),
    ("tomcat10-annotations-api.jar", "libtomcat10-java"),
    ("tomcat10-jdbc.jar", "libtomcat10-java"),
    // What a DataSource of a context's descriptor is made by where nothing else is said.
    ("tomcat10-dbcp.jar", "libtomcat10-java"),
    ("eclipse-jdt-core.jar", "libeclipse-jdt-core-java"),
];

/// All of them.
///
/// # Errors
/// The file that is missing.
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

/// The folder of the tool that converts older applications for Tomcat 10, from the package tomcat-jakartaee-migration.
#[allow(dead_code, reason = "the build needs none")]
pub(crate) const MIGRATION: &str = "/usr/share/tomcat-jakartaee-migration/lib";

/// Returns that tool, if it is installed. It is optional.
#[allow(dead_code, reason = "the build needs none")]
pub(crate) fn migration(folder: &Path) -> Option<PathBuf> {
    let is_tool = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("jakartaee-migration") && name.ends_with(".jar")
    };
    let mut all: Vec<PathBuf> = folder.read_dir().ok()?.flatten().map(|entry| entry.path()).collect();
    all.retain(is_tool);
    all.sort();
    all.pop()
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
