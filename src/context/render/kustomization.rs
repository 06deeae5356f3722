//! One kustomization file, and which of its fields count.

use std::sync::Arc;

use crate::kube::Provenance;
use crate::source::{SourceFile, is_kustomization_field, merged_spellings};
use crate::yaml::{Entry, NodeRef, Span, Tree};

use super::super::deployment::Dialect;
use super::copy::read;
use super::locate::{folder_of, tree};
use super::node::{Node, Origin};

/// Fields that are followed, or that no probe depends on: `validators` may change nothing,
/// `crds` only tells which fields hold names.
const FOLLOWED: [&str; 26] = [
    "apiVersion",
    "bases",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "components",
    "crds",
    "generatorOptions",
    "helmGlobals",
    "imageTags",
    "images",
    "kind",
    "labels",
    "metadata",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replicas",
    "resources",
    "secretGenerator",
    "sortOptions",
    "validators",
    "configMapGenerator",
];

/// Fields that bring in objects which are not seen.
const OPEN: [&str; 3] = ["generators", "helmChartInflationGenerator", "helmCharts"];

/// Fields that change objects; `not_followed` says which.
const NOT_FOLLOWED: [&str; 5] = [
    "configurations",
    "openapi",
    "replacements",
    "transformers",
    "vars",
];

/// A kustomization, or what a deploying object says like one.
#[derive(Clone, Copy)]
pub(super) struct Kustomization<'s> {
    /// The file, as shown to the user.
    pub(super) path: &'s Arc<str>,
    /// The content.
    pub(super) root: NodeRef<'s>,
    /// The folder that its paths start from.
    pub(super) folder: &'s str,
    /// Set where the content is not the text of the file.
    pub(super) provenance: Option<&'s dyn Provenance>,
    pub(super) dialect: Dialect,
}

/// Something that is not followed.
pub(super) struct Unknown {
    pub(super) span: Span,
    pub(super) message: String,
    /// It brings in objects.
    pub(super) is_open: bool,
    /// It may change all objects.
    pub(super) changes_all: bool,
}

impl<'s> Kustomization<'s> {
    /// Reads a file; `None` if it holds no kustomization.
    pub(super) fn new(file: &'s SourceFile) -> Option<Self> {
        let root = tree(file).and_then(Tree::root)?;
        Some(Self {
            path: &file.path,
            root,
            folder: folder_of(&file.path),
            provenance: None,
            dialect: Dialect::Kustomize,
        })
    }

    pub(super) fn is_component(&self) -> bool {
        self.root.get("kind").and_then(NodeRef::text) == Some("Component")
    }

    /// Returns where bytes of the file stand.
    pub(super) fn origin(&self, span: Span) -> Origin {
        let (path, span) = match self.provenance {
            Some(origins) => origins.real(span),
            None => (Arc::clone(self.path), span),
        };
        Origin { path, span }
    }

    /// Returns an entry that says something.
    pub(super) fn entry(&self, key: &str) -> Option<Entry<'s>> {
        let key = match (self.dialect, key) {
            (Dialect::Flux, "namespace") => "targetNamespace",
            _ => key,
        };
        self.root
            .entry(key)
            .filter(|entry| says_something(entry.value))
    }

    /// Returns the items of a list.
    pub(super) fn items(&self, key: &str) -> impl Iterator<Item = NodeRef<'s>> + use<'s> {
        self.root.get(key).into_iter().flat_map(NodeRef::items)
    }

    /// Copies a value; nothing if it is too large.
    pub(super) fn copy(&self, node: NodeRef<'_>) -> Option<Node> {
        let copied = read(node, &|span| self.origin(span)).ok()?;
        Some(copied.node)
    }

    /// Returns what brings in objects that are not seen, and what is not a field.
    pub(super) fn unknown(&self) -> Vec<Unknown> {
        if self.dialect != Dialect::Kustomize {
            return self.old_patches().collect();
        }
        let entries = self
            .root
            .entries()
            .filter(|entry| !entry.key.is_merge_key());
        let said = entries.filter(|entry| says_something(entry.value));
        let mut unknown: Vec<Unknown> = said.filter_map(|entry| explain(&entry)).collect();
        unknown.extend(
            self.items("configMapGenerator")
                .filter_map(mesh_configuration),
        );
        unknown.extend(self.merged_spellings());
        unknown.extend(self.emptiness());
        unknown
    }
}

impl Kustomization<'_> {
    /// Older forms of patches that Flux has given up.
    fn old_patches(&self) -> impl Iterator<Item = Unknown> {
        let keys = ["patchesStrategicMerge", "patchesJson6902"].into_iter();
        keys.filter_map(|key| self.entry(key)).map(|entry| {
            let key = entry.key.text().unwrap_or_default();
            Unknown {
                span: entry.key.span(),
                message: format!("`{key}` is not followed: write it under `patches`"),
                is_open: false,
                changes_all: false,
            }
        })
    }

    /// Reports fields in several spellings, which kustomize merges.
    fn merged_spellings(&self) -> impl Iterator<Item = Unknown> {
        merged_spellings(self.root).into_iter().map(|span| {
            let key = span.slice(self.root.tree().text());
            Unknown {
                span,
                message: format!(
                    "`{key}` is written in several spellings: what kustomize merges them into is not modelled"
                ),
                is_open: true,
                changes_all: true,
            }
        })
    }

    /// Says so where the kustomization asks for nothing at all.
    fn emptiness(&self) -> Option<Unknown> {
        let asks = |entry: Entry<'_>| {
            let key = entry.key.text().unwrap_or_default();
            !matches!(key, "apiVersion" | "kind" | "metadata") && says_something(entry.value)
        };
        let is_empty = !self.root.entries().any(asks);
        is_empty.then(|| Unknown {
            span: Span::empty(self.root.span().start),
            message: "the kustomization is empty: kustomize refuses to build it".to_owned(),
            is_open: false,
            changes_all: false,
        })
    }
}

pub(super) fn says_something(value: NodeRef<'_>) -> bool {
    let is_empty = match () {
        () if value.is_sequence() => value.items().len() == 0,
        () if value.is_mapping() => value.entries().len() == 0,
        () => value.is_null() || value.text() == Some(""),
    };
    !is_empty
}

fn explain(entry: &Entry<'_>) -> Option<Unknown> {
    let key = entry.key.text().unwrap_or_default();
    let is_open = OPEN.contains(&key);
    let message = match key {
        _ if is_open => format!("`{key}` is not modelled: the objects that it makes are not seen"),
        _ if FOLLOWED.contains(&key) || NOT_FOLLOWED.contains(&key) => return None,
        // Another spelling of it is read.
        _ if is_kustomization_field(key) => return None,
        _ => format!("`{key}` is not a field of a kustomization: kustomize refuses to build it"),
    };
    Some(Unknown {
        span: entry.key.span(),
        message,
        is_open,
        changes_all: false,
    })
}

/// A generated ConfigMap matters where it configures the mesh.
fn mesh_configuration(generator: NodeRef<'_>) -> Option<Unknown> {
    let name = generator.get("name")?;
    let text = name.text()?;
    let is_mesh = text == "istio" || text.starts_with("istio-");
    is_mesh.then(|| Unknown {
        span: name.span(),
        message: format!("the generated ConfigMap `{text}` is not read: it may configure the mesh"),
        is_open: true,
        changes_all: false,
    })
}
