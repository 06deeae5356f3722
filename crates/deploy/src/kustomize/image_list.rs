//! Images of the containers of an object.

use std::collections::BTreeSet;

use meshprobe_yaml::NodeRef;

use crate::kustomize::node::Node;

/// Returns the images of all containers in an object.
pub(crate) fn of(object: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![object];
    while let Some(node) = pending.pop() {
        if let Some(source) = node.source() {
            found.append(&mut of_tree(source));
            continue;
        }
        for field in node.fields() {
            if LISTS.contains(&&*field.key) {
                let items = field.value.items().iter();
                found.extend(items.map(|item| item.text_below(&["image"]).to_owned()));
            }
            pending.push(&field.value);
        }
        pending.extend(node.items());
    }
    found
}

/// Returns the images of all containers in an object of a file.
fn of_tree(object: NodeRef<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![object];
    while let Some(node) = pending.pop() {
        for entry in node.entries() {
            if entry.key.text().is_some_and(|key| LISTS.contains(&key)) {
                let images = entry
                    .value
                    .items()
                    .filter_map(|item| item.get("image")?.text());
                found.extend(images.map(str::to_owned));
            }
            pending.push(entry.value);
        }
        pending.extend(node.items());
    }
    found
}

pub(in crate::kustomize) const LISTS: [&str; 2] = ["containers", "initContainers"];
