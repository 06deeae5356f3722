//! Files and objects that parts which are not judged read from the tree: values files, patches, and what they refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::gitops::changed_files::{names_in, text_nodes};
use meshprobe_deploy::gitops::deployed_folder;
use meshprobe_deploy::gitops::deployment::named_paths;
use meshprobe_deploy::kustomize::locate::folder_of;
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_tree::source::{
    Content, ListRole, SourceFile, SourceSet, is_kustomization, listed, paths,
};
use meshprobe_yaml::NodeRef;

/// The fields of objects, and of files of other tools, that name files or folders of the tree.
const PATH_FIELDS: [&str; 8] = [
    "path",
    "chart",
    "valuesFile",
    "valuesFiles",
    "valueFiles",
    "additionalValuesFiles",
    "files",
    "directories",
];

/// The inputs of the objects that deploy pods.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectInputs(BTreeMap<(Arc<str>, String, String), Inputs>);

/// The files and objects that a part which is not judged reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inputs {
    /// The hashes of the object in each environment, after all patches, and of the objects that it refers to.
    texts: BTreeSet<u64>,
    /// The files and folders, as shown to the user.
    pub(super) paths: BTreeSet<String>,
}

impl Inputs {
    /// Returns whether the objects are the same.
    pub(super) fn has_same_objects(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl ObjectInputs {
    /// Reads the objects of a state.
    pub(super) fn of(context: &Context<'_>) -> Self {
        let inventory = &context.inventory;
        let mut objects: HashMap<(&str, &str), Vec<u64>> = HashMap::new();
        for object in inventory.configs.iter().chain(&inventory.pod_creators) {
            let known = objects.entry((object.kind, object.name())).or_default();
            known.push(hash(object));
        }
        let mut found = Self::default();
        for object in &inventory.pod_creators {
            let key = (
                Arc::clone(object.path()),
                object.kind.to_owned(),
                object.name().to_owned(),
            );
            let inputs = found.0.entry(key).or_default();
            inputs.texts.insert(hash(object));
            let mut names = Names::default();
            names.add(object.node);
            inputs
                .paths
                .extend(names.paths(context.sources, object.path()));
            for (kind, name) in &names.objects {
                inputs
                    .texts
                    .extend(objects.get(&(*kind, *name)).into_iter().flatten());
            }
        }
        found
    }

    /// Returns what the object of a part reads; `None` if it is not an object, or does not create pods.
    pub(super) fn of_part(&self, part: &NotJudged) -> Option<&Inputs> {
        let object = part.object.as_ref()?;
        let path = Arc::clone(&part.place.path);
        self.0
            .get(&(path, object.kind.clone(), object.name.clone()))
    }
}

fn hash(object: &Object<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.node.content().hash(&mut hasher);
    hasher.finish()
}

/// The names in a node.
#[derive(Debug, Default)]
struct Names<'t> {
    /// The texts of fields that name files or folders.
    paths: BTreeSet<&'t str>,
    /// The kinds and names of other objects.
    objects: BTreeSet<(&'t str, &'t str)>,
}

impl<'t> Names<'t> {
    fn add(&mut self, node: NodeRef<'t>) {
        let text = |key: &str| node.get(key).and_then(NodeRef::text);
        self.objects.extend(text("kind").zip(text("name")));
        for entry in node.entries() {
            if entry
                .key
                .text()
                .is_some_and(|key| PATH_FIELDS.contains(&key))
            {
                let items = entry.value.items().filter_map(NodeRef::text);
                self.paths.extend(items.chain(entry.value.text()));
            }
            self.add(entry.value);
        }
        for item in node.items() {
            self.add(item);
        }
    }

    /// Returns the files and folders of the tree that the texts name for an object in a file: relative to a folder above the
    /// file, to the repository, or to a folder that another text names.
    fn paths(&self, sources: &SourceSet, file: &str) -> BTreeSet<String> {
        let texts = self.paths.iter().filter_map(|text| plain_path(text));
        let texts: BTreeSet<&str> = texts.collect();
        let repository = sources
            .file(file)
            .and_then(|file| file.repository.as_deref());
        let above = paths::folders(file, sources.height());
        let bases: BTreeSet<String> = above.chain(repository.map(str::to_owned)).collect();
        let existing = |base: &str| -> BTreeSet<String> {
            let joined = texts.iter().map(|text| sources.joined(base, text));
            let exists = |path: &String| {
                sources.file(path).is_some() || sources.files_in(path).next().is_some()
            };
            joined
                .filter(|path| !path.is_empty() && exists(path))
                .collect()
        };
        let mut found: BTreeSet<String> = bases.iter().flat_map(|base| existing(base)).collect();
        let inner: Vec<String> = found.iter().flat_map(|base| existing(base)).collect();
        found.extend(inner);
        found
    }
}

/// Returns the part of a text that can be a path of the tree: without the name of another source (`$values/`) before it, and
/// without a pattern at its end.
fn plain_path(text: &str) -> Option<&str> {
    let text = match text.strip_prefix('$') {
        Some(rest) => rest.split_once('/')?.1,
        None => text,
    };
    let text = match text.find(['*', '?', '[', '{']) {
        Some(pattern) => text.get(..pattern)?.rsplit_once('/')?.0,
        None => text,
    };
    let text = text.trim_start_matches('/').trim_end_matches('/');
    let names_nothing =
        matches!(text, "" | "." | "..") || text.contains("://") || text.contains('\n');
    (!names_nothing).then_some(text)
}

/// Returns the files and folders that a part without an object reads: what a kustomization names in any of its fields, and
/// in those of the kustomizations that it includes. The files of its objects are judged, and not among them.
pub(super) fn files_named_by(sources: &SourceSet, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut pending: Vec<&SourceFile> = sources.file(path).into_iter().collect();
    while let Some(file) = pending.pop() {
        if !seen.insert(&file.path) {
            continue;
        }
        found.insert(file.path.to_string());
        if !is_kustomization(&file.path) {
            pending.extend(deployed_by(sources, file));
            found.extend(names_of(file).paths(sources, &file.path));
            continue;
        }
        let folder = folder_of(&file.path);
        let root = file.root();
        let entries = || root.into_iter().flat_map(listed);
        let objects: BTreeSet<&str> = entries()
            .filter(|entry| entry.role == ListRole::Objects || entry.field == "crds")
            .map(|entry| entry.text)
            .collect();
        if let Some(root) = root.filter(|root| root.get("helmCharts").is_some()) {
            let home = root.get("helmGlobals").and_then(|all| all.get("chartHome"));
            let home = home.and_then(NodeRef::text).unwrap_or("charts");
            found.insert(sources.joined(folder, home));
        }
        let settings: BTreeSet<&str> = entries()
            .filter(|entry| entry.role.is_setting())
            .map(|entry| entry.text)
            .collect();
        let texts = text_nodes(file).filter(|(text, _)| !text.contains('\n'));
        for entry in texts.flat_map(|(text, _)| names_in(text)) {
            let path = sources.joined(folder, entry);
            if let Some(inner) = sources.kustomization_in(&path) {
                pending.push(inner);
            } else if let Some(named) = sources.file(&path).filter(|_| !objects.contains(entry)) {
                if settings.contains(entry) {
                    found.extend(names_of(named).paths(sources, &named.path));
                }
                found.insert(path);
            }
        }
    }
    found
}

/// Returns the kustomizations that the objects in a file deploy.
fn deployed_by<'s>(sources: &'s SourceSet, file: &'s SourceFile) -> Vec<&'s SourceFile> {
    let objects = file.documents.iter().flat_map(Object::all_in);
    let folders = objects.flat_map(|object| named_paths(&object));
    let folders = folders.filter_map(|path| {
        let parts = deployed_folder::parts(path)?;
        deployed_folder::resolve(sources, &file.path, &parts)
    });
    let kustomizations = folders.filter_map(|folder| sources.kustomization_in(&folder));
    kustomizations.collect()
}

/// Returns what the documents of a file name.
fn names_of(file: &SourceFile) -> Names<'_> {
    let mut names = Names::default();
    for document in &file.documents {
        if let Content::Tree(tree) | Content::Plain(tree) = &document.content
            && let Some(root) = tree.root()
        {
            names.add(root);
        }
    }
    names
}
