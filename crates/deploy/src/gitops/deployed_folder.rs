//! Resolves the path in an object of Flux or Argo CD to a folder of the tree.

use meshprobe_tree::source::{SourceSet, paths, placeholder};

/// Returns the parts of a path from the root of the repository. `./apps/prod`, `/apps/prod/`,
/// `apps/./prod` and `apps/x/../prod` are equal; `./` and the empty path are the root. `None` for a
/// path that contains a placeholder, or that leaves the repository.
pub fn parts(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    is_plain(path).then_some(parts)
}

/// Returns the folder, relative to the working directory. The root of the repository is the folder
/// with `.git`; otherwise it may be any folder that contains the deploying file.
pub fn resolve(sources: &SourceSet, file: &str, parts: &[&str]) -> Option<String> {
    let repository = sources.file(file).and_then(|file| file.repository.clone());
    if parts.is_empty() {
        let root = repository.unwrap_or_else(|| "../".repeat(sources.height()).into());
        return Some(root.trim_end_matches('/').to_owned());
    }
    let wanted = parts.join("/");
    let mut above: Vec<String> = paths::folders(file, sources.height()).collect();
    above.reverse();
    repository
        .map(|root| root.trim_end_matches('/').to_owned())
        .into_iter()
        .chain(above)
        .map(|root| sources.joined(&root, &wanted))
        .find(|folder| sources.files_in(folder).next().is_some())
}

/// Returns the folder below the displayed root of a repository, if it contains files.
pub(crate) fn below(sources: &SourceSet, root: &str, parts: &[&str]) -> Option<String> {
    let root = root.trim_end_matches('/');
    let folder = if parts.is_empty() {
        root.to_owned()
    } else {
        sources.joined(root, &parts.join("/"))
    };
    let is_there = sources.files_in(&folder).next().is_some();
    is_there.then_some(folder)
}

/// Returns whether a value contains no placeholder.
fn is_plain(text: &str) -> bool {
    !placeholder::contains(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_equal_parts() {
        for path in ["./apps/prod", "/apps/prod/", "apps/x/../prod", "apps//prod"] {
            assert_eq!(parts(path), Some(vec!["apps", "prod"]), "{path}");
        }
        for path in ["", ".", "./", "./.", "/"] {
            assert_eq!(parts(path), Some(vec![]), "{path}");
        }
        for path in ["../x", "a/../../x", "a/${ENV}", "{{path}}"] {
            assert_eq!(parts(path), None, "{path}");
        }
    }
}
