//! Where paths in reports for machines start.

use std::path::{Component, Path, PathBuf};

use crate::source::SourceSet;

/// The folder that paths in reports start at. Findings name files as seen from the working
/// directory; those who read reports look from the root of the repository.
#[derive(Clone, Debug, Default)]
pub struct Root {
    working_directory: PathBuf,
    root: PathBuf,
    /// Folders and files as the user names them, each with where it really is.
    links: Vec<(PathBuf, PathBuf)>,
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
            links: Vec::new(),
        }
    }

    /// Says that a path of the user's, from the working directory on, leads to `real`: what lies
    /// behind a link is within the root if its own place is.
    pub fn leads(&mut self, named: &Path, real: &Path) {
        let named = normal(&self.working_directory.join(named));
        if named != real {
            self.links.push((named, real.to_path_buf()));
        }
    }

    /// Says where a file lies that is shown as `path`.
    pub(super) fn place(&self, set: &SourceSet, path: &str) -> Place {
        let whole = normal(&self.working_directory.join(path));
        let lies_at = set.file(path).and_then(|file| file.lies_at.as_deref());
        let lies_at = lies_at.map(|path| normal(&self.working_directory.join(path)));
        let mut ways = [Some(&whole), lies_at.as_ref()].into_iter().flatten();
        let within = ways.find_map(|way| self.within(way).or_else(|| self.behind_link(way)));
        within.map_or_else(|| Place::Outside(slashed(&whole)), Place::Within)
    }

    /// The path from the root on; the whole path for what lies outside.
    pub(super) fn path(&self, set: &SourceSet, path: &str) -> String {
        match self.place(set, path) {
            Place::Within(path) | Place::Outside(path) => path,
        }
    }

    fn behind_link(&self, whole: &Path) -> Option<String> {
        self.links.iter().find_map(|(named, real)| {
            let rest = whole.strip_prefix(named).ok()?;
            self.within(&normal(&real.join(rest)))
        })
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

    #[test]
    fn links_lead_into_the_root() {
        let set = SourceSet::default();
        let mut root = Root::new(Path::new("/repo/sub"), Path::new("/repo"));
        root.leads(Path::new("/link"), Path::new("/repo"));
        root.leads(Path::new("../other"), Path::new("/elsewhere"));
        let place = |path| root.place(&set, path);
        assert_eq!(place("/link/a.yaml"), Place::Within("a.yaml".into()));
        assert_eq!(place("../../link/a.yaml"), Place::Within("a.yaml".into()));
        assert_eq!(
            place("/linked/a.yaml"),
            Place::Outside("/linked/a.yaml".into())
        );
        // What lies in the root by its name is told by its name.
        assert_eq!(
            place("../other/a.yaml"),
            Place::Within("other/a.yaml".into())
        );
    }
}
