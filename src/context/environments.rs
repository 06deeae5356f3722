//! Decides which files describe the same cluster.
//!
//! If several sibling folders contain one object (same kind, namespace, name), they are environments.
//! The folder above them is a fork, and facts of one environment do not apply to another. Files above
//! the fork are shared, and so is a sibling folder that contains no copy of another's object, such as
//! `infra/` next to `prod/` and `stage/`.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};

use crate::kube::Object;
use crate::source::paths::{child, common, folder, height, is_within};

/// The folders that are environments. Each has a sibling that is also an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environments(HashSet<String>);

impl Environments {
    /// Finds the environments of a tree.
    pub(super) fn of<'a, 't: 'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self {
        let mut folders: HashMap<_, Vec<&str>> = HashMap::new();
        // A kustomization has no name: it is not an object of a cluster.
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
            let folder = folder(object.location_file());
            if folders.last() != Some(&folder) {
                folders.push(folder);
            }
        }
        let mut environments = HashSet::new();
        for mut folders in folders.into_values().filter(|folders| folders.len() > 1) {
            // With sorted folders, comparing neighbours finds every fork.
            folders.sort_unstable_by_key(|folder| (Reverse(height(folder)), *folder));
            for (before, folder) in folders.iter().zip(folders.iter().skip(1)) {
                if !is_within(folder, before)
                    && let Some(fork) = common(before, folder)
                {
                    for environment in [child(fork, before), child(fork, folder)] {
                        if !environments.contains(environment) {
                            environments.insert(environment.to_owned());
                        }
                    }
                }
            }
        }
        Self(environments)
    }

    /// Returns whether facts of the file `fact` may apply to objects of the file `subject`. Facts of an
    /// environment apply only within it, so also not to shared folders next to it.
    pub(super) fn may_apply(&self, fact: &str, subject: &str) -> bool {
        self.folder_may_apply(folder(fact), folder(subject))
    }

    /// Returns whether facts of the folder `fact` may apply to objects of the folder `subject`; see
    /// [`Environments::may_apply`].
    pub(super) fn folder_may_apply(&self, fact: &str, subject: &str) -> bool {
        fact == subject
            || diverging_folder(fact, subject).is_none_or(|folder| !self.0.contains(folder))
    }

    /// Returns the outermost environment that contains a file, according to its path; empty if there is
    /// none. A file outside of the environment joins all of its files or none.
    pub(super) fn environment<'p>(&self, path: &'p str) -> &'p str {
        // `../` does not contain the files of `../../`.
        let found = path
            .match_indices('/')
            .skip(height(path).saturating_sub(1))
            .filter_map(|(at, _)| path.get(..=at))
            .find(|folder| self.0.contains(*folder));
        found.unwrap_or_default()
    }
}

/// Returns the folder in which the path of `fact` first differs from the path of `subject`; `None` if
/// one contains the other, or if they share no folder.
fn diverging_folder<'f>(fact: &'f str, subject: &'f str) -> Option<&'f str> {
    let is_below = |folder: &str| !folder.starts_with(['.', '/']);
    if is_below(fact) && is_below(subject) {
        let same = fact
            .bytes()
            .zip(subject.bytes())
            .take_while(|(a, b)| a == b)
            .count();
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

    fn environments(files: &[(&str, &str)]) -> Environments {
        let files = files.iter().map(|(path, name)| {
            let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n");
            SourceFile::new((*path).into(), text.as_str().into())
        });
        let set = SourceSet::new(files.collect());
        let objects: Vec<Object<'_>> = set
            .files
            .iter()
            .flat_map(|file| &file.documents)
            .flat_map(Object::all_in)
            .collect();
        Environments::of(objects.iter())
    }

    #[test]
    fn sibling_environments_are_separate() {
        let environments = environments(&[
            ("envs/prod/web.yaml", "web"),
            ("envs/stage/web.yaml", "web"),
            ("envs/stage/only.yaml", "only"),
            ("envs/shared.yaml", "shared"),
        ]);
        assert!(!environments.may_apply("envs/stage/ns.yaml", "envs/prod/web.yaml"));
        assert!(environments.may_apply("envs/prod/deep/ns.yaml", "envs/prod/web.yaml"));
        assert!(environments.may_apply("envs/shared.yaml", "envs/prod/web.yaml"));
        assert!(environments.may_apply("infra/mtls.yaml", "envs/prod/web.yaml"));
    }

    #[test]
    fn a_folder_without_a_copy_is_shared() {
        let environments = environments(&[
            ("prod/web.yaml", "web"),
            ("stage/web.yaml", "web"),
            ("infra/mtls.yaml", "mtls"),
        ]);
        assert!(environments.may_apply("infra/mtls.yaml", "prod/web.yaml"));
        assert!(!environments.may_apply("stage/only.yaml", "prod/web.yaml"));
        assert!(!environments.may_apply("stage/only.yaml", "infra/web.yaml"));
    }

    #[test]
    fn environments_are_found_above_the_working_directory() {
        let environments = environments(&[
            ("web.yaml", "web"),
            ("../../stage/app/web.yaml", "web"),
            ("../../infra/mtls.yaml", "mtls"),
        ]);
        assert!(!environments.may_apply("../../stage/ns.yaml", "web.yaml"));
        assert!(environments.may_apply("../ns.yaml", "web.yaml"));
        assert!(environments.may_apply("../../infra/ns.yaml", "web.yaml"));
    }

    #[test]
    fn the_outermost_environment_of_a_file_is_found() {
        let environments = environments(&[
            ("web.yaml", "web"),
            ("../../stage/app/web.yaml", "web"),
            ("../../stage/eu/app.yaml", "app"),
            ("../../stage/us/app.yaml", "app"),
        ]);
        assert_eq!(
            environments.environment("../../stage/us/app.yaml"),
            "../../stage/"
        );
        // `../` is an environment, but does not contain this file.
        assert_eq!(environments.environment("../../infra/mtls.yaml"), "");
        assert_eq!(environments.environment("../ns.yaml"), "../");
        assert_eq!(environments.environment("web.yaml"), "");
    }

    #[test]
    fn a_folder_with_a_copy_from_its_parent_is_not_an_environment() {
        let environments =
            environments(&[("apps/web.yaml", "web"), ("apps/rendered/web.yaml", "web")]);
        assert!(environments.may_apply("apps/ns.yaml", "apps/rendered/web.yaml"));
    }
}
