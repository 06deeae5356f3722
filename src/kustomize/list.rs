//! Merge of lists whose items are identified by keys.
//!
//! Follows `kyaml/yaml/walk/associative_sequence.go` and `ElementSetter` of `kyaml/yaml/fns.go` of
//! kustomize 5.8.2 closely, because the order of the result and the treatment of a missing
//! `protocol` follow only from its steps.

use crate::kustomize::keyed_list::KeyedLists;
use crate::kustomize::limit::{ITEMS, Limit};
use crate::kustomize::merge_result::{Merged, PatchFailure};
use crate::kustomize::node::Node;

/// Merges the items of a patch into those of an object. `merge_item` merges two items.
pub(crate) fn merge(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
) -> Result<Vec<Node>, PatchFailure> {
    merge_items(object, patch, keys, merge_item, false)
}

/// Merges a list that only the patch has with itself, which removes its nulls and directives.
pub(crate) fn fresh(
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
) -> Result<Vec<Node>, PatchFailure> {
    merge_items(patch, patch, keys, merge_item, true)
}

fn merge_items(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Result<Vec<Node>, PatchFailure> {
    if keys.is_empty() {
        return Ok(union(object, patch));
    }
    if object.len().max(patch.len()) > ITEMS {
        return Err(PatchFailure::Exceeds(Limit::Items));
    }
    if let Some((lists, key)) = KeyedLists::of(object, patch, keys).zip(keys.first()) {
        return lists.merge(key, merge_item, is_same);
    }
    merge_compared(object, patch, keys, merge_item, is_same)
}

/// Compares the items with each other.
fn merge_compared(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Result<Vec<Node>, PatchFailure> {
    let mut object = object.to_vec();
    let mut names = identities(&object, patch, keys);
    if keys.len() > 1 {
        fill_absent_values(&mut names);
    }
    let mut added: Vec<Node> = Vec::new();
    let mut last_keys: Vec<&str> = keys.to_vec();
    for name in &names {
        let item_key = ItemKey::of(&names, name, keys);
        last_keys.clone_from(&item_key.keys);
        // An item is looked up only by the keys that it has.
        let lookup = ItemKey::of(std::slice::from_ref(name), &item_key.values, &item_key.keys);
        let in_object = object.iter().position(|item| lookup.matches(item));
        let in_patch = patch.iter().find(|item| lookup.matches(item));
        let merged = merge_item(in_object.and_then(|at| object.get(at)), in_patch)?;
        let in_place = is_same || matches!(merged, Merged::Object(_));
        let Some(mut item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
            item_key.remove_from(&mut object);
            continue;
        };
        item_key.complete(&mut item);
        if let (true, Some(slot)) = (in_place, in_object.and_then(|at| object.get_mut(at))) {
            slot.clone_from(&item);
        }
        item_key.put_into(&mut added, item);
    }
    if names.is_empty() {
        return Ok(object);
    }
    Ok(append(added, object, &last_keys))
}

/// Merges lists of scalars: the values of the patch, then those that only the object has.
fn union(object: &[Node], patch: &[Node]) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    for item in patch.iter().chain(object) {
        if all.iter().all(|known| known.text() != item.text()) {
            all.push(item.clone());
        }
    }
    all
}

fn key_values(item: &Node, keys: &[&str]) -> Vec<String> {
    let value = |key: &&str| item.get(key).and_then(Node::text).unwrap_or_default();
    keys.iter().map(value).map(str::to_owned).collect()
}

/// Returns the key values of all items without duplicates, those of the patch first.
fn identities(object: &[Node], patch: &[Node], keys: &[&str]) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    for item in patch.iter().chain(object) {
        let name = key_values(item, keys);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Fills absent values of names from compatible names, so that a port without `protocol` equals one with it.
fn fill_absent_values(names: &mut [Vec<String>]) {
    for left in 0..names.len() {
        for right in 0..names.len() {
            let (Some(a), Some(b)) = (names.get(left), names.get(right)) else {
                continue;
            };
            if let Some(combined) = combine(a, b) {
                for at in [left, right] {
                    if let Some(slot) = names.get_mut(at) {
                        slot.clone_from(&combined);
                    }
                }
            }
        }
    }
}

/// Combines two names if one value is equal and the others differ only by absence.
fn combine(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let equal = a.iter().zip(b).any(|(a, b)| a == b);
    let contradict = |(a, b): (&String, &String)| a != b && !a.is_empty() && !b.is_empty();
    if !equal || a.iter().zip(b).any(contradict) {
        return None;
    }
    Some(
        a.iter()
            .zip(b)
            .map(|(a, b)| if a.is_empty() { b } else { a }.clone())
            .collect(),
    )
}

/// Keys and values that identify an item.
struct ItemKey<'k> {
    keys: Vec<&'k str>,
    values: Vec<String>,
}

impl<'k> ItemKey<'k> {
    /// Creates the key of the item `name`. Omits the keys for which no item of `names` has a value.
    fn of(names: &[Vec<String>], name: &[String], keys: &[&'k str]) -> Self {
        let used = |at: usize| {
            let has = |name: &Vec<String>| name.get(at).is_some_and(|value| !value.is_empty());
            names.iter().any(has)
        };
        let none_used = !(0..keys.len()).any(used);
        let (keys, values) = keys
            .iter()
            .zip(name)
            .enumerate()
            .filter(|(at, _)| none_used || used(*at))
            .map(|(_, (key, value))| (*key, value.clone()))
            .unzip();
        Self { keys, values }
    }

    fn matches(&self, item: &Node) -> bool {
        let holds = |(key, value): (&&str, &String)| {
            let found = item.get(key).filter(|found| !found.is_null());
            found.is_some_and(|found| value.is_empty() || found.text() == Some(value))
        };
        self.keys.iter().zip(&self.values).all(holds)
    }

    fn remove_from(&self, items: &mut Vec<Node>) {
        items.retain(|item| !is_void(item) && !self.matches(item));
    }

    /// Replaces the items that match, or appends the new one.
    fn put_into(&self, items: &mut Vec<Node>, new: Node) {
        let mut found = false;
        items.retain(|item| !is_void(item));
        for item in items.iter_mut().filter(|item| self.matches(item)) {
            item.clone_from(&new);
            found = true;
        }
        if !found {
            items.push(new);
        }
    }

    /// Sets the values of this key in the item if it does not have them.
    fn complete(&self, item: &mut Node) {
        for (key, value) in self.keys.iter().zip(&self.values) {
            if item.get(key).is_none() && !value.is_empty() {
                let origin = item.origin.clone();
                item.set(key, &origin, Node::text_at(value, &origin));
            }
        }
    }
}

fn is_void(item: &Node) -> bool {
    item.is_null() || item.is_empty_map()
}

/// Appends the items of `rest` to `items`, or replaces those that match.
fn append(mut items: Vec<Node>, rest: Vec<Node>, keys: &[&str]) -> Vec<Node> {
    for item in rest {
        let has = |key: &&&str| item.get(key).is_some_and(|value| !value.is_null());
        let present: Vec<&str> = keys.iter().filter(has).copied().collect();
        let item_key = ItemKey {
            values: key_values(&item, &present),
            keys: present,
        };
        if item_key.keys.is_empty() {
            // An item without any key replaces all others.
            items = vec![item];
            continue;
        }
        if keys.len() > 1 {
            item_key.remove_from(&mut items);
        }
        item_key.put_into(&mut items, item);
    }
    items
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kustomize::leaf::Origin;
    use crate::kustomize::merge::walk;
    use crate::kustomize::schema::Type;
    use crate::yaml::{Span, parse};

    const ITEMS: [&str; 9] = [
        "{name: a, value: x}",
        "{name: a, value: y}",
        "{name: a, value: null, other: }",
        "{name: a, $patch: delete}",
        "{name: a, $patch: replace}",
        "{name: b, value: x, $patch: replace}",
        "{name: b}",
        "{name: c, $patch: merge, list: [x]}",
        "{name: a, valueFrom: {fieldRef: {fieldPath: x}}}",
    ];

    fn items() -> Vec<Node> {
        let text: Arc<str> = format!("[{}]", ITEMS.join(", ")).into();
        let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
        let origin = |span| Origin {
            path: "a.yaml".into(),
            span,
        };
        let copied = super::super::copy::read(tree.root().unwrap(), &origin).unwrap();
        copied.node.items().to_vec()
    }

    #[test]
    fn items_with_keys_are_merged_as_if_they_were_compared() {
        let items = items();
        let mut lists: Vec<Vec<Node>> = vec![Vec::new()];
        for first in &items {
            lists.push(vec![first.clone()]);
            for second in &items {
                lists.push(vec![first.clone(), second.clone()]);
            }
        }
        lists.push(items);
        let kind = Type::of("v1", "Pod").field("spec").field("containers");
        let merge_item =
            |object: Option<&Node>, patch: Option<&Node>| walk(object, patch, kind, None);
        let mut merged = 0;
        for object in &lists {
            for patch in &lists {
                for is_same in [false, true] {
                    let object = if is_same { patch } else { object };
                    let keyed = KeyedLists::of(object, patch, &["name"]).unwrap();
                    let keyed = keyed.merge("name", merge_item, is_same);
                    let compared = merge_compared(object, patch, &["name"], merge_item, is_same);
                    assert_eq!(format!("{keyed:?}"), format!("{compared:?}"));
                    merged += 1;
                }
            }
        }
        assert_eq!(merged, 2 * 92 * 92);
    }
}
