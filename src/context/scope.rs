//! Which files speak of the same cluster.
//!
//! Where one object (same kind, namespace, name) stands in several folders side by side, these are
//! environments: the folder above them is a fork, and what lies in one of these branches says nothing
//! about another. Files above the fork are shared, and so is a folder beside the branches that holds
//! a copy of nothing, such as `infra/` beside `prod/` and `stage/`.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};

use crate::kube::Object;
use crate::source::place::{child, common, folder, height, is_within};

/// The folders that are environments: beside each of them, right below the fork, lies another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Forks(HashSet<String>);

impl Forks {
    /// Finds the forks of a tree.
    pub(super) fn of<'a, 't: 'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self {
        let mut folders: HashMap<_, Vec<&str>> = HashMap::new();
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
            let folders = folders.entry(identity).or_default();
            let folder = folder(object.home());
            if folders.last() != Some(&folder) {
                folders.push(folder);
            }
        }
        let mut forks = HashSet::new();
        for mut folders in folders.into_values().filter(|folders| folders.len() > 1) {
            // Sorted folders: the widest common folder shows between neighbours.
            folders.sort_unstable_by_key(|folder| (Reverse(height(folder)), *folder));
            for (before, folder) in folders.iter().zip(folders.iter().skip(1)) {
                if !is_within(folder, before)
                    && let Some(fork) = common(before, folder)
                {
                    for branch in [child(fork, before), child(fork, folder)] {
                        if !forks.contains(branch) {
                            forks.insert(branch.to_owned());
                        }
                    }
                }
            }
        }
        Self(forks)
    }

    /// Tells whether what the file `fact` says may hold for what stands in the file `subject`. What an
    /// environment says holds in it alone, not for what lies beside it either.
    pub(super) fn join(&self, fact: &str, subject: &str) -> bool {
        self.join_folders(folder(fact), folder(subject))
    }

    /// The same for the folders of the files.
    pub(super) fn join_folders(&self, fact: &str, subject: &str) -> bool {
        fact == subject || branch(fact, subject).is_none_or(|branch| !self.0.contains(branch))
    }

    /// Returns the widest environment that a file lies in, as far as the way to it shows; empty where
    /// there is none. What is not in it is joined with all of it, or with nothing.
    pub(super) fn environment<'p>(&self, path: &'p str) -> &'p str {
        // `../` does not lead to what lies in `../../`.
        let mut folders = path
            .match_indices('/')
            .skip(height(path).saturating_sub(1))
            .filter_map(|(at, _)| path.get(..=at));
        let found = folders.find(|folder| self.0.contains(*folder));
        found.unwrap_or_default()
    }
}

/// Returns the folder by which the way to `fact` leaves the way to `subject`; `None` where one of the
/// two holds the other, or where they share no folder.
fn branch<'f>(fact: &'f str, subject: &'f str) -> Option<&'f str> {
    let is_below = |folder: &str| !folder.starts_with(['.', '/']);
    if is_below(fact) && is_below(subject) {
        let same = fact.bytes().zip(subject.bytes());
        let same = same.take_while(|(a, b)| a == b).count();
        let rest = fact.as_bytes().get(same..)?;
        let end = rest.iter().position(|&byte| byte == b'/')?;
        return fact.get(..=same + end).filter(|_| same < subject.len());
    }
    if is_within(fact, subject) || is_within(subject, fact) {
        return None;
    }
    common(fact, subject).map(|fork| child(fork, fact))
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
        assert!(!forks.join("envs/stage/ns.yaml", "envs/prod/web.yaml"));
        assert!(forks.join("envs/prod/deep/ns.yaml", "envs/prod/web.yaml"));
        assert!(forks.join("envs/shared.yaml", "envs/prod/web.yaml"));
        assert!(forks.join("infra/mtls.yaml", "envs/prod/web.yaml"));
    }

    #[test]
    fn a_folder_that_holds_no_copy_is_shared() {
        let forks = forks(&[
            ("prod/web.yaml", "web"),
            ("stage/web.yaml", "web"),
            ("infra/mtls.yaml", "mtls"),
        ]);
        assert!(forks.join("infra/mtls.yaml", "prod/web.yaml"));
        assert!(!forks.join("stage/only.yaml", "prod/web.yaml"));
        assert!(!forks.join("stage/only.yaml", "infra/web.yaml"));
    }

    #[test]
    fn forks_lie_above_the_working_directory_too() {
        let forks = forks(&[
            ("web.yaml", "web"),
            ("../../stage/app/web.yaml", "web"),
            ("../../infra/mtls.yaml", "mtls"),
        ]);
        assert!(!forks.join("../../stage/ns.yaml", "web.yaml"));
        assert!(forks.join("../ns.yaml", "web.yaml"));
        assert!(forks.join("../../infra/ns.yaml", "web.yaml"));
    }

    #[test]
    fn the_widest_environment_is_found_on_the_way_to_a_file() {
        let forks = forks(&[
            ("web.yaml", "web"),
            ("../../stage/app/web.yaml", "web"),
            ("../../stage/eu/app.yaml", "app"),
            ("../../stage/us/app.yaml", "app"),
        ]);
        assert_eq!(forks.environment("../../stage/us/app.yaml"), "../../stage/");
        // `../` is an environment, and holds none of this.
        assert_eq!(forks.environment("../../infra/mtls.yaml"), "");
        assert_eq!(forks.environment("../ns.yaml"), "../");
        assert_eq!(forks.environment("web.yaml"), "");
    }

    #[test]
    fn a_copy_below_is_no_environment() {
        let forks = forks(&[("apps/web.yaml", "web"), ("apps/rendered/web.yaml", "web")]);
        assert!(forks.join("apps/ns.yaml", "apps/rendered/web.yaml"));
    }
}
