//! Files of the tree that the generators of kustomizations copy into ConfigMaps and Secrets.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::source::{SourceFile, SourceSet, is_kustomization};
use crate::yaml::NodeRef;

use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::locate::{file, strings};

/// Fields of a kustomization that copy files, with the kind of the generated object.
const GENERATORS: [(&str, &str); 2] = [
    ("configMapGenerator", "ConfigMap"),
    ("secretGenerator", "Secret"),
];

/// Generator that copies a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFrom {
    /// The kustomization, as shown to the user.
    pub kustomization: Arc<str>,
    /// The object that contains the file, such as ``ConfigMap `apps` ``.
    pub object: String,
}

/// Returns the files that generators list under `files`, by path, each with the first generator that lists it.
#[must_use]
pub fn generator_files(sources: &SourceSet) -> HashMap<Arc<str>, GeneratedFrom> {
    let mut found = HashMap::new();
    let files = sources.files.iter();
    for kustomization in files.filter(|file| is_kustomization(&file.path)) {
        for (file, object) in named_by(sources, kustomization) {
            found
                .entry(Arc::clone(&file.path))
                .or_insert_with(|| GeneratedFrom {
                    kustomization: Arc::clone(&kustomization.path),
                    object,
                });
        }
    }
    found
}

/// Returns the files that the generators of one kustomization list, with the titles of the generated objects.
pub(crate) fn named_by<'s>(
    sources: &'s SourceSet,
    kustomization: &SourceFile,
) -> Vec<(&'s SourceFile, String)> {
    let Some(k) = Kustomization::new(kustomization) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, kind) in GENERATORS {
        for generator in k.items(key) {
            let name = generator.get("name").and_then(NodeRef::text);
            let object = format!("{kind} `{}`", name.unwrap_or_default());
            let files = strings(generator, "files")
                .into_iter()
                .filter_map(|(entry, _)| file(sources, k.folder, path_of_entry(entry)));
            found.extend(files.map(|file| (file, object.clone())));
        }
    }
    found
}

/// Generator of a ConfigMap or Secret.
#[derive(Clone, Debug)]
pub(crate) struct Generator<'s> {
    /// The kustomization.
    pub(crate) kustomization: &'s SourceFile,
    /// The kind of the generated object.
    pub(crate) kind: &'static str,
    /// The name of the generated object, without the hash that kustomize adds.
    pub(crate) name: &'s str,
    /// The keys of the entries of `files`, with the files if they are in the tree.
    pub(crate) files: Vec<(&'s str, Option<&'s SourceFile>)>,
    /// Whether it has `literals` or `envs`, which are not read.
    pub(crate) has_literals: bool,
}

/// Returns the generators of all kustomizations.
pub(crate) fn generators(sources: &SourceSet) -> Vec<Generator<'_>> {
    let kustomizations = sources.files.iter();
    kustomizations
        .filter(|file| is_kustomization(&file.path))
        .flat_map(|kustomization| generators_of(sources, kustomization))
        .collect()
}

fn generators_of<'s>(sources: &'s SourceSet, kustomization: &'s SourceFile) -> Vec<Generator<'s>> {
    let Some(k) = Kustomization::new(kustomization) else {
        return Vec::new();
    };
    let of_field = |(field, kind): (&'static str, &'static str)| {
        k.items(field).map(move |generator| {
            let entries = strings(generator, "files").into_iter();
            let files = entries.map(|(entry, _)| {
                let file = file(sources, k.folder, path_of_entry(entry));
                (key_of_entry(entry), file)
            });
            Generator {
                kustomization,
                kind,
                name: generator
                    .get("name")
                    .and_then(NodeRef::text)
                    .unwrap_or_default(),
                files: files.collect(),
                has_literals: ["literals", "envs", "env"]
                    .iter()
                    .any(|key| generator.get(key).is_some()),
            }
        })
    };
    GENERATORS.into_iter().flat_map(of_field).collect()
}

/// Returns the key of an entry of `files`: the name of the file, unless the entry starts with a key.
fn key_of_entry(entry: &str) -> &str {
    let name = || entry.rsplit('/').next().unwrap_or_default();
    entry.split_once('=').map_or_else(name, |(key, _)| key)
}

/// Returns the path of an entry of `files`, which may start with a key: `KEY=PATH` (kustomize,
/// `ParseFileSource` in `api/internal/generators/utils.go`).
fn path_of_entry(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(_, path)| path)
}
