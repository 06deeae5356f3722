//! The root of the tree that a file belongs to, from which facts about the file are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_yaml::{self as yaml, NodeRef, Span, Tree};

use crate::filesystem::{FileSystem, Kind};

/// Names of configuration files.
pub const CONFIG_NAMES: [&str; 2] = [".meshprobe.yaml", ".meshprobe.yml"];

impl FileSystem {
    /// Returns the nearest folder that contains a path and is the root of a tree: it contains `.git`, or, unless the
    /// run is `isolated` from configuration files, one with `root: true`. The path is absolute; a folder may be its own
    /// root.
    #[must_use]
    pub fn tree_root(&self, path: &Path, isolated: bool) -> Option<PathBuf> {
        let is_root = |folder: &&Path| {
            self.exists(&folder.join(".git")) || (!isolated && self.declares_root(folder))
        };
        path.ancestors().find(is_root).map(Path::to_path_buf)
    }

    /// Returns whether the configuration file of a folder contains `root: true`. A file that is not valid declares
    /// nothing; where it is in use, its errors are reported.
    pub(in crate::source) fn declares_root(&self, folder: &Path) -> bool {
        CONFIG_NAMES.iter().any(|name| {
            let file = folder.join(name);
            // A link may lead out of the repository.
            let is_file = self
                .symlink_kind(&file)
                .is_ok_and(|kind| kind == Kind::File);
            let text = is_file.then(|| self.read_resolved_text(&self.resolved_or_folded(&file)));
            matches!(text, Some(Ok(text)) if has_root(&text))
        })
    }
}

fn has_root(text: &str) -> bool {
    let text: Arc<str> = text.into();
    let tree = yaml::parse_embedded(&text, Span::new(0, text.len()));
    let tree = tree.ok().flatten();
    let spec = tree
        .as_ref()
        .and_then(Tree::root)
        .and_then(|root| root.get("spec"));
    spec.and_then(|spec| spec.get("root"))
        .and_then(NodeRef::text)
        == Some("true")
}

#[cfg(test)]
mod tests {
    use super::has_root;

    #[test]
    fn only_true_declares_a_root() {
        assert!(has_root("spec: {root: true}\n"));
        assert!(!has_root("spec: {root: false}\n"));
        assert!(!has_root("root: true\n"));
        assert!(!has_root("spec: [\n"));
    }
}
