//! Short names of overlays and clusters, such as `prod-eu` for `clusters/prod-eu/apps.yaml`.
//!
//! The name of a path consists of the folders that distinguish it from the other paths that deploy the same objects,
//! directly or through a third path. So a path has one name in a run, and no two paths of one finding have the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{
    Certainty, Environment, ObjectRef, environment_file, environment_object,
};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{chart_of_output, is_kustomization};

use crate::predict::prediction::WorkloadPrediction;

/// The names of all overlays of a run.
#[derive(Debug, Default)]
pub struct EnvironmentNames(HashMap<Arc<str>, Arc<str>>);

impl EnvironmentNames {
    /// Returns the names of the overlays of all predictions.
    pub fn of(predictions: &[WorkloadPrediction<'_>]) -> Self {
        Self::of_siblings(Siblings::of_workloads(predictions))
    }

    /// Returns the names of the overlays of all predictions, as [`EnvironmentNames::of`] does, and of overlays that deploy
    /// one of `others` and no workload.
    pub fn with_objects<'p, 't: 'p>(
        predictions: &'p [WorkloadPrediction<'t>],
        others: impl Iterator<Item = &'p Object<'t>>,
    ) -> Self {
        let mut siblings = Siblings::of_workloads(predictions);
        let deployed =
            others.filter_map(|object| Some((document_key(object), object.overlay.as_ref()?)));
        let (named, others): (Vec<_>, Vec<_>) =
            deployed.partition(|(_, overlay)| siblings.numbers.contains_key(&***overlay));
        // Overlays that deploy workloads keep their names, also if they share an object such as a Namespace.
        for (document, overlay) in named {
            siblings.add_document(document, overlay);
        }
        for (document, overlay) in others {
            siblings.add(document, overlay);
        }
        Self::of_siblings(siblings)
    }

    fn of_siblings(siblings: Siblings<'_>) -> Self {
        let names = siblings.groups().into_iter().flat_map(|group| {
            let names = names_of(&group);
            let names = names.into_iter().map(Arc::<str>::from);
            group
                .into_iter()
                .map(Arc::clone)
                .zip(names.collect::<Vec<_>>())
        });
        Self(names.collect())
    }

    /// Returns all names.
    pub fn all(&self) -> Vec<String> {
        self.0.values().map(ToString::to_string).collect()
    }

    /// Returns the name of an overlay.
    pub fn name(&self, overlay: &Arc<str>) -> Arc<str> {
        Arc::clone(self.0.get(overlay).unwrap_or(overlay))
    }

    /// Returns the environment of an overlay in which an outcome has a certainty.
    pub fn environment(&self, overlay: &Arc<str>, certainty: Certainty) -> Environment {
        Environment {
            name: self.name(overlay),
            path: Arc::clone(overlay),
            certainty,
            differs: None,
        }
    }
}

/// The document of an object: the path of its file and its number. For an object of a chart, which every output of the
/// chart contains, the folder of the chart and the object.
type DocumentKey<'p> = (&'p str, usize, Option<ObjectRef>);

fn document_key<'p>(object: &'p Object<'_>) -> DocumentKey<'p> {
    match chart_of_output(object.path()) {
        Some(folder) => (folder, 0, Some(object.reference())),
        None => (object.path(), object.document.index, None),
    }
}

/// Overlays, grouped by the documents that they deploy.
#[derive(Debug, Default)]
struct Siblings<'p> {
    overlays: Vec<&'p Arc<str>>,
    numbers: HashMap<&'p str, usize>,
    /// For each overlay, another one of its group; itself for the first.
    parents: Vec<usize>,
    first_of_document: HashMap<DocumentKey<'p>, usize>,
}

impl<'p> Siblings<'p> {
    fn of_workloads(predictions: &'p [WorkloadPrediction<'_>]) -> Self {
        let mut siblings = Self::default();
        for prediction in predictions {
            let object = &prediction.workload.object;
            if let Some(overlay) = &object.overlay {
                siblings.add(document_key(object), overlay);
                if object.rendered_by.is_none() {
                    // Objects of the tree may deploy one workload from several files.
                    siblings.add(("", 0, Some(object.reference())), overlay);
                }
            }
        }
        siblings
    }

    /// Adds a document of a known overlay for later ones, without joining the overlays that deploy it.
    fn add_document(&mut self, document: DocumentKey<'p>, overlay: &str) {
        if let Some(&number) = self.numbers.get(overlay) {
            self.first_of_document.entry(document).or_insert(number);
        }
    }

    fn add(&mut self, document: DocumentKey<'p>, overlay: &'p Arc<str>) {
        let next = self.overlays.len();
        let number = *self.numbers.entry(overlay).or_insert(next);
        if number == next {
            self.overlays.push(overlay);
            self.parents.push(next);
        }
        let first = *self.first_of_document.entry(document).or_insert(number);
        let (first, number) = (self.root(first), self.root(number));
        if let Some(parent) = self.parents.get_mut(first.max(number)) {
            *parent = first.min(number);
        }
    }

    fn root(&mut self, mut number: usize) -> usize {
        while let Some(&parent) = self.parents.get(number).filter(|&&parent| parent != number) {
            let grandparent = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(entry) = self.parents.get_mut(number) {
                *entry = grandparent;
            }
            number = grandparent;
        }
        number
    }

    fn groups(mut self) -> Vec<Vec<&'p Arc<str>>> {
        let mut groups: BTreeMap<usize, Vec<&'p Arc<str>>> = BTreeMap::new();
        for number in 0..self.overlays.len() {
            let root = self.root(number);
            if let Some(overlay) = self.overlays.get(number) {
                groups.entry(root).or_default().push(overlay);
            }
        }
        groups.into_values().collect()
    }
}

/// Returns the names of the paths of a group, in the same order. All are different.
fn names_of(group: &[&Arc<str>]) -> Vec<String> {
    let has_kustomizations = group.iter().any(|id| is_kustomization(id));
    let paths: Vec<OverlayPath<'_>> = group
        .iter()
        .map(|id| OverlayPath::of(id, has_kustomizations))
        .collect();
    let shared = shared_ending(&paths);
    let folders: Vec<&[&str]> = paths
        .iter()
        .map(|path| path.without_ending(shared))
        .collect();
    let longest = folders.iter().map(|folders| folders.len()).max();
    let endings = (1..=longest.unwrap_or_default()).map(|length| {
        folders
            .iter()
            .map(|folders| ending(folders, length))
            .collect()
    });
    let names: Vec<String> = endings
        .into_iter()
        .find(|names: &Vec<String>| count_different(names) == count_different(&folders))
        .unwrap_or_else(|| vec![String::new(); group.len()]);
    let names = with_file_names(names, &paths);
    if count_different(&names) == group.len() {
        names
    } else {
        group.iter().map(ToString::to_string).collect()
    }
}

/// Adds the name of the file to the names of folders that several paths share; the folder is omitted if all do.
fn with_file_names(names: Vec<String>, paths: &[OverlayPath<'_>]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    let is_same_folder = counts.len() == 1 && paths.len() > 1;
    let named = names.into_iter().zip(paths).map(|(name, path)| {
        let is_shared = counts.get(&name).is_some_and(|count| *count > 1);
        match path.file.filter(|_| is_shared) {
            Some(file) if is_same_folder || name.is_empty() => file.to_owned(),
            Some(file) => format!("{name}/{file}"),
            None if name.is_empty() => path.file.unwrap_or(".").to_owned(),
            None => name,
        }
    });
    named.collect()
}

fn ending(folders: &[&str], length: usize) -> String {
    let start = folders.len().saturating_sub(length);
    folders.get(start..).unwrap_or_default().join("/")
}

fn count_different<T: std::hash::Hash + Eq>(items: &[T]) -> usize {
    items.iter().collect::<HashSet<_>>().len()
}

/// Returns the number of folders at the end that all paths share, such as `apps` in `prod/apps` and `staging/apps`.
fn shared_ending(paths: &[OverlayPath<'_>]) -> usize {
    let shortest = paths.iter().map(|path| path.folders.len()).min();
    let is_shared = |length: &usize| {
        let mut endings = paths.iter().map(|path| ending(&path.folders, *length));
        let first = endings.next();
        endings.all(|other| Some(other) == first)
    };
    let lengths = 1..shortest.unwrap_or_default();
    if paths.len() > 1 {
        lengths.take_while(is_shared).last().unwrap_or_default()
    } else {
        0
    }
}

/// The path of an overlay, split.
struct OverlayPath<'p> {
    folders: Vec<&'p str>,
    /// The name of the object, or of the file without its extension; `None` for a kustomization, which is named after its
    /// folder.
    file: Option<&'p str>,
}

impl<'p> OverlayPath<'p> {
    /// Splits an id. If `has_kustomizations` is set, the name of an object counts as that of a folder.
    fn of(id: &'p str, has_kustomizations: bool) -> Self {
        let path = environment_file(id);
        let object = environment_object(id);
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let folders = folder.split('/');
        let folders = folders.filter(|part| !part.is_empty() && *part != ".");
        Self {
            folders: folders
                .chain(object.filter(|_| has_kustomizations))
                .collect(),
            file: object.or_else(|| (!is_kustomization(path)).then_some(stem)),
        }
    }

    fn without_ending(&self, length: usize) -> &[&'p str] {
        let end = self.folders.len().saturating_sub(length);
        self.folders.get(..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let paths: Vec<Arc<str>> = paths.iter().map(|path| Arc::from(*path)).collect();
        names_of(&paths.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_nearest_folder_is_the_name() {
        let paths = [
            "clusters/prod-eu/apps.yaml",
            "tenants/prod-us/kustomization.yaml",
            "tenants/staging/kustomization.yaml",
        ];
        assert_eq!(names(&paths), ["prod-eu", "prod-us", "staging"]);
        assert_eq!(names(&paths[..1]), ["prod-eu"]);
        assert_eq!(names(&["kustomization.yaml"]), ["."]);
        assert_eq!(names(&["app.yaml"]), ["app"]);
    }

    #[test]
    fn shared_endings_are_omitted() {
        let paths = [
            "clusters/prod-eu/apps/kustomization.yaml",
            "clusters/prod-us/apps/web.yaml",
        ];
        assert_eq!(names(&paths), ["prod-eu", "prod-us"]);
    }

    #[test]
    fn names_become_longer_until_they_differ() {
        let paths = [
            "apps/prod/eu/kustomization.yaml",
            "apps/prod/us/kustomization.yaml",
            "apps/staging/eu/kustomization.yaml",
        ];
        assert_eq!(names(&paths), ["prod/eu", "prod/us", "staging/eu"]);
        let paths = ["a/prod/kustomization.yaml", "prod/kustomization.yaml"];
        assert_eq!(names(&paths), ["a/prod", "prod"]);
    }

    #[test]
    fn files_of_one_folder_are_named_after_themselves() {
        let paths = ["clusters/prod.yaml", "clusters/staging.yaml"];
        assert_eq!(names(&paths), ["prod", "staging"]);
        let paths = ["eu/apps.yaml", "eu/more.yaml", "us/apps.yaml"];
        assert_eq!(names(&paths), ["eu/apps", "eu/more", "us"]);
        assert_eq!(names(&["web.yaml", "web.yml"]), ["web.yaml", "web.yml"]);
    }

    #[test]
    fn objects_of_one_file_are_named_after_themselves() {
        let paths = ["eu/apps.yaml#shop-dev", "eu/apps.yaml#shop-prod"];
        assert_eq!(names(&paths), ["shop-dev", "shop-prod"]);
        let paths = ["eu/apps.yaml#web", "us/apps.yaml#web"];
        assert_eq!(names(&paths), ["eu", "us"]);
        let paths = ["eu/apps.yaml#shop-prod", "apps/dev/kustomization.yaml"];
        assert_eq!(names(&paths), ["shop-prod", "dev"]);
    }
}
