//! Lists of objects, expanded as in kubectl.
//!
//! Source: apimachinery 0.32.3, `pkg/apis/meta/v1/unstructured`: `Unstructured.IsList` (`unstructured.go`) and
//! `unstructuredJSONScheme.decodeToList` (`helpers.go`); measured with `kubectl annotate --local` 1.32.4. kustomize
//! 5.8.2 expands only kinds that end with `List` and refuses items without a kind.

use meshprobe_yaml::NodeRef;

/// `apiVersion` and `kind` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMeta<'t> {
    /// `apiVersion`; empty for a list that has none.
    pub api_version: &'t str,
    /// `kind`.
    pub kind: &'t str,
}

impl<'t> TypeMeta<'t> {
    /// Returns the type of a node. If it has neither `apiVersion` nor `kind`, derives the type from its list.
    ///
    /// `list` is the type of the list that contains the node. Returns `None` if kubectl refuses the node: it has no kind,
    /// or it has no `apiVersion` and is not a list of objects.
    #[must_use]
    pub fn of(node: NodeRef<'t>, list: Option<Self>) -> Option<Self> {
        let text = |key: &str| node.get(key).and_then(NodeRef::as_str);
        match (text("apiVersion"), text("kind")) {
            (None | Some(""), None | Some("")) => list?.of_items(),
            (Some(api_version), Some(kind)) => Some(Self { api_version, kind }),
            (None, Some(kind)) => items(node, kind).map(|_| Self {
                api_version: "",
                kind,
            }),
            (Some(_), None) => None,
        }
    }

    /// Returns the type of items without a type: `Pod` for a `PodList`.
    fn of_items(self) -> Option<Self> {
        let kind = self.kind.strip_suffix("List").unwrap_or(self.kind);
        let is_complete = !kind.is_empty() && !self.api_version.is_empty();
        is_complete.then_some(Self { kind, ..self })
    }
}

/// Returns the field `items` of an object if kubectl expands the object.
///
/// kubectl expands any kind, but refuses a document with an item that is not an object; in that case, only kinds that
/// end with `List` are expanded here.
#[must_use]
pub fn items<'t>(object: NodeRef<'t>, kind: &str) -> Option<NodeRef<'t>> {
    let items = object.get("items").filter(|items| items.is_sequence())?;
    let is_object = |item: NodeRef<'_>| item.is_mapping() || item.is_null();
    (kind.ends_with("List") || items.items().all(is_object)).then_some(items)
}

/// Returns whether a document without `apiVersion` is a list of objects: an item has `apiVersion` and `kind`.
pub(super) fn is_list_without_version(root: NodeRef<'_>) -> bool {
    let has = |node: NodeRef<'_>, key: &str| node.get(key).and_then(NodeRef::as_str).is_some();
    let kind = root.get("kind").and_then(NodeRef::as_str);
    kind.filter(|kind| !kind.is_empty())
        .and_then(|kind| items(root, kind))
        .is_some_and(|items| {
            items
                .items()
                .any(|item| has(item, "apiVersion") && has(item, "kind"))
        })
}
