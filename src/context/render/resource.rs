//! Objects on their way through the kustomizations.

use std::sync::Arc;

use crate::yaml::Route;

use super::body::Body;
use super::fields::group_version;
use super::node::{Node, Origin};
use super::schema::is_cluster_scoped;
use super::{DocumentId, ObjectId};

/// What kustomize takes objects without a namespace for.
const DEFAULT_NAMESPACE: &str = "default";
/// What it takes objects of the whole cluster for.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// An object, and the document that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    /// The object.
    pub(super) body: Body,
    /// The file of the base document.
    pub(super) path: Arc<str>,
    /// The number of the base document in its file.
    pub(super) index: usize,
    /// The route to it in that document: the root, or the item of a list.
    pub(super) item: Route,
    /// It is the whole document and nothing has changed it.
    pub(super) is_intact: bool,
    /// What it was called before, the oldest first.
    pub(super) previous: Vec<Arc<Name>>,
}

/// What identifies an object beside its API group and version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A [`Name`] that is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NameRef<'n> {
    pub(super) kind: &'n str,
    pub(super) namespace: &'n str,
    pub(super) name: &'n str,
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

/// What identifies an object within the output of a kustomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity<'n> {
    pub(super) api_version: &'n str,
    pub(super) name: NameRef<'n>,
}

/// Returns the identity of an object, or of a patch.
pub(super) fn identity(node: &Node) -> Identity<'_> {
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
    pub(super) fn document(&self) -> DocumentId {
        (Arc::clone(&self.path), self.index)
    }

    /// Returns the object that it comes from.
    pub(super) fn id(&self) -> ObjectId {
        ObjectId {
            path: Arc::clone(&self.path),
            document: self.index,
            item: self.item.clone(),
        }
    }

    pub(super) fn identity(&self) -> Identity<'_> {
        identity(self.body.head())
    }

    /// Returns what the object is called now.
    pub(super) fn name(&self) -> NameRef<'_> {
        name_of(self.body.head())
    }

    /// Returns the object to be changed.
    pub(super) fn change(&mut self) -> &mut Node {
        self.is_intact = false;
        self.body.whole_mut()
    }

    /// Returns what names and labels the object to be changed.
    pub(super) fn change_head(&mut self) -> &mut Node {
        self.is_intact = false;
        self.body.head_mut()
    }

    /// Takes out annotations that hold nothing, as kustomize does with objects whose names it
    /// remembers: it keeps them in annotations and clears up in the end.
    pub(super) fn clear_annotations(&mut self) {
        let is_void = |node: &Node| node.is_null() || node.is_empty_map();
        if self.previous.is_empty() || !self.metadata("annotations").is_some_and(is_void) {
            return;
        }
        if let Some(metadata) = self.change_head().get_mut("metadata") {
            metadata.remove("annotations");
        }
    }

    /// Remembers what the object is called before that changes.
    pub(super) fn remember_name(&mut self) {
        self.previous.push(self.name().owned().into());
    }

    /// Returns what the object was called at first.
    pub(super) fn original(&self) -> NameRef<'_> {
        let first = self.previous.first();
        first.map_or_else(|| self.name(), |first| first.borrowed())
    }

    /// Tells whether the object is, or ever was, called so.
    pub(super) fn was_ever(&self, wanted: Identity<'_>) -> bool {
        let mut before = self.previous.iter();
        self.body.head().text_below(&["apiVersion"]) == wanted.api_version
            && (self.name() == wanted.name || before.any(|name| name.borrowed() == wanted.name))
    }

    /// Returns API group and version.
    pub(super) fn group_version(&self) -> (&str, &str) {
        group_version(self.body.head().text_below(&["apiVersion"]))
    }

    /// Returns the annotations or labels.
    pub(super) fn metadata(&self, key: &str) -> Option<&Node> {
        self.body.head().get("metadata")?.get(key)
    }

    /// kustomize drops what is only meant for tools (`api/resource/factory.go`, `DropLocalNodes`).
    pub(super) fn is_local(&self) -> bool {
        let annotations = self.metadata("annotations");
        let mark = annotations.and_then(|all| all.get("config.kubernetes.io/local-config"));
        mark.is_some_and(|mark| mark.text() != Some("false"))
    }

    /// Gives the object a namespace; a Namespace object gets the name, other objects of the whole
    /// cluster nothing (`api/filters/namespace/namespace.go`).
    pub(super) fn set_namespace(&mut self, key: &Origin, namespace: &Node) {
        self.remember_name();
        let own = self.identity();
        let is_namespace = (own.api_version, own.name.kind) == ("v1", "Namespace");
        if !is_cluster_scoped(own.api_version, own.name.kind) {
            self.set_metadata("namespace", key, namespace);
        } else if is_namespace {
            self.set_metadata("name", &namespace.origin, namespace);
        }
    }

    /// Sets an entry of the labels or annotations.
    pub(super) fn set_below_metadata(
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
        let metadata = self.change_head().get_mut("metadata");
        if let Some(all) = metadata.and_then(|metadata| metadata.get_mut(kind)) {
            all.set(key, origin, value);
        }
    }

    fn set_metadata(&mut self, key: &str, origin: &Origin, value: &Node) {
        let node = self.change_head();
        if node.get("metadata").is_none_or(Node::is_null) {
            node.set("metadata", origin, Node::empty_map(origin));
        }
        if let Some(metadata) = node.get_mut("metadata") {
            metadata.set(key, origin, value.clone());
        }
    }

    /// Puts text around the name; the name keeps its place, which tells the user more.
    pub(super) fn rename(&mut self, prefix: &str, suffix: &str) {
        let original = self.original();
        let skipped = match (self.group_version().0, original.kind) {
            (_, "CustomResourceDefinition" | "Namespace") => true,
            (group, kind) => (group, kind) == ("apiregistration.k8s.io", "APIService"),
        };
        if skipped {
            return;
        }
        self.remember_name();
        let metadata = self.change_head().get_mut("metadata");
        if let Some(name) = metadata.and_then(|metadata| metadata.get_mut("name")) {
            let renamed = format!("{prefix}{}{suffix}", name.text().unwrap_or_default());
            *name = Node::text_at(&renamed, &name.origin);
        }
    }
}
