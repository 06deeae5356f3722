//! Which folder of the tree a path in a deploying object means.

use crate::source::{SourceSet, place};

use super::is_plain;

/// Returns the parts of a path from the root of the repository: `./apps/prod`, `/apps/prod/`,
/// `apps/./prod` and `apps/x/../prod` are one, `./` and nothing at all are the root. `None` for a path that is not
/// known, or that leads out of the repository.
pub(super) fn parts(path: &str) -> Option<Vec<&str>> {
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

/// Returns the folder as paths are shown. The root of the repository is where `.git` lies; where
/// that says nothing it may be any folder that holds the deploying file.
pub(super) fn resolve(sources: &SourceSet, file: &str, parts: &[&str]) -> Option<String> {
    let repository = sources.file(file).and_then(|file| file.repository.clone());
    if parts.is_empty() {
        let root = repository.unwrap_or_else(|| "../".repeat(sources.height()).into());
        return Some(root.trim_end_matches('/').to_owned());
    }
    let wanted = parts.join("/");
    let mut above: Vec<String> = place::folders(file, sources.height()).collect();
    above.reverse();
    repository
        .map(|root| root.trim_end_matches('/').to_owned())
        .into_iter()
        .chain(above)
        .map(|root| sources.joined(&root, &wanted))
        .find(|folder| sources.files_in(folder).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_be_written_in_many_ways() {
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
