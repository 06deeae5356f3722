//! What kustomizations of a state include, and the entries by which they do.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::finding::Label;
use crate::gitops::deployment::named_paths;
use crate::kube::Object;
use crate::kustomize::locate::{Located, folder_of, locate, strings, tree};
use crate::source::{SourceFile, SourceSet};
use crate::yaml::Tree;

/// The fields of a kustomization that list other files.
const LISTS: [&str; 3] = ["resources", "bases", "components"];

/// Returns the entries by which the kustomization `root` includes a file, from the root to the file, each with the path of
/// the file that it names; empty if it does not include the file. All paths are those that are shown to the user.
pub(super) fn entries_to(set: &SourceSet, root: &str, wanted: &str) -> Vec<(Label, Arc<str>)> {
    let Some(root) = set.file(root) else {
        return Vec::new();
    };
    // How each file was reached first.
    let mut reached: HashMap<&str, (&str, Label)> = HashMap::new();
    let mut pending = VecDeque::from([root]);
    while let Some(kustomization) = pending.pop_front() {
        for (target, label) in entries(set, kustomization) {
            let path = &*target.path;
            if path == &*root.path || reached.contains_key(path) {
                continue;
            }
            reached.insert(path, (&kustomization.path, label));
            pending.push_back(target);
        }
        if reached.contains_key(wanted) {
            break;
        }
    }
    let mut found = Vec::new();
    let mut at = wanted;
    while let Some((from, label)) = reached.get(at) {
        found.push((label.clone(), Arc::from(at)));
        at = from;
    }
    found.reverse();
    found
}

/// Returns whether the kustomization at a path lists a file or another kustomization, given by its path.
pub(super) fn lists(set: &SourceSet, kustomization: &str, wanted: &str) -> bool {
    let file = set.file(kustomization);
    file.is_some_and(|file| entries(set, file).any(|(target, _)| *target.path == *wanted))
}

/// Returns the files and kustomizations that a kustomization lists, each with its entry.
fn entries<'s>(
    set: &'s SourceSet,
    kustomization: &'s SourceFile,
) -> impl Iterator<Item = (&'s SourceFile, Label)> {
    let root = tree(kustomization).and_then(Tree::root);
    let folder = folder_of(&kustomization.path);
    let listed = root
        .into_iter()
        .flat_map(|root| LISTS.into_iter().flat_map(move |key| strings(root, key)));
    listed.filter_map(move |(entry, node)| {
        let label = Label {
            path: Arc::clone(&kustomization.path),
            span: node.span(),
            message: String::new(),
        };
        match locate(set, folder, entry) {
            Located::File(file) | Located::Kustomization(file) => Some((file, label)),
            Located::Folder | Located::Remote | Located::Absent | Located::Missing => None,
        }
    })
}

/// Returns the names of the objects of Flux and Argo CD in a file that deploy folders.
pub(super) fn deploying_objects(file: &SourceFile) -> impl Iterator<Item = Label> {
    let objects = file.documents.iter().flat_map(Object::all_in);
    let deploying = objects.filter(|object| !named_paths(object).is_empty());
    deploying.map(|object| object.label_at(object.name_span(), ""))
}
