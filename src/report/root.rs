//! Where paths in reports for machines start.

use std::path::{Component, Path, PathBuf};

use crate::source::SourceSet;

/// The folder that paths in reports start at. Findings name files as seen from the working
/// directory; those who read reports look from the root of the repository.
#[derive(Clone, Debug, Default)]
pub struct Root {
    working_directory: PathBuf,
    root: PathBuf,
}

/// A path as reports write it, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// From the root on.
    Within(String),
    /// Outside of the root: the whole path.
    Outside(String),
}

impl Root {
    /// Takes the working directory and the folder that paths are to start at, both absolute.
    #[must_use]
    pub fn new(working_directory: &Path, root: &Path) -> Self {
        Self {
            working_directory: normal(working_directory),
            root: normal(root),
        }
    }

    /// Says where a file lies that is shown as `path`.
    pub(super) fn place(&self, set: &SourceSet, path: &str) -> Place {
        let whole = normal(&self.working_directory.join(path));
        let lies_at = set.file(path).and_then(|file| file.lies_at.as_deref());
        let within = self.within(&whole);
        // A path may lead through a link into the root.
        let within =
            within.or_else(|| self.within(&normal(&self.working_directory.join(lies_at?))));
        within.map_or_else(|| Place::Outside(slashed(&whole)), Place::Within)
    }

    /// The path from the root on; the whole path for what lies outside.
    pub(super) fn path(&self, set: &SourceSet, path: &str) -> String {
        match self.place(set, path) {
            Place::Within(path) | Place::Outside(path) => path,
        }
    }

    fn within(&self, whole: &Path) -> Option<String> {
        whole.strip_prefix(&self.root).ok().map(slashed)
    }
}

/// Without `.` and `..`; links are not followed.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_root() {
        let set = SourceSet::default();
        let root = Root::new(Path::new("/repo/sub"), Path::new("/repo"));
        let place = |path| root.place(&set, path);
        assert_eq!(place("a.yaml"), Place::Within("sub/a.yaml".into()));
        assert_eq!(place("./../b.yaml"), Place::Within("b.yaml".into()));
        assert_eq!(place("/repo/c.yaml"), Place::Within("c.yaml".into()));
        assert_eq!(place("../../d.yaml"), Place::Outside("/d.yaml".into()));
    }
}
