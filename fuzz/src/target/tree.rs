//! A configuration tree as the planner sends it to the front.

use hostler_config::Tree;

/// The input is an encoded tree.
pub fn target(data: &[u8]) {
    if let Ok(tree) = Tree::decode(data) {
        super::config::build(&tree);
    }
}
