//! Facts that apply to some files only.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobBuilder, GlobSet};

use crate::finding::RuleId;

use super::{FactOverrides, RuleLevel};

/// One entry of `scopes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The files that the scope applies to.
    pub paths: Vec<Glob>,
    /// The line of each of `paths` in the configuration file, from 1; empty for an entry of `ignore`.
    pub lines: Vec<usize>,
    /// The configuration file, as shown to the user; set by the caller of the parser.
    pub file: Arc<str>,
    /// Whether the run reads every file that the scope can apply to.
    pub is_covered: bool,
    /// The folder of the configuration file, to which `paths` are relative.
    pub folder: PathBuf,
    /// The working directory, to which the paths of a run are relative.
    pub directory: PathBuf,
    /// `assume`.
    pub assume: FactOverrides,
    /// `override`.
    pub overrides: FactOverrides,
    /// `rules`: levels per rule id.
    pub rules: BTreeMap<RuleId, RuleLevel>,
}

impl Scope {
    /// Converts a path of the run to a path relative to `folder`; returns `None` for a file outside of `folder`.
    #[must_use]
    pub fn relative(&self, shown: &str) -> Option<PathBuf> {
        let path = plain(&self.directory.join(shown));
        path.strip_prefix(plain(&self.folder))
            .ok()
            .map(Path::to_path_buf)
    }
}

/// Parses a glob.
///
/// # Errors
/// The message for a path that is not below the folder of the configuration file, or for an invalid glob.
pub(super) fn glob(text: &str) -> Result<Glob, String> {
    let trimmed = text.strip_prefix("./").unwrap_or(text);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    if trimmed.is_empty() || trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..")
    {
        return Err(format!(
            "`{text}` is not a path below the folder of the configuration file"
        ));
    }
    let built = GlobBuilder::new(trimmed).literal_separator(true).build();
    // A glob that cannot be compiled must be rejected here, because it would match nothing.
    built
        .and_then(|glob| GlobSet::new([&glob]).map(|_| glob))
        .map_err(|error| format!("`{text}` is not a valid glob: {}", error.kind()))
}

/// Removes `.` and `..` from a path lexically; the path need not exist.
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
    fn paths_are_relative_to_the_folder_of_the_configuration_file() {
        let relative = |folder: &str, directory: &str, shown: &str| {
            let scope = Scope {
                folder: folder.into(),
                directory: directory.into(),
                ..Scope::default()
            };
            scope.relative(shown)
        };
        let found = |path: &str| Some(PathBuf::from(path));
        assert_eq!(relative("/r", "/r", "a/web.yaml"), found("a/web.yaml"));
        assert_eq!(relative("/r", "/r/a", "web.yaml"), found("a/web.yaml"));
        assert_eq!(
            relative("/r", "/r/a", "../b/./web.yaml"),
            found("b/web.yaml")
        );
        assert_eq!(relative("/r/a/../b", "/r", "b/web.yaml"), found("web.yaml"));
        assert_eq!(relative("/r", "/r", "/r/web.yaml"), found("web.yaml"));
        assert_eq!(relative("/r/b", "/r", "a/web.yaml"), None);
    }

    #[test]
    fn globs_that_match_nothing_are_rejected() {
        assert!(glob("./clusters/*/").is_ok());
        for bad in ["", "/", "/etc", "../x", "a/../b", "a/[", "{a"] {
            assert!(glob(bad).is_err(), "{bad}");
        }
    }
}
