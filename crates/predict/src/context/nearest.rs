//! Finds the facts that are nearest to a file, and the namespace of an object.

use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::paths::{folder, is_within};

/// Returns the candidates whose file shares the longest folder path with `path`. Documents of the
/// same file are nearest.
pub(in crate::context) fn nearest<'a, 't>(
    candidates: impl Iterator<Item = &'a Object<'t>>,
    path: &str,
) -> Vec<&'a Object<'t>>
where
    't: 'a,
{
    let mut best = Vec::new();
    let mut best_score = None;
    let mut candidates = candidates.peekable();
    while let Some(candidate) = candidates.next() {
        // Mostly there is only one candidate.
        if best.is_empty() && candidates.peek().is_none() {
            return vec![candidate];
        }
        let score = Some(nearness(candidate.location_file(), path));
        if score > best_score {
            best.clear();
            best_score = score;
        }
        if score == best_score {
            best.push(candidate);
        }
    }
    best
}

/// Returns whether the folder of one file contains the other file. Only such files are assumed to
/// have the same namespace if they do not name it.
pub(in crate::context) fn are_related(one: &str, other: &str) -> bool {
    let (one, other) = (folder(one), folder(other));
    is_within(one, other) || is_within(other, one)
}

/// Returns the namespace of an object, and whether the manifest, an option or its deployment sets
/// it. The namespace is `default` if nothing sets it.
pub(in crate::context) fn namespace_of<'t>(
    object: &Object<'t>,
    settings: &'t Settings,
) -> (&'t str, bool) {
    let given = settings.namespace.as_deref();
    let deployed = || Some(object.destination.as_ref()?.namespace);
    match object.namespace().or(given).or_else(deployed) {
        Some(namespace) => (namespace, true),
        None => ("default", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_related_if_the_folder_of_one_contains_the_other() {
        assert!(are_related("a/b/x.yaml", "a/b/y.yaml"));
        assert!(are_related("a/b/x.yaml", "a/ns.yaml"));
        assert!(are_related("x.yaml", "a/ns.yaml"));
        assert!(!are_related("a/b/x.yaml", "a/c/y.yaml"));
        assert!(!are_related("a/bc/x.yaml", "a/b/y.yaml"));
    }
}
