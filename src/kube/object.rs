//! Kubernetes objects in a document: one, or the members of a list.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::finding::{Label, ObjectRef};
use crate::source::{self, Content, Document, TypeMeta};
use crate::yaml::{Entry, NodeRef, Route, Span};

/// How deep lists may be nested in lists: deeper than the parser lets values be nested.
const LIST_DEPTH: usize = 128;

/// Where the text of a rendered object stands for the user.
pub trait Provenance: fmt::Debug + Sync {
    /// Returns the file, and the bytes of it, that brought in what `span` covers.
    fn real(&self, span: Span) -> (Arc<str>, Span);
}

/// The namespace that what deploys an object gives to those that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination<'t> {
    /// The namespace; may be a placeholder.
    pub namespace: &'t str,
    /// The file that says so.
    pub path: Arc<str>,
    /// Bytes of that file.
    pub span: Span,
}

/// Where the user wrote an object. Every rendering of the object keeps it, whatever a step changes
/// in the object, its name included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey<'t> {
    /// The file.
    pub path: &'t str,
    /// The number of the document in the file, from 0.
    pub document: usize,
    /// The route from the root of that document to the object: the root, or the item of a list.
    pub item: &'t Route,
}

/// An [`ObjectKey`] that owns its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// The file.
    pub path: Arc<str>,
    /// The number of the document in the file, from 0.
    pub document: usize,
    /// The route from the root of that document to the object.
    pub item: Route,
}

impl ObjectId {
    /// Returns the key to look the object up by.
    #[must_use]
    pub fn key(&self) -> ObjectKey<'_> {
        ObjectKey {
            path: &self.path,
            document: self.document,
            item: &self.item,
        }
    }
}

/// One Kubernetes object and where it stands.
#[derive(Clone, Debug)]
pub struct Object<'t> {
    /// The file that stands for the object among others: its own, the kustomization that renders
    /// it, or what deploys that.
    pub home: &'t Arc<str>,
    /// The kustomization that renders it, or the deploying object where there is none.
    pub rendered_by: Option<&'t Arc<str>>,
    /// What tells it from other objects of the same document: the kustomization, or the Flux or
    /// Argo CD object that changes it or is one of several to deploy it. `None` where the document
    /// stands for itself.
    pub overlay: Option<&'t Arc<str>>,
    /// Set where what deploys it names a namespace.
    pub destination: Option<Destination<'t>>,
    /// Set for rendered objects, whose text is not that of a file.
    pub provenance: Option<&'t dyn Provenance>,
    /// The document that holds it.
    pub document: &'t Document,
    /// The object itself.
    pub node: NodeRef<'t>,
    /// The route from the root of the document to the object; empty unless it is in a list.
    pub route: Route,
    /// Set for rendered objects: the route to the object in the document of the user's file.
    pub source_item: Option<Cow<'t, Route>>,
    /// `apiVersion`, of its own or of its list.
    pub api_version: &'t str,
    /// `kind`, of its own or of its list.
    pub kind: &'t str,
    /// What everybody asks for, looked up once.
    pub(crate) identity: Identity<'t>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity<'t> {
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
    /// Returns the objects of a document: none if it is not Kubernetes, several if it is a list of objects
    /// ([`source::items`]) such as a `List`, a `DeploymentList`, or a KRM `ResourceList`.
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
            collector.collect(root, None, &Route::root(), LIST_DEPTH);
        }
        found
    }

    /// Returns the objects of a document that the kustomization `rendered_by` renders; `home` is
    /// that, or what deploys it, and `item` is the route to the object in the user's document.
    #[must_use]
    pub fn all_rendered_in(
        document: &'t Document,
        item: &'t Route,
        home: &'t Arc<str>,
        rendered_by: &'t Arc<str>,
        provenance: &'t dyn Provenance,
    ) -> Vec<Self> {
        let objects = Self::all_in(document).into_iter();
        objects
            .map(|object| Self {
                home,
                rendered_by: Some(rendered_by),
                overlay: Some(home),
                provenance: Some(provenance),
                // kubectl expands lists that kustomize leaves as they are.
                source_item: Some(match object.route.steps() {
                    [] => Cow::Borrowed(item),
                    _ => Cow::Owned(item.join(&object.route)),
                }),
                ..object
            })
            .collect()
    }

    /// Returns what identifies the object through all renderings.
    #[must_use]
    pub fn key(&self) -> ObjectKey<'_> {
        ObjectKey {
            path: &self.document.path,
            document: self.document.index,
            item: self.source_item.as_deref().unwrap_or(&self.route),
        }
    }

    /// Returns what identifies the object through all renderings, to be kept.
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

    /// Returns `metadata.namespace` if it is written and not empty.
    #[must_use]
    pub const fn namespace(&self) -> Option<&'t str> {
        self.identity.namespace
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

    /// Returns the file that stands for the object when it is asked what is near to it.
    #[must_use]
    pub fn home(&self) -> &'t str {
        self.home
    }

    /// Returns the file of the object as shown to the user.
    #[must_use]
    pub const fn path(&self) -> &'t Arc<str> {
        &self.document.path
    }

    /// Returns a label on a place of the object's file.
    #[must_use]
    pub fn label_at(&self, span: Span, message: impl Into<String>) -> Label {
        let (path, span) = match self.provenance {
            Some(provenance) => provenance.real(span),
            None => (Arc::clone(self.path()), span),
        };
        Label {
            path,
            span,
            message: message.into(),
        }
    }

    /// Returns the place of the object's name, else of its kind: one line to point at.
    #[must_use]
    pub fn name_span(&self) -> Span {
        let name = self.metadata().and_then(|metadata| metadata.get("name"));
        let kind = self.node.get("kind");
        name.or(kind)
            .map_or_else(|| Span::empty(self.node.span().start), NodeRef::span)
    }

    /// Returns the identity for messages and machine reports.
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
        route: &Route,
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

    fn push(&mut self, node: NodeRef<'t>, type_meta: TypeMeta<'t>, route: &Route) {
        self.found.push(Object {
            home: &self.document.path,
            rendered_by: None,
            overlay: None,
            destination: None,
            provenance: None,
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
