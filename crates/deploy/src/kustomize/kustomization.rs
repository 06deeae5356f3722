//! A kustomization file, and which of its fields are supported.
//!
//! Some fields have no effect on probes: `validators` must not change anything, `sortOptions` only sorts, `helmGlobals` has
//! no effect without charts, and `buildMetadata` adds a label and annotations to objects, but not to pod templates. `crds`
//! adds fields of custom kinds in which names, labels and annotations are changed; these fields are not read. The module
//! `unsupported` is about fields that change objects in a way that is not modelled.
//!
//! Source: kustomize 5.8.2, `api/internal/accumulator/loadconfigfromcrds.go` and `api/krusty/kustomizer.go`.

use std::sync::Arc;

use meshprobe_mesh::settings::most_similar;
use meshprobe_tree::source::{
    FieldFault, FieldFaultKind, ListRole, Listed, SourceFile, field_faults, listed,
};
use meshprobe_yaml::{Entry, NodeRef, Span, Tree};

use crate::kustomize::copy::read;
use crate::kustomize::helm_charts::{self, ChartEntry};
use crate::kustomize::locate::folder_of;
use crate::kustomize::node::{Node, Origin};
use crate::kustomize::rendering::Topic;

/// The values of `sortOptions.order`.
const ORDERS: [&str; 2] = ["fifo", "legacy"];

/// Fields that may change the objects of charts.
const CHANGING: [&str; 6] = [
    "components",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "transformers",
];

/// Fields that generate unknown objects.
const GENERATORS: [&str; 3] = ["generators", "helmChartInflationGenerator", "helmCharts"];

/// Kustomization, or the equivalent settings of a deploying object.
#[derive(Clone, Copy)]
pub(crate) struct Kustomization<'s> {
    /// The file, as shown to the user.
    pub(crate) path: &'s Arc<str>,
    /// The content.
    pub(crate) root: NodeRef<'s>,
    /// The number of the document in the file.
    pub(crate) document: usize,
    /// The folder to which its paths are relative.
    pub(crate) folder: &'s str,
    pub(crate) dialect: Dialect,
}

impl<'s> Kustomization<'s> {
    /// Creates a view of a file; `None` if the file does not contain a kustomization.
    pub(crate) fn new(file: &'s SourceFile) -> Option<Self> {
        let mut documents = file.documents.iter();
        let document = documents.find(|document| document.tree().is_some())?;
        Some(Self {
            path: &file.path,
            document: document.index,
            root: document.tree().and_then(Tree::root)?,
            folder: folder_of(&file.path),
            dialect: Dialect::Kustomize,
        })
    }

    pub(crate) fn is_component(&self) -> bool {
        self.root.get("kind").and_then(NodeRef::text) == Some("Component")
    }

    /// Returns the origin of bytes of the content.
    pub(crate) fn origin(&self, span: Span) -> Origin {
        let (path, span) = self.root.tree().source_location(span, self.path);
        Origin { path, span }
    }

    /// Returns an entry whose value is not empty.
    pub(crate) fn entry(&self, key: &str) -> Option<Entry<'s>> {
        let key = match (self.dialect, key) {
            (Dialect::Flux, "namespace") => "targetNamespace",
            _ => key,
        };
        self.root
            .entry(key)
            .filter(|entry| is_nonempty(entry.value))
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self, key: &str) -> impl Iterator<Item = NodeRef<'s>> + use<'s> {
        self.root.get(key).into_iter().flat_map(NodeRef::items)
    }

    /// Returns the files of a role that it lists.
    pub(crate) fn listed(&self, role: ListRole) -> impl Iterator<Item = Listed<'s>> + use<'s> {
        listed(self.root).filter(move |entry| entry.role == role)
    }

    /// Copies a value; `None` if it is too large.
    pub(crate) fn copy(&self, node: NodeRef<'_>) -> Option<Node> {
        read(node, &|span| self.origin(span)).ok()
    }

    /// Returns whether the kustomization lists charts.
    pub(crate) fn has_charts(&self) -> bool {
        helm_charts::FIELDS
            .iter()
            .any(|field| self.entry(field).is_some())
    }

    /// Returns the settings that add unknown objects, and unknown fields. `is_known` returns whether a field adds no
    /// objects.
    pub(crate) fn unknown(&self, is_known: impl Fn(&str) -> bool) -> Vec<Unknown> {
        if self.dialect != Dialect::Kustomize {
            return self.old_patches().collect();
        }
        let mut unknown: Vec<Unknown> = self
            .root
            .entries()
            .filter(|entry| !entry.key.is_merge_key() && is_nonempty(entry.value))
            .filter(|entry| !entry.key.text().is_some_and(&is_known))
            .filter(|entry| !self.only_installs_mesh(entry))
            .filter_map(|entry| generator_field(&entry))
            .collect();
        unknown.extend(self.empty_kustomization());
        unknown.extend(refusals(self.root));
        unknown.extend(self.invalid_order());
        unknown
    }
}

impl Kustomization<'_> {
    /// Returns whether a field lists only charts of a mesh, whose values are read, and nothing changes what they generate.
    fn only_installs_mesh(&self, entry: &Entry<'_>) -> bool {
        let Some(field) = entry
            .key
            .text()
            .filter(|key| helm_charts::FIELDS.contains(key))
        else {
            return false;
        };
        let mut charts = entry.value.items();
        let is_old = field != "helmCharts";
        charts.all(|node| ChartEntry { node, is_old }.installs_mesh())
            && !CHANGING.iter().any(|key| self.entry(key).is_some())
    }

    /// Reports older forms of patches, which Flux has removed.
    fn old_patches(&self) -> impl Iterator<Item = Unknown> {
        ["patchesStrategicMerge", "patchesJson6902"]
            .into_iter()
            .filter_map(|key| self.entry(key))
            .map(|entry| {
                let key = entry.key.text().unwrap_or_default();
                let message = format!("`{key}` is not modelled: use `patches` instead");
                harmless(entry.key.span(), message)
            })
    }

    /// Reports an unknown order of the objects.
    ///
    /// Source: kustomize 5.8.2, `ValidateSortOptions` in `api/internal/target/kusttarget.go`.
    fn invalid_order(&self) -> Option<Unknown> {
        let order = self.entry("sortOptions")?.value.get("order")?;
        let text = order.text().filter(|text| !ORDERS.contains(text))?;
        let message = format!("`{text}` is not an order (`fifo` or `legacy`)");
        Some(refused(order.span(), &message))
    }

    /// Reports a kustomization without any settings. An empty list is one.
    fn empty_kustomization(&self) -> Option<Unknown> {
        let is_setting = |entry: Entry<'_>| {
            let key = entry.key.text().unwrap_or_default();
            !matches!(key, "apiVersion" | "kind" | "metadata") && !entry.value.is_null()
        };
        let is_empty = !self.root.entries().any(is_setting);
        let start = Span::empty(self.root.span().start);
        is_empty.then(|| Unknown {
            topic: Topic::Empty,
            ..refused(start, "the kustomization is empty")
        })
    }
}

/// Returns whether a value is neither null nor empty.
pub(crate) fn is_nonempty(value: NodeRef<'_>) -> bool {
    let is_empty = match () {
        () if value.is_sequence() => value.items().len() == 0,
        () if value.is_mapping() => value.entries().len() == 0,
        () => value.is_null() || value.text() == Some(""),
    };
    !is_empty
}

/// Reports a field that generates unknown objects.
fn generator_field(entry: &Entry<'_>) -> Option<Unknown> {
    let key = entry.key.text().unwrap_or_default();
    GENERATORS.contains(&key).then(|| Unknown {
        has_unknown_objects: true,
        may_add_pods: true,
        ..harmless(
            entry.key.span(),
            format!("`{key}` is not modelled: the objects that it generates are unknown"),
        )
    })
}

/// The schema of the fields of a kustomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// A file of kustomize.
    Kustomize,
    /// `spec` of a Flux Kustomization.
    Flux,
    /// `kustomize` of a source of an Argo CD Application.
    Argo,
}

/// Setting that is not supported.
pub(crate) struct Unknown {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) topic: Topic,
    /// Whether it adds unknown objects.
    pub(crate) has_unknown_objects: bool,
    /// Whether these objects may run pods.
    pub(crate) may_add_pods: bool,
    /// Whether it may change all objects.
    pub(crate) changes_all: bool,
}

/// The end of the message of each note about a setting with which kustomize does not build a kustomization.
pub const REFUSED: &str = "kustomize refuses to build it";

/// The group of kustomizations in `apiVersion`.
const GROUP: &str = "kustomize.config.k8s.io/";

/// Returns a setting that kustomize refuses, and that adds and changes no objects.
pub(crate) fn refused(span: Span, message: &str) -> Unknown {
    harmless(span, format!("{message}: {REFUSED}"))
}

/// Returns a setting that adds and changes no objects.
fn harmless(span: Span, message: String) -> Unknown {
    Unknown {
        span,
        message,
        topic: Topic::Other,
        has_unknown_objects: false,
        may_add_pods: false,
        changes_all: false,
    }
}

/// Returns the fields that kustomize does not decode, and a wrong kind or version. Returns nothing for an object of another
/// API that only has the name of a kustomization.
pub(crate) fn refusals(root: NodeRef<'_>) -> Vec<Unknown> {
    if is_other_object(root) {
        return Vec::new();
    }
    let faults = field_faults(root);
    faults.iter().map(unknown).chain(wrong_kind(root)).collect()
}

/// Returns whether the file contains an object of another API, such as a Kustomization of Flux.
fn is_other_object(root: NodeRef<'_>) -> bool {
    let version = root.get("apiVersion").and_then(NodeRef::text);
    let is_other = version.is_some_and(|version| !version.starts_with(GROUP));
    let is_setting = |entry: Entry<'_>| {
        let key = entry.key.text().unwrap_or_default();
        let is_object = matches!(key, "apiVersion" | "kind" | "metadata" | "spec" | "status");
        !is_object
    };
    is_other && !root.entries().any(is_setting)
}

fn unknown(fault: &FieldFault) -> Unknown {
    let name = &fault.name;
    let message = match &fault.kind {
        FieldFaultKind::Type(expected) => format!("`{name}` of a kustomization is {expected}"),
        FieldFaultKind::Unknown(known) => match most_similar(name, known.iter().copied()) {
            Some(similar) => {
                format!("`{name}` is not a field of a kustomization (did you mean `{similar}`?)")
            }
            None => format!("`{name}` is not a field of a kustomization"),
        },
        FieldFaultKind::OtherCase(field) => {
            return Unknown {
                message: format!("`{name}` is not modelled: kustomize reads it as `{field}`"),
                has_unknown_objects: true,
                may_add_pods: true,
                changes_all: true,
                ..refused(fault.span, "")
            };
        }
    };
    refused(fault.span, &message)
}

/// Reports a kind or a version that is not that of a kustomization.
///
/// Source: kustomize 5.8.2, `EnforceFields` in `api/types/kustomization.go`.
fn wrong_kind(root: NodeRef<'_>) -> Option<Unknown> {
    let value = |key: &str| {
        let value = root.get(key)?;
        let text = value.as_str().filter(|text| !text.is_empty());
        Some((text?, value.span()))
    };
    let kind = value("kind");
    if let Some((kind, span)) = kind
        && !matches!(kind, "Kustomization" | "Component")
    {
        let message = format!("the kind is `{kind}` and not `Kustomization` or `Component`");
        return Some(refused(span, &message));
    }
    let (version, span) = value("apiVersion")?;
    let expected = match kind {
        Some(("Component", _)) => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    };
    let message = format!("the apiVersion is `{version}` and not `{expected}`");
    (version != expected).then(|| refused(span, &message))
}
