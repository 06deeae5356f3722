//! Kubernetes objects of a document: a single object, or the items of a list.
//!
//! Fixes of the documents that contain objects.
//!
//! Pod Security Admission: the labels of a Namespace, and the check of hosts in probes and hooks.
//!
//! Source: `k8s.io/pod-security-admission`, `policy/check_hostProbesAndhostLifecycle.go` (level `baseline` and higher,
//! since version 1.34) and `api/helpers.go` (the version is `latest` or `vMAJOR.MINOR`); KEP-4940.
//!
//! Proximity of two files in the folders of a tree.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_tree::source;
use meshprobe_tree::source::{Cluster, Content, Document, TypeMeta, paths};
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Span};

use crate::finding::{Applicability, Finding, Fix, Label, ObjectRef, RuleId, Severity};

/// Maximum depth of lists in lists. The parser allows less.
const LIST_DEPTH: usize = 128;

/// Namespace that the deploying object sets on objects without a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination<'t> {
    /// The namespace, which can be a placeholder.
    pub namespace: &'t str,
    /// The file that sets it.
    pub path: Arc<str>,
    /// The bytes of that file that set it.
    pub span: Span,
}

/// Identity of an object: its location in the user's files. Every rendering of the object keeps it,
/// even if a step changes the name of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey<'t> {
    /// The file.
    pub path: &'t str,
    /// The number of the document in the file, from 0.
    pub document: usize,
    /// The route from the root of that document to the object: the root itself, or an item of a list.
    pub item: &'t FieldPath,
}

/// Owned form of an [`ObjectKey`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// The file.
    pub path: Arc<str>,
    /// The number of the document in the file, from 0.
    pub document: usize,
    /// The route from the root of that document to the object.
    pub item: FieldPath,
}

impl ObjectId {
    /// Returns the key for looking up the object.
    #[must_use]
    pub fn key(&self) -> ObjectKey<'_> {
        ObjectKey {
            path: &self.path,
            document: self.document,
            item: &self.item,
        }
    }
}

/// Identity of the rendering of a kustomization or of a deployed folder. Two renderings of a run never have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RenderingId {
    /// The kustomization file; without one, the deploying file.
    pub root: Arc<str>,
    /// The environment: that of the Flux or Argo CD object that deploys it, else the kustomization file.
    pub environment: Arc<str>,
    /// The folder that the object deploys, without `/` at its end, and the number of the source that names it; `None` if no
    /// object deploys it.
    pub deployed: Option<(Arc<str>, usize)>,
}

impl RenderingId {
    /// Returns the identity of a kustomization that no object deploys.
    #[must_use]
    pub fn of_root(root: &Arc<str>) -> Self {
        Self {
            root: Arc::clone(root),
            environment: Arc::clone(root),
            deployed: None,
        }
    }
}

/// Kubernetes object with its location.
#[derive(Clone, Debug)]
pub struct Object<'t> {
    /// The file that determines which objects are near: the file of the object, the kustomization that renders
    /// it, or the file that deploys that kustomization.
    pub location_file: &'t Arc<str>,
    /// The rendering that contains it.
    pub rendered_by: Option<&'t RenderingId>,
    /// The environment that distinguishes it from others of the same document: the kustomization, or
    /// the Flux or Argo CD object that changes it or is one of several to deploy it
    /// ([`environment_id`](crate::finding::environment_id)). `None` if the document is used unchanged.
    pub overlay: Option<Arc<str>>,
    /// Set if the deploying object names a namespace.
    pub destination: Option<Destination<'t>>,
    /// The cluster to which the deploying object deploys it, if that is known.
    pub cluster: Option<Arc<Cluster>>,
    /// Why variables that the deploying object fills in are not known: the ConfigMap or Secret with their values.
    pub unread: Option<&'t str>,
    /// The document that contains it.
    pub document: &'t Document,
    /// The object itself.
    pub node: NodeRef<'t>,
    /// The route from the root of the document to the object; empty unless it is in a list.
    pub route: FieldPath,
    /// For rendered objects: the route to the object in the document of the user's file.
    pub source_item: Option<Cow<'t, FieldPath>>,
    /// `apiVersion` of the object, or of the list that contains it.
    pub api_version: &'t str,
    /// `kind` of the object, or of the list that contains it.
    pub kind: &'t str,
    /// Fields that many callers read, looked up once.
    pub identity: Identity<'t>,
}

#[derive(Clone, Copy, Debug)]
pub struct Identity<'t> {
    metadata: Option<NodeRef<'t>>,
    name: Option<&'t str>,
    namespace: Option<&'t str>,
}

impl<'t> Identity<'t> {
    fn of(object: NodeRef<'t>) -> Self {
        let metadata = object.get("metadata");
        let text = |key: &str| metadata?.get(key)?.text();
        Self {
            metadata,
            name: text("name"),
            namespace: text("namespace").filter(|namespace| !namespace.is_empty()),
        }
    }
}

impl<'t> Object<'t> {
    /// Returns the objects of a document: none if it is not a Kubernetes object, several if it is a list of
    /// objects ([`source::items`]) such as a `List`, a `DeploymentList`, or a KRM `ResourceList`.
    #[must_use]
    pub fn all_in(document: &'t Document) -> Vec<Self> {
        let mut found = Vec::new();
        if let Content::Tree(tree) = &document.content
            && let Some(root) = tree.root()
        {
            let mut collector = Collector {
                document,
                found: &mut found,
            };
            collector.collect(root, None, &FieldPath::root(), LIST_DEPTH);
        }
        found
    }

    /// Returns the objects of a document of the rendering `rendered_by`. `location_file` is the kustomization or the file
    /// that deploys it, and `item` is the route to the object in the user's document.
    #[must_use]
    pub fn all_rendered_in(
        document: &'t Document,
        item: &'t FieldPath,
        location_file: &'t Arc<str>,
        rendered_by: &'t RenderingId,
    ) -> Vec<Self> {
        Self::all_in(document)
            .into_iter()
            .map(|object| Self {
                location_file,
                rendered_by: Some(rendered_by),
                overlay: Some(Arc::clone(&rendered_by.environment)),
                // kubectl expands the lists that kustomize leaves unchanged.
                source_item: Some(match object.route.steps() {
                    [] => Cow::Borrowed(item),
                    _ => Cow::Owned(item.join(&object.route)),
                }),
                ..object
            })
            .collect()
    }

    /// Returns the identity that all renderings of the object share.
    #[must_use]
    pub fn key(&self) -> ObjectKey<'_> {
        ObjectKey {
            path: &self.document.path,
            document: self.document.index,
            item: self.source_item.as_deref().unwrap_or(&self.route),
        }
    }

    /// Returns an owned copy of the identity that all renderings of the object share.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId {
            path: Arc::clone(&self.document.path),
            document: self.document.index,
            item: self.source_item.as_deref().unwrap_or(&self.route).clone(),
        }
    }

    /// Returns the API group: `apps` for `apps/v1`, empty for the core group.
    #[must_use]
    pub fn group(&self) -> &'t str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Returns `metadata`.
    #[must_use]
    pub const fn metadata(&self) -> Option<NodeRef<'t>> {
        self.identity.metadata
    }

    /// Returns `metadata.name`, or the empty string.
    #[must_use]
    pub fn name(&self) -> &'t str {
        self.identity.name.unwrap_or_default()
    }

    /// Returns `metadata.namespace` if it is set and not empty.
    #[must_use]
    pub const fn namespace(&self) -> Option<&'t str> {
        self.identity.namespace
    }

    /// Returns the namespace that the object names, or else the object that deploys it.
    #[must_use]
    pub fn deployed_namespace(&self) -> Option<&'t str> {
        let destination = self.destination.as_ref();
        self.namespace().or(destination.map(|to| to.namespace))
    }

    /// Returns the entry of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<Entry<'t>> {
        self.metadata()?.get("labels")?.entry(key)
    }

    /// Returns the entry of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<Entry<'t>> {
        self.metadata()?.get("annotations")?.entry(key)
    }

    /// Returns whether a kustomization set the value of an entry over another one: without it, the other value would
    /// apply, and not the default.
    #[must_use]
    pub fn is_override(&self, entry: &Entry<'_>) -> bool {
        self.node.tree().is_override(entry.key)
    }

    /// Returns the file that determines which objects are near.
    #[must_use]
    pub fn location_file(&self) -> &'t str {
        self.location_file
    }

    /// Returns the file of the object as shown to the user.
    #[must_use]
    pub const fn path(&self) -> &'t Arc<str> {
        &self.document.path
    }

    /// Returns a label for a location in the object; that of a rendered object points to the user's file.
    #[must_use]
    pub fn label_at(&self, span: Span, message: impl Into<String>) -> Label {
        let (path, span) = self.node.tree().source_location(span, self.path());
        Label {
            path,
            span,
            message: message.into(),
        }
    }

    /// Returns a label for a placeholder in the object: which tool fills it in, followed by `consequence`.
    #[must_use]
    pub fn placeholder_at(&self, span: Span, consequence: &str) -> Label {
        let message = match self.unread {
            Some(unread) => format!("Flux {consequence}; {unread}"),
            None => format!("another tool {consequence}"),
        };
        self.label_at(span, message)
    }

    /// Returns the span that a finding points at: the object's name, else its kind.
    #[must_use]
    pub fn name_span(&self) -> Span {
        let name = self.metadata().and_then(|metadata| metadata.get("name"));
        let kind = self.node.get("kind");
        name.or(kind)
            .map_or_else(|| Span::empty(self.node.span().start), NodeRef::span)
    }

    /// Returns the reference for messages and machine-readable reports.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.to_owned(),
            kind: self.kind.to_owned(),
            namespace: self.namespace().map(str::to_owned),
            name: self.name().to_owned(),
        }
    }
}

/// Collects the objects of a document.
struct Collector<'t, 'f> {
    document: &'t Document,
    found: &'f mut Vec<Object<'t>>,
}

impl<'t> Collector<'t, '_> {
    /// Collects a node at `route`, or its items; `list` is the type of the list that contains it.
    fn collect(
        &mut self,
        node: NodeRef<'t>,
        list: Option<TypeMeta<'t>>,
        route: &FieldPath,
        depth: usize,
    ) {
        let Some(type_meta) = TypeMeta::of(node, list) else {
            return;
        };
        let Some(items) = source::items(node, type_meta.kind) else {
            return self.push(node, type_meta, route);
        };
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        for (index, item) in items.items().enumerate() {
            let route = route.child("items").child(index);
            self.collect(item, Some(type_meta), &route, depth);
        }
    }

    fn push(&mut self, node: NodeRef<'t>, type_meta: TypeMeta<'t>, route: &FieldPath) {
        self.found.push(Object {
            location_file: &self.document.path,
            rendered_by: None,
            overlay: None,
            destination: None,
            cluster: None,
            unread: None,
            document: self.document,
            node,
            route: route.clone(),
            source_item: None,
            api_version: type_meta.api_version,
            kind: type_meta.kind,
            identity: Identity::of(node),
        });
    }
}

impl Finding {
    /// Creates a finding about an object, at a place in it.
    pub fn on_object(
        object: &Object<'_>,
        span: Span,
        (id, severity): (impl Into<RuleId>, Severity),
        message: String,
    ) -> Self {
        let label = object.label_at(span, String::new());
        Self {
            document: object.document.index,
            object: Some(object.reference()),
            ..Self::new(id, severity, label, message)
        }
    }
}

impl Fix {
    /// Creates a fix of the document that contains an object. The engine turns the changes into byte edits.
    pub fn of_object(
        object: &Object<'_>,
        title: impl Into<String>,
        applicability: Applicability,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            title: title.into(),
            applicability,
            path: Arc::clone(object.path()),
            document: object.document.index,
            changes,
            edits: Vec::new(),
        }
    }
}

/// Label of a Namespace with the level that its pods must have.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Label of a Namespace with the version of that level.
const ENFORCE_VERSION: &str = "pod-security.kubernetes.io/enforce-version";

/// The first minor version of Kubernetes 1 whose levels forbid hosts.
pub const FORBIDS_HOSTS: u16 = 34;

/// The version of an enforced level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnforcedVersion {
    /// That of the API server.
    Latest,
    /// The minor version of Kubernetes 1.
    Minor(u16),
}

/// A level that the API server enforces in a Namespace, and that forbids hosts if its version is recent enough.
#[derive(Clone, Copy, Debug)]
pub struct EnforcedLevel<'t> {
    /// The label with the level.
    pub entry: Entry<'t>,
    /// The version of the level.
    pub version: EnforcedVersion,
}

impl<'t> EnforcedLevel<'t> {
    /// Reads the labels of a Namespace; `None` if its level does not forbid hosts, or a label cannot be read.
    #[must_use]
    pub fn of(namespace: &Object<'t>) -> Option<Self> {
        let entry = namespace.label(ENFORCE)?;
        let is_strict = matches!(entry.value.text(), Some("baseline" | "restricted"));
        let version = match namespace.label(ENFORCE_VERSION) {
            None => EnforcedVersion::Latest,
            Some(entry) => parse(entry.value.text()?)?,
        };
        let forbids = match version {
            EnforcedVersion::Latest => true,
            EnforcedVersion::Minor(minor) => minor >= FORBIDS_HOSTS,
        };
        (is_strict && forbids).then_some(Self { entry, version })
    }
}

/// Parses a version as the API server does; the empty text is `latest`.
fn parse(text: &str) -> Option<EnforcedVersion> {
    if text.is_empty() || text == "latest" {
        return Some(EnforcedVersion::Latest);
    }
    let minor = text.strip_prefix("v1.")?;
    let is_canonical = minor == "0" || !minor.starts_with('0');
    let is_number = is_canonical && minor.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| minor.parse().ok().map(EnforcedVersion::Minor))?
}

/// Returns a score for the proximity of the files `a` and `b`: the more leading folders they share,
/// the higher. A file has the highest score with itself. Both paths are as shown to the user.
#[must_use]
pub fn nearness(a: &str, b: &str) -> usize {
    paths::nearness(a, b)
}

/// Returns whether the folder of the file `above` is the folder of `below` or an ancestor of it.
#[must_use]
pub fn is_in_ancestor_folder(above: &str, below: &str) -> bool {
    paths::is_within(paths::folder(below), paths::folder(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_itself_is_nearest_then_the_file_with_the_deepest_common_folder() {
        let workload = "clusters/prod/apps/web.yaml";
        let order = [
            "other/ns.yaml",
            "clusters/stage/ns.yaml",
            "clusters/prod/ns.yaml",
            "clusters/prod/apps/ns.yaml",
            workload,
        ];
        let scores: Vec<_> = order.iter().map(|fact| nearness(fact, workload)).collect();
        assert!(scores.is_sorted(), "{scores:?}");
        assert!(scores.first() < scores.get(1));
    }

    #[test]
    fn a_folder_is_above_the_files_that_it_contains() {
        assert!(is_in_ancestor_folder("a.yaml", "x/y/b.yaml"));
        assert!(is_in_ancestor_folder("x/a.yaml", "x/b.yaml"));
        assert!(is_in_ancestor_folder("x/a.yaml", "x/y/b.yaml"));
        assert!(!is_in_ancestor_folder("x/y/a.yaml", "x/b.yaml"));
        assert!(!is_in_ancestor_folder("x/z/a.yaml", "x/y/b.yaml"));
    }
}
