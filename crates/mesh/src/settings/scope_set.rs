//! Looks up scopes by path. All globs are compiled once, and matched together.
//!
//! Facts that apply to some files only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobSet};

use super::{FactOverrides, RuleLevel};
use crate::finding::RuleId;

/// The scopes of a configuration, in order.
#[derive(Debug, Default)]
pub struct ScopeSet<'s> {
    groups: Vec<Group<'s>>,
}

/// Scopes whose paths are relative to the same folder.
#[derive(Debug)]
struct Group<'s> {
    first: &'s Scope,
    sets: Vec<Compiled>,
}

/// Globs that are compiled together, with the indexes of their scopes.
#[derive(Debug)]
struct Compiled {
    globs: GlobSet,
    scopes: Vec<usize>,
}

impl<'s> ScopeSet<'s> {
    /// Compiles the globs of `scopes`; [`ScopeSet::matching`] returns the indexes of these scopes.
    pub fn new(scopes: impl IntoIterator<Item = &'s Scope>) -> Self {
        let mut groups: Vec<(&Scope, Vec<(usize, &Glob)>)> = Vec::new();
        for (at, scope) in scopes.into_iter().enumerate() {
            let is_same = |(first, _): &&mut (&Scope, Vec<_>)| {
                (&first.folder, &first.directory) == (&scope.folder, &scope.directory)
            };
            let globs = scope.paths.iter().map(|glob| (at, glob));
            // There is one group per configuration file, and so only one.
            match groups.iter_mut().find(is_same) {
                Some((_, known)) => known.extend(globs),
                None => groups.push((scope, globs.collect())),
            }
        }
        let groups = groups
            .into_iter()
            .map(|(first, globs)| Group {
                first,
                sets: compiled(&globs),
            })
            .collect();
        Self { groups }
    }

    /// Returns the sorted indexes of the scopes that apply to a file: one of their globs matches the file, or a folder
    /// that contains it.
    #[must_use]
    pub fn matching(&self, shown: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let mut matched = Vec::new();
        for group in &self.groups {
            let Some(path) = group.first.relative(shown) else {
                continue;
            };
            let parts = path.ancestors().filter(|part| *part != Path::new(""));
            for (part, set) in parts.flat_map(|part| group.sets.iter().map(move |set| (part, set)))
            {
                set.globs.matches_into(part, &mut matched);
                found.extend(matched.iter().filter_map(|at| set.scopes.get(*at)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Removes the indexes of scopes that apply to one of the files.
    pub fn retain_without_files<'f>(
        &self,
        scopes: &mut BTreeSet<usize>,
        files: impl Iterator<Item = &'f Arc<str>>,
    ) {
        for path in files {
            if scopes.is_empty() {
                break;
            }
            for at in self.matching(path) {
                scopes.remove(&at);
            }
        }
    }
}

/// Compiles globs together, or in halves if the compiled set would be too large.
fn compiled(globs: &[(usize, &Glob)]) -> Vec<Compiled> {
    if let Ok(set) = GlobSet::new(globs.iter().map(|(_, glob)| *glob)) {
        let scopes = globs.iter().map(|(at, _)| *at).collect();
        return vec![Compiled { globs: set, scopes }];
    }
    match globs.len() {
        0 | 1 => Vec::new(),
        count => {
            let (front, back) = globs.split_at(count / 2);
            let mut all = compiled(front);
            all.extend(compiled(back));
            all
        }
    }
}

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
    use globset::GlobBuilder;

    use super::*;

    fn glob(path: &str) -> Glob {
        let mut glob = GlobBuilder::new(path);
        glob.literal_separator(true).build().unwrap()
    }

    #[test]
    fn scopes_match_files_and_folders() {
        let scope = |paths: &[&str], folder: &str| Scope {
            paths: paths.iter().map(|path| glob(path)).collect(),
            folder: folder.into(),
            directory: "/r".into(),
            ..Scope::default()
        };
        let scopes = [
            scope(&["a/**", "b"], "/r"),
            scope(&[], "/r"),
            scope(&["*/x.yaml"], "/r"),
            scope(&["x.yaml"], "/r/a"),
            scope(&["a"], "/r"),
        ];
        let set = ScopeSet::new(&scopes);
        assert_eq!(set.matching("a/x.yaml"), [0, 2, 3, 4]);
        assert_eq!(set.matching("b/c/x.yaml"), [0]);
        assert_eq!(set.matching("c.yaml"), [0_usize; 0]);
        assert_eq!(set.matching("../a/x.yaml"), [0_usize; 0]);
    }

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
}
