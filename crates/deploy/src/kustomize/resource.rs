//! Objects that kustomizations change and pass on, and their index by current and former names. Without the index, a
//! kustomization that lists a patch for each object would compare every patch with every object.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::ObjectId;
use meshprobe_yaml::FieldPath;

use crate::kustomize::DocumentId;
use crate::kustomize::node::{Node, Origin, Value};
use crate::kustomize::schema::is_cluster_scoped;

/// Namespace that kustomize assumes for objects without one.
const DEFAULT_NAMESPACE: &str = "default";
/// Namespace that kustomize assumes for cluster-scoped objects.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Object with the document that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// The object.
    pub(crate) body: Node,
    /// The file of the base document.
    pub(crate) path: Arc<str>,
    /// The number of the base document in its file.
    pub(crate) index: usize,
    /// The route to it in that document: the root, or the item of a list.
    pub(crate) item: FieldPath,
    /// Whether it is a whole document without changes.
    pub(crate) is_intact: bool,
    /// Its former names, the oldest first.
    pub(crate) previous: Vec<Arc<Name>>,
}

/// Identity of an object without its API group and version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Borrowed form of a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameRef<'n> {
    pub(crate) kind: &'n str,
    pub(crate) namespace: &'n str,
    pub(crate) name: &'n str,
}

impl Name {
    fn borrowed(&self) -> NameRef<'_> {
        NameRef {
            kind: &self.kind,
            namespace: &self.namespace,
            name: &self.name,
        }
    }
}

impl NameRef<'_> {
    fn owned(self) -> Name {
        Name {
            kind: self.kind.to_owned(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
        }
    }
}

/// Identity of an object in the output of a kustomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity<'n> {
    pub(crate) api_version: &'n str,
    pub(crate) name: NameRef<'n>,
}

/// Returns the identity of an object, or of a patch.
pub(crate) fn identity(node: &Node) -> Identity<'_> {
    Identity {
        api_version: node.text_below(&["apiVersion"]),
        name: name_of(node),
    }
}

fn name_of(node: &Node) -> NameRef<'_> {
    let kind = node.text_below(&["kind"]);
    let namespace = match node.text_below(&["metadata", "namespace"]) {
        _ if is_cluster_scoped(node.text_below(&["apiVersion"]), kind) => NO_NAMESPACE,
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    NameRef {
        kind,
        namespace,
        name: node.text_below(&["metadata", "name"]),
    }
}

impl Resource {
    /// Returns the document that it comes from.
    pub(crate) fn document(&self) -> DocumentId {
        (Arc::clone(&self.path), self.index)
    }

    /// Returns the object that it comes from.
    pub(crate) fn id(&self) -> ObjectId {
        ObjectId {
            path: Arc::clone(&self.path),
            document: self.index,
            item: self.item.clone(),
        }
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        identity(&self.body)
    }

    /// Returns the current name of the object.
    pub(crate) fn name(&self) -> NameRef<'_> {
        name_of(&self.body)
    }

    /// Returns the object for modification.
    pub(crate) fn change(&mut self) -> &mut Node {
        self.is_intact = false;
        &mut self.body
    }

    /// Removes empty annotations of an object with former names. kustomize keeps these names in annotations
    /// and deletes them at the end.
    pub(crate) fn clear_annotations(&mut self) {
        let is_void = |node: &Node| node.is_null() || node.is_empty_map();
        if self.previous.is_empty() || !self.metadata("annotations").is_some_and(is_void) {
            return;
        }
        if let Some(metadata) = self.change().get_mut("metadata") {
            metadata.remove("annotations");
        }
    }

    /// Records the current name, before it changes.
    pub(crate) fn remember_name(&mut self) {
        self.previous.push(self.name().owned().into());
    }

    /// Returns the first name of the object.
    pub(crate) fn original(&self) -> NameRef<'_> {
        let first = self.previous.first();
        first.map_or_else(|| self.name(), |first| first.borrowed())
    }

    /// Returns all names that the object has or had.
    pub(crate) fn names(&self) -> impl Iterator<Item = NameRef<'_>> {
        let previous = self.previous.iter().map(|name| name.borrowed());
        previous.chain([self.name()])
    }

    /// Returns whether the object has, or ever had, this identity.
    pub(crate) fn was_ever(&self, wanted: Identity<'_>) -> bool {
        self.body.text_below(&["apiVersion"]) == wanted.api_version
            && self.names().any(|name| name == wanted.name)
    }

    /// Returns API group and version.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        group_version(self.body.text_below(&["apiVersion"]))
    }

    /// Returns the annotations or labels.
    pub(crate) fn metadata(&self, key: &str) -> Option<&Node> {
        self.body.get("metadata")?.get(key)
    }

    /// Returns whether kustomize removes the object because it is only configuration for tools
    /// (`api/resource/factory.go`, `DropLocalNodes`).
    pub(crate) fn is_local(&self) -> bool {
        let annotations = self.metadata("annotations");
        let mark = annotations.and_then(|all| all.get("config.kubernetes.io/local-config"));
        mark.is_some_and(|mark| mark.text() != Some("false"))
    }

    /// Sets the namespace of the object. Sets the name of a Namespace object, and does not change other
    /// cluster-scoped objects (`api/filters/namespace/namespace.go`).
    pub(crate) fn set_namespace(&mut self, key: &Origin, namespace: &Node) {
        self.remember_name();
        match self.namespace_field() {
            Some("namespace") => self.set_metadata("namespace", key, namespace),
            Some(field) => self.set_metadata(field, &namespace.origin, namespace),
            None => {}
        }
    }

    /// Returns the field of `metadata` that contains the namespace; `None` for other objects of the whole cluster.
    fn namespace_field(&self) -> Option<&'static str> {
        let identity = self.identity();
        let is_namespace = (identity.api_version, identity.name.kind) == ("v1", "Namespace");
        match is_cluster_scoped(identity.api_version, identity.name.kind) {
            false => Some("namespace"),
            true => is_namespace.then_some("name"),
        }
    }

    /// Returns the identity that the object has in another namespace.
    pub(crate) fn identity_in<'n>(&'n self, namespace: &'n str) -> Identity<'n> {
        let mut identity = self.identity();
        match self.namespace_field() {
            Some("namespace") => identity.name.namespace = namespace,
            Some(_) => identity.name.name = namespace,
            None => {}
        }
        identity
    }

    /// Sets an entry of the labels or annotations.
    pub(crate) fn set_below_metadata(
        &mut self,
        kind: &str,
        key: &str,
        origin: &Origin,
        value: Node,
    ) {
        if self
            .metadata(kind)
            .is_none_or(|node| node.fields().is_empty())
        {
            self.set_metadata(kind, origin, &Node::empty_map(origin));
        }
        let metadata = self.change().get_mut("metadata");
        if let Some(all) = metadata.and_then(|metadata| metadata.get_mut(kind)) {
            all.set(key, origin, value);
        }
    }

    fn set_metadata(&mut self, key: &str, origin: &Origin, value: &Node) {
        let node = self.change();
        if node.get("metadata").is_none_or(Node::is_null) {
            node.set("metadata", origin, Node::empty_map(origin));
        }
        if let Some(metadata) = node.get_mut("metadata") {
            metadata.set(key, origin, value.clone());
        }
    }

    /// Adds a prefix and a suffix to the name. The origin remains that of the name, which is more useful to the user.
    pub(crate) fn rename(&mut self, prefix: &str, suffix: &str) {
        let original = self.original();
        let skipped = match (self.group_version().0, original.kind) {
            (_, "CustomResourceDefinition" | "Namespace") => true,
            (group, kind) => (group, kind) == ("apiregistration.k8s.io", "APIService"),
        };
        if skipped {
            return;
        }
        self.remember_name();
        let metadata = self.change().get_mut("metadata");
        if let Some(name) = metadata.and_then(|metadata| metadata.get_mut("name")) {
            let renamed = format!("{prefix}{}{suffix}", name.text().unwrap_or_default());
            *name = Node::text_at(&renamed, &name.origin);
        }
    }
}

/// Creates `annotations` if the resource has former names. kustomize keeps these in annotations while it
/// builds, so that a JSON patch can add to them.
pub(crate) fn make_annotations(resource: &mut Resource) {
    let is_missing = resource.metadata("annotations").is_none_or(Node::is_null);
    if resource.previous.is_empty() || !is_missing {
        return;
    }
    if let Some(metadata) = resource.change().get_mut("metadata") {
        let origin = metadata.origin.clone();
        metadata.set("annotations", &origin, Node::empty_map(&origin));
    }
}

/// Restores the entry `key` of the old object; removes it if the old object did not have it.
pub(crate) fn restore(old: &Node, new: &mut Node, key: &str) {
    match old.field(key) {
        Some(field) => new.set(key, &field.origin, field.value.clone()),
        None => {
            new.remove(key);
        }
    }
}

/// Returns a patch with its labels and annotations converted to strings. kustomize does so before it merges a
/// patch with a target, so that `null` becomes the text "null" and deletes nothing
/// (`CopyMergeMetaDataFieldsFrom` in `api/resource/resource.go`).
pub(crate) fn with_text_metadata(patch: &Node) -> Node {
    let mut patch = patch.clone();
    let Some(metadata) = patch.get_mut("metadata") else {
        return patch;
    };
    for key in ["labels", "annotations"] {
        let is_void = |node: &Node| node.fields().is_empty();
        if metadata.get(key).is_some_and(is_void) {
            metadata.remove(key);
        }
        if let Some(Value::Map(fields)) = metadata.get_mut(key).map(|node| &mut node.value) {
            for value in Arc::make_mut(fields).values_mut() {
                *value = Node::text_at(value.text().unwrap_or_default(), &value.origin);
            }
        }
    }
    patch
}

/// Splits `apps/v1`; the core group is empty.
pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Up to this number, objects are compared one by one, without an index.
const FEW: usize = 32;

/// Positions of objects by name, and of objects that a patch has deleted.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// `None` for few objects.
    by_name: Option<HashMap<String, Vec<usize>>>,
    count: usize,
    deleted: BTreeSet<usize>,
}

impl NameIndex {
    /// Indexes objects by all names that they have or had.
    pub(crate) fn of(resources: &[Resource]) -> Self {
        let mut index = Self {
            by_name: (resources.len() > FEW).then(HashMap::new),
            count: resources.len(),
            deleted: BTreeSet::new(),
        };
        for (at, resource) in resources.iter().enumerate() {
            index.note(at, resource);
        }
        index
    }

    /// Adds the names of the object at a position, which may have been renamed.
    pub(crate) fn note(&mut self, at: usize, resource: &Resource) {
        let Some(by_name) = &mut self.by_name else {
            return;
        };
        let previous = resource.previous.iter().map(|name| name.name.as_str());
        for name in previous.chain([resource.name().name]) {
            let positions = by_name.entry_ref(name).or_default();
            if positions.last() != Some(&at) {
                positions.push(at);
            }
        }
    }

    /// Returns the positions of all objects that may have or have had a name, in order; of all objects if `name` is
    /// `None`.
    pub(crate) fn positions(&self, name: Option<&str>) -> Vec<usize> {
        let is_left = |at: &usize| !self.deleted.contains(at);
        match (&self.by_name, name) {
            (Some(by_name), Some(name)) => {
                let positions = by_name.get(name).into_iter().flatten().copied();
                let mut positions: Vec<usize> = positions.filter(is_left).collect();
                positions.sort_unstable();
                positions.dedup();
                positions
            }
            _ => (0..self.count).filter(is_left).collect(),
        }
    }

    /// Marks the object at a position as deleted; [`NameIndex::finish`] removes it.
    pub(crate) fn delete(&mut self, at: usize) {
        self.deleted.insert(at);
    }

    /// Removes the deleted objects.
    pub(crate) fn finish(self, resources: &mut Vec<Resource>) {
        if self.deleted.is_empty() {
            return;
        }
        let mut at = 0..;
        resources.retain(|_| at.next().is_none_or(|at| !self.deleted.contains(&at)));
    }
}
