//! Facts that hold for some files only.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet};

use super::{Facts, RuleLevel};

/// One entry of `scopes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Which files it holds for.
    pub paths: Vec<Glob>,
    /// The folder that `paths` are relative to: that of the configuration file.
    pub folder: PathBuf,
    /// The folder that the paths of a run are relative to: the working directory.
    pub directory: PathBuf,
    /// `assume`.
    pub assume: Facts,
    /// `override`.
    pub overrides: Facts,
    /// `rules`: levels per rule id.
    pub rules: BTreeMap<String, RuleLevel>,
}

impl Scope {
    /// Returns the path of a run as `paths` see it; `None` for a file that does not lie below
    /// their folder.
    #[must_use]
    pub fn relative(&self, shown: &str) -> Option<PathBuf> {
        let path = plain(&self.directory.join(shown));
        path.strip_prefix(plain(&self.folder))
            .ok()
            .map(Path::to_path_buf)
    }
}

/// Reads a glob.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn glob(text: &str) -> Result<Glob, String> {
    let trimmed = text.strip_prefix("./").unwrap_or(text);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    if trimmed.is_empty() || trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..")
    {
        return Err(format!(
            "`{text}` is no path below the folder of the configuration file"
        ));
    }
    let built = GlobBuilder::new(trimmed).literal_separator(true).build();
    // What cannot be compiled must be refused here: it would hold for nothing.
    built
        .and_then(|glob| GlobSet::new([&glob]).map(|_| glob))
        .map_err(|error| format!("`{text}` is no glob: {}", error.kind()))
}

/// The path without `.` and `..`, by its words alone: it need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_folder_of_the_file() {
        let seen = |folder: &str, directory: &str, shown: &str| {
            let scope = Scope {
                folder: folder.into(),
                directory: directory.into(),
                ..Scope::default()
            };
            scope.relative(shown)
        };
        let found = |path: &str| Some(PathBuf::from(path));
        assert_eq!(seen("/r", "/r", "a/web.yaml"), found("a/web.yaml"));
        assert_eq!(seen("/r", "/r/a", "web.yaml"), found("a/web.yaml"));
        assert_eq!(seen("/r", "/r/a", "../b/./web.yaml"), found("b/web.yaml"));
        assert_eq!(seen("/r/a/../b", "/r", "b/web.yaml"), found("web.yaml"));
        assert_eq!(seen("/r", "/r", "/r/web.yaml"), found("web.yaml"));
        assert_eq!(seen("/r/b", "/r", "a/web.yaml"), None);
    }

    #[test]
    fn globs_that_match_nothing_are_refused() {
        assert!(glob("./clusters/*/").is_ok());
        for bad in ["", "/", "/etc", "../x", "a/../b", "a/[", "{a"] {
            assert!(glob(bad).is_err(), "{bad}");
        }
    }
}
