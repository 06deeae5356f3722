//! Converts labels to files, lines and columns, and paths to those relative to the root of a report.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_tree::source::SourceSet;

use meshprobe_engine::engine::{PositionRange, source_location};

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

    /// Returns the path relative to the root, with `..` for a file outside of it. A file on another drive of Windows has an
    /// absolute path.
    pub(super) fn relative(&self, set: &SourceSet, path: &str) -> String {
        match self.locate(set, path) {
            ReportPath::Within(path) => path,
            ReportPath::Outside(path) => {
                let path = Path::new(&path);
                self.relative_to_root(&self.resolved(path).unwrap_or_else(|| path.to_path_buf()))
            }
        }
    }

    /// Returns `path`, which is absolute or relative to the root, as a path relative to the root without `.` and with `..`
    /// only at the start.
    pub(super) fn normalised(&self, path: &str) -> String {
        self.relative_to_root(&self.absolute(path))
    }

    /// Returns the absolute path of `path`, which is relative to the root.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        normal(&self.root.join(path))
    }

    /// Returns an absolute path as it is shown to the user: relative to the working directory if it is below it.
    pub(super) fn shown(&self, absolute: &Path) -> String {
        slashed(
            absolute
                .strip_prefix(&self.working_directory)
                .unwrap_or(absolute),
        )
    }

    fn relative_to_root(&self, absolute: &Path) -> String {
        let shared = self
            .root
            .components()
            .zip(absolute.components())
            .take_while(|(one, other)| one == other)
            .count();
        if shared == 0 {
            return slashed(absolute);
        }
        let up = self.root.components().skip(shared);
        let up = up.map(|_| Component::ParentDir);
        let relative: PathBuf = up.chain(absolute.components().skip(shared)).collect();
        slashed(&relative)
    }

    fn behind_link(&self, absolute: &Path) -> Option<String> {
        self.behind_links(absolute)
            .find_map(|path| self.within(&path))
    }

    fn resolved(&self, absolute: &Path) -> Option<PathBuf> {
        self.behind_links(absolute).next()
    }

    /// Returns the paths to which links that the user names lead.
    fn behind_links(&self, absolute: &Path) -> impl Iterator<Item = PathBuf> {
        self.links.iter().filter_map(|(named, real)| {
            let rest = absolute.strip_prefix(named).ok()?;
            Some(normal(&real.join(rest)))
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
    fn relative_paths_lead_out_of_the_root() {
        let set = SourceSet::default();
        let mut root = ReportRoot::new(Path::new("/repo"), Path::new("/repo/ci"));
        root.add_link(Path::new("/link"), Path::new("/repo"));
        for path in ["apps/a.yaml", "./apps/a.yaml", "/link/apps/a.yaml"] {
            assert_eq!(root.relative(&set, path), "../apps/a.yaml", "{path}");
        }
        assert_eq!(root.relative(&set, "ci/a.yaml"), "a.yaml");
        assert_eq!(root.relative(&set, "/b.yaml"), "../../b.yaml");
        assert_eq!(root.normalised("./../ci/../a.yaml"), "../a.yaml");
        assert_eq!(root.absolute("../a.yaml"), Path::new("/repo/a.yaml"));
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

/// Returns the source file of a label.
pub(super) fn source_path(set: &SourceSet, label: &Label) -> Arc<str> {
    source_location(set, label).path
}

/// A part of one line. GitHub shows a finding in a pull request only if every line of its region is in the diff
/// (docs.github.com, "SARIF support for code scanning").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRegion {
    /// The line, from 1.
    pub(super) line: usize,
    /// The first column, from 1, in code points.
    pub(super) column: usize,
    /// The column after the last code point.
    pub(super) end_column: usize,
}

impl LineRegion {
    /// The region for a file without text.
    pub(super) const START: Self = Self {
        line: 1,
        column: 1,
        end_column: 1,
    };
}

/// Returns the first line of a label in the source file; `None` if the line is not known.
pub(super) fn line_region(set: &SourceSet, label: &Label) -> Option<LineRegion> {
    let location = source_location(set, label);
    let PositionRange { start, end } = location.place?;
    let end_column = if end.line == start.line {
        end.column
    } else {
        // A template is not in the set, so the end of its line is not known.
        let line_end = set.file(&location.path).and_then(|file| {
            let line = file.lines().line(&file.text, start.line)?;
            Some(file.position(line.end).column)
        });
        line_end.unwrap_or(start.column)
    };
    Some(LineRegion {
        line: start.line,
        column: start.column,
        end_column: end_column.max(start.column),
    })
}

/// The maximum number of characters of a line that is shown.
const LONGEST_LINE: usize = 160;

/// The files of a report, and the folder that their paths are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// All files.
    pub(super) set: &'a SourceSet,
    /// The folder; `None` for the working directory.
    pub(super) root: Option<&'a ReportRoot>,
}

impl Places<'_> {
    /// Returns the path of the source file of a label.
    pub(super) fn path(&self, label: &Label) -> String {
        let path = source_path(self.set, label);
        self.root
            .map_or_else(|| path.to_string(), |root| root.path(self.set, &path))
    }

    /// Returns the path of the source file of a label, and the line if it is known.
    pub(super) fn place(&self, label: &Label) -> String {
        let path = self.path(label);
        match line_region(self.set, label) {
            Some(region) => format!("{path}:{}", region.line),
            None => path,
        }
    }

    /// Returns the line of a label without indentation; a long one is cut. `None` if the file has no text.
    pub(super) fn line(&self, label: &Label) -> Option<String> {
        let location = source_location(self.set, label);
        let number = location.place?.start.line;
        let file = self.set.file(&location.path)?;
        let span = file.lines().line(&file.text, number)?;
        let line = file.text.get(span.start..span.end)?.trim();
        let mut shown: String = line.chars().take(LONGEST_LINE).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        (!shown.is_empty()).then_some(shown)
    }
}
