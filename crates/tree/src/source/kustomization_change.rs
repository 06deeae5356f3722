//! Changes of a kustomization that only change fields of objects.

use meshprobe_yaml::{Entry, Kind, NodeRef, Tree};

use crate::source::model::document::Document;
use crate::source::model::file::SourceFile;

/// Fields that change only pods, in a way that their kustomization alone decides, and that name no files.
const OF_PODS: [&str; 2] = ["images", "replicas"];

/// Returns whether two states of a kustomization differ in nothing but its `images` and `replicas`: then the same files are
/// read, and used in the same way.
#[must_use]
pub fn changes_only_pods(old: &SourceFile, new: &SourceFile) -> bool {
    let (Some(old), Some(new)) = (only_tree(old), only_tree(new)) else {
        return false;
    };
    are_equal(&other_entries(old), &other_entries(new))
}

/// Returns the entries that are not about pods alone.
fn other_entries(root: NodeRef<'_>) -> Vec<Entry<'_>> {
    let is_of_pods = |entry: &Entry<'_>| entry.key.text().is_some_and(|key| OF_PODS.contains(&key));
    root.entries().filter(|entry| !is_of_pods(entry)).collect()
}

/// Returns the root of the only document of a file, if it is a kustomization without anchors, tags and merge keys.
fn only_tree(file: &SourceFile) -> Option<NodeRef<'_>> {
    let [document] = file.documents.as_slice() else {
        return None;
    };
    let tree = Document::any_tree(document)?;
    let is_plain = !tree.has_anchors() && !tree.has_tags() && !tree.has_merge_keys();
    let root = Tree::root(tree).filter(|root| is_plain && root.is_mapping())?;
    let kind = root.get("kind").map(NodeRef::text);
    matches!(kind, None | Some(Some("Component" | "Kustomization"))).then_some(root)
}

fn are_equal(old: &[Entry<'_>], new: &[Entry<'_>]) -> bool {
    let mut pairs = old.iter().zip(new);
    old.len() == new.len()
        && pairs.all(|(old, new)| is_equal(old.key, new.key) && is_equal(old.value, new.value))
}

/// Returns whether two nodes have the same value, written in the same notation.
fn is_equal(old: NodeRef<'_>, new: NodeRef<'_>) -> bool {
    let is_same = (old.kind(), old.style()) == (new.kind(), new.style());
    is_same
        && match old.kind() {
            Kind::Mapping => {
                let (old, new): (Vec<_>, Vec<_>) =
                    (old.entries().collect(), new.entries().collect());
                are_equal(&old, &new)
            }
            Kind::Sequence => {
                let (old, new) = (old.items(), new.items());
                old.len() == new.len() && old.zip(new).all(|(old, new)| is_equal(old, new))
            }
            _ => old.text() == new.text() && old.scalar() == new.scalar(),
        }
}
