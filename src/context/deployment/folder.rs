//! Which folder of the tree a path in a deploying object means.

use crate::source::{SourceFile, SourceSet};

use super::is_plain;

/// The file names that kustomize looks for, in this order.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Returns the parts of a path from the root of the repository: `./apps/prod`, `/apps/prod/` and
/// `apps/./prod` are one, `./` and nothing at all are the root. `None` for a path that is not
/// known, or that leads out of the repository.
pub(super) fn parts(path: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    (is_plain(path) && !parts.contains(&"..")).then_some(parts)
}

/// Returns the folder as paths are shown. The root of the repository is where `.git` lies; where
/// that says nothing it may be any folder that holds the deploying file.
pub(super) fn resolve(sources: &SourceSet, file: &str, parts: &[&str]) -> Option<String> {
    let repository = sources.file(file).and_then(|file| file.repository.clone());
    let repository = repository.unwrap_or_default();
    if parts.is_empty() {
        return Some(repository.trim_end_matches('/').to_owned());
    }
    let wanted = parts.join("/");
    let ends = file.match_indices('/').map(|(at, _)| at + 1);
    let above = std::iter::once(0).chain(ends);
    let above = above.map(|end| file.get(..end).unwrap_or_default());
    std::iter::once(&*repository)
        .chain(above)
        .map(|root| format!("{root}{wanted}"))
        .find(|folder| holds_files(sources, folder))
}

fn holds_files(sources: &SourceSet, folder: &str) -> bool {
    let prefix = format!("{folder}/");
    let first = sources.files.partition_point(|file| *file.path < *prefix);
    let next = sources.files.get(first);
    next.is_some_and(|file| file.path.starts_with(&prefix))
}

/// Returns the kustomization in a folder.
pub(in crate::context) fn kustomization<'s>(
    sources: &'s SourceSet,
    folder: &str,
) -> Option<&'s SourceFile> {
    let inside = |name: &&str| match folder {
        "" => sources.file(name),
        _ => sources.file(&format!("{folder}/{name}")),
    };
    NAMES.iter().find_map(inside)
}

/// Returns the folders that a file lies in, the deepest first. What lies outside of the working
/// directory does not lie in it.
pub(super) fn around(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.rmatch_indices('/').map(|(at, _)| at);
    let whole = (!path.starts_with("../") && !path.starts_with('/')).then_some("");
    ends.filter_map(|end| path.get(..end)).chain(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_be_written_in_many_ways() {
        for path in ["./apps/prod", "/apps/prod/", "apps/./prod", "apps//prod"] {
            assert_eq!(parts(path), Some(vec!["apps", "prod"]), "{path}");
        }
        for path in ["", ".", "./", "./.", "/"] {
            assert_eq!(parts(path), Some(vec![]), "{path}");
        }
        for path in ["../x", "a/${ENV}", "{{path}}"] {
            assert_eq!(parts(path), None, "{path}");
        }
    }

    #[test]
    fn a_file_lies_in_its_folders() {
        let around = |path| super::around(path).collect::<Vec<_>>();
        assert_eq!(around("a/b/c.yaml"), ["a/b", "a", ""]);
        assert_eq!(around("c.yaml"), [""]);
        assert_eq!(around("../c.yaml"), [".."]);
    }
}
