//! The targets of `WSGIScriptAlias` and `WSGIScriptAliasMatch`.

use crate::{Matcher, Server};
use hostler_config::directives::alias::{clean_path, prefix_length, substitute};

impl Server {
    /// Returns the alias that matches a path, by its position in the list, and its file name; `None`: none matches. The
    /// first match counts.
    ///
    /// # Errors
    /// A choice that a regular expression can't make.
    pub fn aliased(&self, path: &[u8]) -> Result<Option<(usize, Vec<u8>)>, hostler_expr::RegexError> {
        for (at, alias) in self.aliases.iter().enumerate() {
            let target = alias.target.as_bytes();
            let name = match &alias.matcher {
                Matcher::Prefix(prefix) => {
                    let Some(length) = prefix_length(path, prefix.as_bytes()) else { continue };
                    // The slash of "/" belongs to what follows the script.
                    let length = if &**prefix == "/" { 0 } else { length };
                    [target, &path[length..]].concat()
                }
                Matcher::Regex(regex) => {
                    let mut captures = hostler_expr::Captures::new();
                    if !regex.capture(path, &mut captures)? {
                        continue;
                    }
                    // What follows the match in the URL follows the script, too.
                    let end = captures.span(0).map_or(path.len(), |span| span.1);
                    [&substitute(target, &captures), &path[end..]].concat()
                }
            };
            return Ok(Some((at, clean_path(name))));
        }
        Ok(None)
    }
}
