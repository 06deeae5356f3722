//! The folder to which paths in reports for programs are relative.

use std::path::{Component, Path, PathBuf};

use crate::source::SourceSet;

/// The folder to which paths in reports are relative. Paths of findings are relative to the working directory, but readers
/// of reports expect paths relative to the root of the repository.
#[derive(Clone, Debug, Default)]
pub struct ReportRoot {
    working_directory: PathBuf,
    root: PathBuf,
    /// Paths that the user names, each with its resolved path.
    links: Vec<(PathBuf, PathBuf)>,
}

/// A path in a report, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReportPath {
    /// A path relative to the root.
    Within(String),
    /// The absolute path of a file outside of the root.
    Outside(String),
}

impl ReportRoot {
    /// Creates a root from the absolute paths of the working directory and of the folder to which paths are relative.
    #[must_use]
    pub fn new(working_directory: &Path, root: &Path) -> Self {
        Self {
            working_directory: normal(working_directory),
            root: normal(root),
            links: Vec::new(),
        }
    }

    /// Records that `named`, a path relative to the working directory, resolves to `real`. A file behind a link is within
    /// the root if its resolved path is.
    pub fn add_link(&mut self, named: &Path, real: &Path) {
        let named = normal(&self.working_directory.join(named));
        if named != real {
            self.links.push((named, real.to_path_buf()));
        }
    }

    /// Returns the path of the file that is shown as `path`.
    pub(super) fn locate(&self, set: &SourceSet, path: &str) -> ReportPath {
        let absolute = normal(&self.working_directory.join(path));
        let on_disk = set
            .file(path)
            .and_then(|file| file.disk_path.as_deref())
            .map(|path| normal(&self.working_directory.join(path)));
        [Some(&absolute), on_disk.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|path| self.within(path).or_else(|| self.behind_link(path)))
            .map_or_else(
                || ReportPath::Outside(slashed(&absolute)),
                ReportPath::Within,
            )
    }

    /// Returns the path relative to the root, or the absolute path of a file outside of the root.
    pub(super) fn path(&self, set: &SourceSet, path: &str) -> String {
        match self.locate(set, path) {
            ReportPath::Within(path) | ReportPath::Outside(path) => path,
        }
    }

    fn behind_link(&self, absolute: &Path) -> Option<String> {
        self.links.iter().find_map(|(named, real)| {
            let rest = absolute.strip_prefix(named).ok()?;
            self.within(&normal(&real.join(rest)))
        })
    }

    fn within(&self, absolute: &Path) -> Option<String> {
        absolute.strip_prefix(&self.root).ok().map(slashed)
    }
}

/// Removes `.` and `..` lexically; links are not resolved.
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
    fn paths_are_relative_to_the_root() {
        let set = SourceSet::default();
        let root = ReportRoot::new(Path::new("/repo/sub"), Path::new("/repo"));
        let place = |path| root.locate(&set, path);
        assert_eq!(place("a.yaml"), ReportPath::Within("sub/a.yaml".into()));
        assert_eq!(place("./../b.yaml"), ReportPath::Within("b.yaml".into()));
        assert_eq!(place("/repo/c.yaml"), ReportPath::Within("c.yaml".into()));
        assert_eq!(place("../../d.yaml"), ReportPath::Outside("/d.yaml".into()));
    }

    #[test]
    fn files_behind_links_are_relative_to_the_root() {
        let set = SourceSet::default();
        let mut root = ReportRoot::new(Path::new("/repo/sub"), Path::new("/repo"));
        root.add_link(Path::new("/link"), Path::new("/repo"));
        root.add_link(Path::new("../other"), Path::new("/elsewhere"));
        let place = |path| root.locate(&set, path);
        assert_eq!(place("/link/a.yaml"), ReportPath::Within("a.yaml".into()));
        assert_eq!(
            place("../../link/a.yaml"),
            ReportPath::Within("a.yaml".into())
        );
        assert_eq!(
            place("/linked/a.yaml"),
            ReportPath::Outside("/linked/a.yaml".into())
        );
        // A path that is within the root without resolving links is used as it is.
        assert_eq!(
            place("../other/a.yaml"),
            ReportPath::Within("other/a.yaml".into())
        );
    }
}
