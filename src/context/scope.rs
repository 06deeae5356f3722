//! Which files speak of the same cluster.
//!
//! Where one object (same kind, namespace, name) stands in several folders side by side, these are
//! environments: the folder above them is a fork, and what lies in one branch of it says nothing
//! about another. Files above the fork are shared.

use std::collections::{BTreeMap, BTreeSet};

use crate::kube::Object;

/// The folders below which environments lie side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Forks(BTreeSet<String>);

impl Forks {
    /// Finds the forks of a tree.
    pub(super) fn of<'a, 't: 'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self {
        let mut folders: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        // A kustomization has no name: it is no object of a cluster.
        for object in objects.filter(|object| !object.name().is_empty()) {
            let identity = (
                object.group(),
                object.kind,
                object
                    .namespace()
                    .or(object.destination.as_ref().map(|to| to.namespace)),
                object.name(),
            );
            folders
                .entry(identity)
                .or_default()
                .insert(folder(object.home()));
        }
        let mut forks = BTreeSet::new();
        for folders in folders.values().filter(|folders| folders.len() > 1) {
            // Sorted folders: the widest common folder shows between neighbours.
            let mut before: Option<&str> = None;
            for &folder in folders {
                if let Some(before) = before
                    && !is_within(folder, before)
                {
                    forks.insert(common(before, folder).to_owned());
                }
                before = Some(folder);
            }
        }
        Self(forks)
    }

    /// Tells whether two files may speak of the same cluster.
    pub(super) fn join(&self, one: &str, other: &str) -> bool {
        let (one, other) = (folder(one), folder(other));
        if is_within(one, other) || is_within(other, one) {
            return true;
        }
        !self.0.contains(common(one, other))
    }
}

/// The folder of a file, with the `/` at its end; empty for the top.
fn folder(path: &str) -> &str {
    path.rfind('/')
        .map_or("", |at| path.get(..=at).unwrap_or_default())
}

fn is_within(folder: &str, outer: &str) -> bool {
    folder.starts_with(outer)
}

/// The deepest folder that both lie in.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let shared = one.as_bytes().get(..same).unwrap_or_default();
    let end = shared
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |at| at + 1);
    one.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceFile, SourceSet};

    fn forks(files: &[(&str, &str)]) -> Forks {
        let files = files.iter().map(|(path, name)| {
            let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n");
            SourceFile::new((*path).into(), text.as_str().into())
        });
        let set = SourceSet::new(files.collect());
        let documents = set.files.iter().flat_map(|file| &file.documents);
        let objects: Vec<Object<'_>> = documents.flat_map(Object::all_in).collect();
        Forks::of(objects.iter())
    }

    #[test]
    fn environments_side_by_side_are_told_apart() {
        let forks = forks(&[
            ("envs/prod/web.yaml", "web"),
            ("envs/stage/web.yaml", "web"),
            ("envs/stage/only.yaml", "only"),
            ("envs/shared.yaml", "shared"),
        ]);
        assert!(!forks.join("envs/prod/web.yaml", "envs/stage/ns.yaml"));
        assert!(forks.join("envs/prod/web.yaml", "envs/prod/deep/ns.yaml"));
        assert!(forks.join("envs/prod/web.yaml", "envs/shared.yaml"));
        assert!(forks.join("envs/prod/web.yaml", "infra/mtls.yaml"));
    }

    #[test]
    fn a_copy_below_is_no_environment() {
        let forks = forks(&[("apps/web.yaml", "web"), ("apps/rendered/web.yaml", "web")]);
        assert!(forks.join("apps/ns.yaml", "apps/rendered/web.yaml"));
    }
}
