//! The ConfigMaps and Secrets of a tree from which Flux takes values and variables.

use std::collections::BTreeSet;

use hashbrown::{Equivalent, HashMap};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, is_in_ancestor_folder, nearness};
use meshprobe_tree::source::paths::{child, common, folder, is_within};
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization};
use meshprobe_yaml::{Entry, NodeRef, Scalar, decode_base64};

use crate::kustomize::locate::Closure;

/// ConfigMaps and Secrets by kind and name.
#[derive(Debug, Default)]
pub struct Configs<'t> {
    by_name: HashMap<(&'t str, &'t str), Vec<Object<'t>>>,
}

/// A reference to a ConfigMap or Secret.
#[derive(Clone, Copy, Debug)]
pub struct ConfigReference<'r> {
    pub kind: &'r str,
    pub name: &'r str,
    pub namespace: Option<&'r str>,
}

/// Kind and name of an object.
#[derive(Hash)]
struct Title<'r>(&'r str, &'r str);

impl Equivalent<(&str, &str)> for Title<'_> {
    fn equivalent(&self, key: &(&str, &str)) -> bool {
        (self.0, self.1) == *key
    }
}

impl<'t> Configs<'t> {
    /// Adds an object.
    pub fn push(&mut self, object: Object<'t>) {
        let named = self.by_name.entry((object.kind, object.name()));
        named.or_default().push(object);
    }

    /// Iterates over the objects.
    pub fn iter(&self) -> impl Iterator<Item = &Object<'t>> {
        self.by_name.values().flatten()
    }

    /// Returns the object that is deployed with `user`, or else the nearest one that `may_apply`, with what `value`
    /// returns for it; `None` if the tree has none.
    ///
    /// # Errors
    /// Several objects with different values may apply, or only another kustomization generates it.
    pub fn find<T: PartialEq>(
        &self,
        sources: &SourceSet,
        wanted: ConfigReference<'_>,
        user: &Object<'_>,
        may_apply: impl Fn(&Object<'t>) -> bool,
        value: impl Fn(&Object<'t>) -> T,
    ) -> Result<Option<(&Object<'t>, T)>, String> {
        let ConfigReference { kind, name, .. } = wanted;
        let is_of_namespace =
            |object: &Object<'t>| match (object.deployed_namespace(), wanted.namespace) {
                (Some(own), Some(namespace)) => own == namespace,
                _ => true,
            };
        let found = self.by_name.get(&Title(kind, name)).into_iter().flatten();
        let ranked: Vec<_> = found
            .filter(|config| {
                is_of_namespace(config) && config.may_share_cluster(user) && may_apply(config)
            })
            .map(|config| (rank(sources, config, user), config))
            .collect();
        let Some(best) = ranked.iter().map(|(rank, _)| *rank).max() else {
            return Ok(None);
        };
        let mut nearest = ranked
            .iter()
            .filter(|(rank, _)| *rank == best)
            .map(|(_, config)| *config);
        let Some(first) = nearest.next() else {
            return Ok(None);
        };
        let read = value(first);
        if nearest.any(|other| value(other) != read) {
            return Err(format!("several {kind}s `{name}` may apply"));
        }
        let path = first.path();
        if best.0 == BuiltFrom::Elsewhere && !is_above(path, user) && has_hash(sources, first) {
            return Err(format!("only `{path}` generates {kind} `{name}`"));
        }
        Ok(Some((first, read)))
    }
}

/// Value of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigValue {
    /// The decoded text.
    pub text: String,
    /// The place of its key.
    pub key: Label,
    /// The place of the value: a whole file if a generator copies that.
    pub value: Label,
}

impl Configs<'_> {
    /// Returns the value of a key of the ConfigMap or Secret that `user` refers to; `None` if the tree has none. `may_apply`
    /// returns whether a file may belong to the environment of another one.
    ///
    /// # Errors
    /// Several objects with different values may apply, or the object is encrypted, or its value is not in the tree, or
    /// it does not contain the key.
    pub fn value(
        &self,
        sources: &SourceSet,
        (wanted, key): (ConfigReference<'_>, &str),
        user: &Object<'_>,
        may_apply: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Option<ConfigValue>, String> {
        let may_apply =
            |config: &Object<'_>| may_apply(config.location_file(), user.location_file());
        let text = |config: &Object<'_>| config_value(config, key).map(|value| value.text);
        let found = self.find(sources, wanted, user, may_apply, text)?;
        found
            .map(|(config, _)| config_value(config, key))
            .transpose()
    }
}

/// Returns the value of a key of a ConfigMap or Secret.
fn config_value(config: &Object<'_>, key: &str) -> Result<ConfigValue, String> {
    let title = format!("{} `{}`", config.kind, config.name());
    let found = entries(config).filter(|(entry, _)| entry.key.text() == Some(key));
    match found.last() {
        Some((entry, Some(text))) => Ok(ConfigValue {
            text,
            key: config.label_at(entry.key.span(), ""),
            value: config.label_at(entry.value.span(), ""),
        }),
        Some((entry, None)) if entry.value.is_mapping() => {
            Err(format!("the file of {title} is not in the tree"))
        }
        Some(_) => Err(format!("{title} is encrypted")),
        None if entries(config).any(|(entry, _)| entry.value.is_mapping()) => {
            Err(format!("a file of {title} is not in the tree"))
        }
        None => Err(format!("{title} has no key `{key}`")),
    }
}

/// How a ConfigMap is deployed, compared with its user; later ones take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BuiltFrom {
    Elsewhere,
    /// The same file deploys both.
    SameLocation,
    /// The same kustomization renders both.
    SameBuild,
}

/// Returns how likely `user` uses a ConfigMap. Nearness decides only if they are deployed separately.
fn rank(sources: &SourceSet, config: &Object<'_>, user: &Object<'_>) -> (BuiltFrom, usize) {
    let is_same_location = config.location_file() == user.location_file();
    let is_built_together = config
        .rendered_by
        .is_some_and(|root| match user.rendered_by {
            Some(other) => is_same_location && root == other,
            None => {
                let root = sources.file(&root.root);
                root.is_some_and(|root| Closure::of(sources, root).files.contains(&**user.path()))
            }
        });
    if is_built_together {
        return (BuiltFrom::SameBuild, 0);
    }
    if is_same_location {
        return (BuiltFrom::SameLocation, 0);
    }
    let near = |path: &str| nearness(path, user.location_file()).max(nearness(path, user.path()));
    (
        BuiltFrom::Elsewhere,
        near(config.location_file()).max(near(config.path())),
    )
}

/// Returns whether a file is in a folder above an object or above the file that deploys it.
fn is_above(path: &str, user: &Object<'_>) -> bool {
    is_in_ancestor_folder(path, user.location_file()) || is_in_ancestor_folder(path, user.path())
}

/// Returns whether kustomize appends a hash to the name of an object, so that only objects of the same build can refer to
/// it.
fn has_hash(sources: &SourceSet, object: &Object<'_>) -> bool {
    let key = object.key();
    let document = sources
        .document(key.path, key.document)
        .filter(|_| is_kustomization(key.path));
    let Some(root) = document.and_then(|document| document.tree()?.root()) else {
        return false;
    };
    let is_off = |options: Option<NodeRef<'_>>| {
        let off = options.and_then(|options| options.get("disableNameSuffixHash"));
        off.and_then(NodeRef::scalar) == Some(Scalar::Bool(true))
    };
    let generator = root.at(key.item);
    !is_off(root.get("generatorOptions")) && !is_off(generator.and_then(|node| node.get("options")))
}

/// Returns the entries of a ConfigMap or Secret with their values: `None` for one that is not known. Those of `stringData`
/// override others.
pub fn entries<'t>(object: &Object<'t>) -> impl Iterator<Item = (Entry<'t>, Option<String>)> {
    let is_secret = object.kind == "Secret";
    let is_encrypted = object.document.encrypted;
    let of_field = move |(node, is_encoded): (Option<NodeRef<'t>>, bool)| {
        let entries = node.into_iter().flat_map(NodeRef::entries);
        entries.map(move |entry| {
            let text = entry.value.text().filter(|_| !entry.value.is_mapping());
            let text = text.filter(|text| !is_encrypted && !text.contains(ENCRYPTED));
            let value = match is_encoded {
                true => text.and_then(|text| String::from_utf8(decode_base64(text)?).ok()),
                false => text.map(str::to_owned),
            };
            (entry, value.filter(|value| !value.contains(ENCRYPTED)))
        })
    };
    let field = |key: &str| object.node.get(key);
    [(field("data"), is_secret), (field("stringData"), false)]
        .into_iter()
        .flat_map(of_field)
}

/// The start of each value that SOPS encrypts.
const ENCRYPTED: &str = "ENC[AES256_GCM,";

/// Folders next to each other that contain one object: they are deployed to different clusters.
#[derive(Debug, Default)]
pub(crate) struct Siblings<'a>(HashMap<(&'a str, Option<&'a str>, &'a str), BTreeSet<&'a str>>);

impl<'a> Siblings<'a> {
    /// Records the folders of objects.
    pub(crate) fn of<'t: 'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self {
        let mut folders = Self::default();
        for object in objects {
            let identity = (object.kind, object.deployed_namespace(), object.name());
            let found = folders.0.entry(identity).or_default();
            found.insert(folder(object.location_file()));
        }
        folders.0.retain(|_, folders| folders.len() > 1);
        folders
    }

    /// Returns whether two files may be deployed to one cluster.
    pub(crate) fn may_share_cluster(&self, a: &str, b: &str) -> bool {
        let (a, b) = (folder(a), folder(b));
        if is_within(a, b) || is_within(b, a) {
            return true;
        }
        let Some(fork) = common(a, b) else {
            return true;
        };
        let (a, b) = (child(fork, a), child(fork, b));
        !self.0.values().any(|folders| {
            let contains = |sibling: &str| folders.iter().any(|folder| is_within(folder, sibling));
            contains(a) && contains(b)
        })
    }
}

/// Returns whether a file may take values or variables from ConfigMaps and Secrets.
pub(crate) fn takes_values(file: &SourceFile) -> bool {
    let text = file.text.as_bytes();
    [&b"valuesFrom"[..], b"substituteFrom"]
        .iter()
        .any(|key| memchr::memmem::find(text, key).is_some())
}
