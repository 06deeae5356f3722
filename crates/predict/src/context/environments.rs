//! Decides which files describe the same cluster.
//!
//! Sibling folders are environments if they contain the same workload, or if their names are usual for environments and
//! they contain the same object of another kind. A policy or a Namespace that two other folders contain does not separate
//! them: both copies are applied to one cluster. The folder above environments is a fork, and facts of one environment do
//! not apply to another. Files above the fork are shared, and so is a sibling folder that contains no copy of another's
//! object, such as `infra/` next to `prod/` and `stage/`.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::{Object, PeerAuthentication, runs_pods};
use meshprobe_tree::source::paths::{child, common, folder, height, is_within};

use super::environment_name::{are_usual_names, given_name, is_part_of};

/// The folders that are environments. Each has a sibling that is also an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Environments {
    folders: HashSet<String>,
    /// Other sibling folders that contain the same object. They are environments if the user names one of them.
    repeating: HashSet<String>,
    /// The highest number of leading `..` of a folder.
    highest: usize,
    /// The environments that the run is not limited to. Their facts apply only within them.
    left_out: HashSet<String>,
}

impl Environments {
    /// Finds the environments of a tree.
    pub(super) fn of<'a, 't: 'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self {
        let mut folders: HashMap<_, Vec<&str>> = HashMap::new();
        // A kustomization has no name: it is not an object of a cluster.
        for object in objects.filter(|object| !object.name().is_empty()) {
            let namespace = object.deployed_namespace();
            let name = match namespace {
                Some(_) if is_default_policy(object) => "",
                _ => object.name(),
            };
            let identity = (object.group(), object.kind, namespace, name);
            let folders = folders.entry(identity).or_default();
            let folder = folder(object.location_file());
            if folders.last() != Some(&folder) {
                folders.push(folder);
            }
        }
        let mut found = Self::default();
        let several = folders.into_iter().filter(|(_, folders)| folders.len() > 1);
        for ((group, kind, ..), mut folders) in several {
            // With sorted folders, comparing neighbours finds every fork.
            folders.sort_unstable_by_key(|folder| (Reverse(height(folder)), *folder));
            for (before, folder) in folders.iter().zip(folders.iter().skip(1)) {
                if !is_within(folder, before)
                    && let Some(fork) = common(before, folder)
                {
                    let siblings = [child(fork, before), child(fork, folder)];
                    let known = match runs_pods(group, kind) || are_usual_names(fork, siblings) {
                        true => &mut found.folders,
                        false => &mut found.repeating,
                    };
                    for folder in siblings {
                        if !known.contains(folder) {
                            known.insert(folder.to_owned());
                        }
                    }
                }
            }
        }
        found.count_heights();
        found
    }

    fn count_heights(&mut self) {
        let heights = self.folders.iter().map(|folder| height(folder));
        self.highest = heights.max().unwrap_or_default();
    }

    /// Adds the folders with these names from which objects are deployed, or that contain the same object as a sibling, and
    /// such siblings: who names `us1` for `clusters/us1/` states that the folders next to it are environments.
    pub(super) fn add_named<'h>(&mut self, names: &[String], homes: impl Iterator<Item = &'h str>) {
        let homes: HashSet<&str> = homes.map(folder).collect();
        let names = || names.iter().map(|name| given_name(name));
        let has_name = |folder: &str, name| format!("/{folder}").ends_with(&format!("/{name}/"));
        let repeating = std::mem::take(&mut self.repeating);
        let named = repeating
            .iter()
            .filter(|folder| names().any(|name| has_name(folder, name)));
        let forks: HashSet<_> = named.map(|folder| ParentFolder::of(folder)).collect();
        let siblings = repeating.iter();
        let siblings = siblings.filter(|folder| forks.contains(&ParentFolder::of(folder)));
        let mut found: HashSet<String> = siblings.cloned().collect();
        for name in names() {
            for home in &homes {
                let mut ends = home.match_indices('/').map(|(at, _)| at + 1);
                let is_named = |end: &usize| has_name(home.get(..*end).unwrap_or_default(), name);
                let Some(named) = ends.find(is_named).and_then(|end| home.get(..end)) else {
                    continue;
                };
                let outer = folder(named.trim_end_matches('/'));
                let inside = homes
                    .iter()
                    .filter(|other| **other != outer && is_within(other, outer));
                let siblings: HashSet<&str> = inside.map(|other| child(outer, other)).collect();
                if siblings.len() > 1 {
                    found.extend(siblings.into_iter().map(str::to_owned));
                }
            }
        }
        self.folders.extend(found);
        self.count_heights();
    }

    /// Limits the run to environments with these names, as the user gives them: of siblings of which one has such a name,
    /// or contains an environment that has one, the others are left out.
    pub(super) fn limit_to(&mut self, names: &[&str]) {
        let names: Vec<&str> = names.iter().map(|name| given_name(name)).collect();
        let has_name = |folder: &String| {
            let mut names = names.iter();
            names.any(|name| is_part_of(name, folder) || is_file_below(name, folder))
        };
        let named: Vec<&String> = self
            .folders
            .iter()
            .filter(|found| has_name(found))
            .collect();
        let is_named = |folder: &str| named.iter().any(|named| is_within(named, folder));
        let mut groups: HashMap<Option<ParentFolder<'_>>, Vec<&String>> = HashMap::new();
        for folder in &self.folders {
            groups
                .entry(ParentFolder::of(folder))
                .or_default()
                .push(folder);
        }
        let mut left_out = HashSet::new();
        for siblings in groups.into_values() {
            let (inside, outside): (Vec<_>, Vec<_>) =
                siblings.into_iter().partition(|folder| is_named(folder));
            if !inside.is_empty() {
                left_out.extend(outside.into_iter().cloned());
            }
        }
        self.left_out = left_out;
    }

    /// Returns whether the run is not limited to other environments than `folder`.
    pub(super) fn is_in_run(&self, folder: &str) -> bool {
        self.left_out_at(folder).is_none()
    }

    /// Returns the outermost environment that is left out and contains a folder.
    fn left_out_at(&self, folder: &str) -> Option<&str> {
        if self.left_out.is_empty() {
            return None;
        }
        let slashes = folder.match_indices('/').map(|(at, _)| at + 1);
        let prefixes = std::iter::once(0).chain(slashes);
        let found = prefixes
            .filter_map(|end| self.left_out.get(folder.get(..end)?))
            .find(|environment| is_within(folder, environment));
        found.map(String::as_str)
    }

    /// Iterates over the folders, with `/` at the end.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// Returns whether facts of the file `fact` may apply to objects of the file `subject`. Facts of an
    /// environment apply only within it, so also not to shared folders next to it.
    pub(super) fn may_apply(&self, fact: &str, subject: &str) -> bool {
        self.folder_may_apply(folder(fact), folder(subject))
    }

    /// Returns whether facts of the folder `fact` may apply to objects of the folder `subject`; see
    /// [`Environments::may_apply`].
    pub(super) fn folder_may_apply(&self, fact: &str, subject: &str) -> bool {
        let is_left_out = || {
            self.left_out_at(fact)
                .is_some_and(|environment| !is_within(subject, environment))
        };
        fact == subject
            || diverging_folder(fact, subject).is_none_or(|folder| !self.folders.contains(folder))
                && !is_left_out()
    }

    /// Returns whether the tree has no environments.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Returns the innermost environment that contains a file; `None` if there is none.
    pub(super) fn innermost(&self, path: &str) -> Option<&str> {
        let folder = folder(path);
        let (mut inner, up) = (folder, height(folder));
        loop {
            if let Some(found) = self.folders.get(inner) {
                return Some(found);
            }
            match ParentFolder::of(inner) {
                Some(parent) if parent.up == up => {
                    inner = folder.get(..up * "../".len() + parent.rest.len())?;
                }
                _ => break,
            }
        }
        let above = (up + 1..=self.highest).map(|up| "../".repeat(up));
        let mut found = above.filter_map(|above| self.folders.get(&above));
        found.next().map(|found| &**found)
    }

    /// Returns the innermost environment from which an object is deployed by a file outside of that environment and of its
    /// siblings, such as `clusters/prod/` for a folder in it that `flux/prod.yaml` deploys; `None` for other objects.
    pub(super) fn deployed_from(&self, object: &Object<'_>) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        let location = object.location_file();
        let rendered_by = object.rendered_by.map(|rendering| &*rendering.root);
        let files = [rendered_by, Some(&**object.path())].into_iter().flatten();
        let mut found = files
            .filter(|file| *file != location)
            .filter_map(|file| self.innermost(file));
        let home = folder(location);
        found.find(|environment| {
            !is_within(home, environment) && self.folder_may_apply(home, environment)
        })
    }

    /// Returns a predicate: whether a fact may apply to an object, as far as this depends on the environment from which
    /// the object is deployed ([`Environments::deployed_from`]). What one kustomization renders belongs together.
    pub(super) fn deployed_may_apply<'s>(
        &'s self,
        subject: &'s Object<'_>,
    ) -> impl Fn(&Object<'_>) -> bool + 's {
        let to = self.deployed_from(subject);
        move |fact| {
            if !fact.may_share_cluster(subject) {
                return false;
            }
            let Some(to) = to else {
                return true;
            };
            let is_of_same_build = fact.location_file() == subject.location_file()
                && fact.rendered_by == subject.rendered_by;
            is_of_same_build || {
                let from = self.deployed_from(fact);
                self.may_apply(from.unwrap_or_else(|| fact.location_file()), to)
            }
        }
    }

    /// Returns each group of siblings with one of these environments in it, unless one of the siblings contains the folder
    /// `home`.
    pub(super) fn sibling_groups_without(
        &self,
        environments: &HashSet<&str>,
        home: &str,
    ) -> Vec<Vec<&str>> {
        let mut groups: HashMap<Option<ParentFolder<'_>>, Vec<&str>> = environments
            .iter()
            .map(|environment| (ParentFolder::of(environment), Vec::new()))
            .collect();
        for folder in &self.folders {
            if let Some(siblings) = groups.get_mut(&ParentFolder::of(folder)) {
                siblings.push(folder);
            }
        }
        groups.retain(|_, siblings| !siblings.iter().any(|sibling| is_within(home, sibling)));
        groups.into_values().collect()
    }

    /// Returns whether an environment contains a file.
    pub(super) fn contains(&self, path: &str) -> bool {
        !self.environment(path).is_empty()
    }

    /// Returns the outermost environment that contains a file, according to its path; empty if there is
    /// none. A file outside of the environment joins all of its files or none.
    pub(super) fn environment<'p>(&self, path: &'p str) -> &'p str {
        // `../` does not contain the files of `../../`.
        let found = path
            .match_indices('/')
            .skip(height(path).saturating_sub(1))
            .filter_map(|(at, _)| path.get(..=at))
            .find(|folder| self.folders.contains(*folder));
        found.unwrap_or_default()
    }
}

/// Returns whether a name is the path of a file below a folder of the tree.
fn is_file_below(name: &str, folder: &str) -> bool {
    name.contains('/') && !folder.is_empty() && name.starts_with(folder)
}

/// Returns whether an object is a `PeerAuthentication` for a whole namespace or mesh, of which only one takes effect in a
/// cluster, whatever its name.
fn is_default_policy(object: &Object<'_>) -> bool {
    object.kind == "PeerAuthentication"
        && object.group() == "security.istio.io"
        && PeerAuthentication::of(object).selector().is_empty()
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

/// The folder that contains a folder. Its path need not be part of the path of that folder: the working directory is
/// empty, and its parent is `../`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ParentFolder<'f> {
    /// The number of leading `..`.
    pub(super) up: usize,
    /// The path below these, with `/` at its end.
    pub(super) rest: &'f str,
}

impl<'f> ParentFolder<'f> {
    /// Returns the parent of a folder with `/` at its end; `None` for the root of the file system.
    pub(super) fn of(folder: &'f str) -> Option<Self> {
        let up = height(folder);
        let rest = folder.get(up * "../".len()..)?;
        if rest.is_empty() {
            return Some(Self { up: up + 1, rest });
        }
        let inner = rest.strip_suffix('/').filter(|inner| !inner.is_empty())?;
        let rest = inner.get(..inner.rfind('/').map_or(0, |at| at + 1))?;
        Some(Self { up, rest })
    }

    /// Returns whether the parent is `folder` or contains it.
    pub(super) fn contains(self, folder: &str) -> bool {
        is_within(folder, &format!("{}{}", "../".repeat(self.up), self.rest))
    }
}

#[cfg(test)]
mod tests {
    use meshprobe_tree::source::{SourceFile, SourceSet};

    use super::*;

    fn environments(files: &[(&str, &str)]) -> Environments {
        of_kind("Pod", files)
    }

    fn of_kind(kind: &str, files: &[(&str, &str)]) -> Environments {
        let files = files.iter().map(|(path, name)| {
            let text = format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n");
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
    fn a_named_folder_and_its_siblings_repeat_an_object() {
        let repeating = |files: &[(&str, &str)], name: &str| {
            let mut found = of_kind("Namespace", files);
            found.add_named(&[name.to_owned()], std::iter::empty());
            let mut folders: Vec<String> = found.folders().map(str::to_owned).collect();
            folders.sort();
            folders
        };
        let files = [
            ("parts/us1/apps/shop.yaml", "shop"),
            ("parts/us1/infra/shop.yaml", "shop"),
            ("parts/shared/x/mesh.yaml", "mesh"),
            ("parts/shared/y/mesh.yaml", "mesh"),
        ];
        // These repeat no object of each other, so they are parts of one cluster.
        assert_eq!(repeating(&files, "us1"), [""; 0]);
        let expected = ["parts/us1/apps/", "parts/us1/infra/"];
        assert_eq!(repeating(&files, "apps"), expected);
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
    fn the_innermost_environment_of_a_file_is_found() {
        let environments = environments(&[
            ("web.yaml", "web"),
            ("../../stage/app/web.yaml", "web"),
            ("../../stage/eu/app.yaml", "app"),
            ("../../stage/us/app.yaml", "app"),
        ]);
        let innermost = |path| environments.innermost(path);
        assert_eq!(
            innermost("../../stage/us/x/app.yaml"),
            Some("../../stage/us/")
        );
        assert_eq!(innermost("../../stage/app/web.yaml"), Some("../../stage/"));
        assert_eq!(innermost("../../infra/mtls.yaml"), None);
        assert_eq!(innermost("apps/web.yaml"), Some("../"));
        assert_eq!(innermost("../ns.yaml"), Some("../"));
    }

    #[test]
    fn a_folder_with_a_copy_from_its_parent_is_not_an_environment() {
        let environments =
            environments(&[("apps/web.yaml", "web"), ("apps/rendered/web.yaml", "web")]);
        assert!(environments.may_apply("apps/ns.yaml", "apps/rendered/web.yaml"));
    }

    #[test]
    fn siblings_have_one_parent() {
        let of = |folder| ParentFolder::of(folder);
        assert_eq!(of(""), of("../other/"));
        assert_eq!(of("../"), of("../../other/"));
        assert_eq!(of("a/b/"), of("a/c/"));
        assert_eq!(of("/a/"), of("/b/"));
        assert_ne!(of("a/"), of("../a/"));
        assert_eq!(of("/"), None);
        assert!(of("").unwrap().contains("") && of("").unwrap().contains("../other/"));
        assert!(!of("a/b/").unwrap().contains("b/"));
    }
}
