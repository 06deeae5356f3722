//! Merge of lists whose items are identified by keys.
//!
//! Follows `kyaml/yaml/walk/associative_sequence.go` and `ElementSetter` of `kyaml/yaml/fns.go` of
//! kustomize 5.8.2 closely, because the order of the result and the treatment of a missing
//! `protocol` follow only from its steps.

use hashbrown::{HashMap, HashSet};

use crate::kustomize::item_index::{Items, can_index};
use crate::kustomize::item_key::{ItemKey, key_text, key_values};
use crate::kustomize::keyed_list::KeyedLists;
use crate::kustomize::limit::{ITEMS, Limit};
use crate::kustomize::merge_result::{Merged, PatchFailure};
use crate::kustomize::node::Node;
use crate::kustomize::stable_list::StableLists;

/// Items of a merged list.
#[derive(Debug)]
pub(crate) struct MergedItems {
    pub(crate) items: Vec<Node>,
    /// Whether each item has its own values of the same keys, so that a merge without a patch keeps their order.
    pub(crate) are_keyed: bool,
}

/// Merges the items of a patch into those of an object. `merge_item` merges two items; `is_stable` if a merge
/// without a patch would keep the items of the object.
pub(crate) fn merge(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_stable: bool,
) -> Result<MergedItems, PatchFailure> {
    let is_short = object.len().max(patch.len()) <= ITEMS;
    if is_stable
        && is_short
        && let Some(lists) = StableLists::of(object, patch, keys)
    {
        let items = lists.merge(merge_item)?;
        return Ok(MergedItems {
            items,
            are_keyed: true,
        });
    }
    merge_items(object, patch, keys, merge_item, false)
}

/// Merges a list that only the patch has with itself, which removes its nulls and directives.
pub(crate) fn fresh(
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
) -> Result<MergedItems, PatchFailure> {
    merge_items(patch, patch, keys, merge_item, true)
}

fn merge_items(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Result<MergedItems, PatchFailure> {
    if keys.is_empty() {
        return Ok(MergedItems {
            items: union(object, patch),
            are_keyed: false,
        });
    }
    if object.len().max(patch.len()) > ITEMS {
        return Err(PatchFailure::Exceeds(Limit::Items));
    }
    if let Some(lists) = KeyedLists::of(object, patch, keys) {
        let items = lists.merge(merge_item, is_same)?;
        return Ok(MergedItems {
            items,
            are_keyed: true,
        });
    }
    let is_indexed = can_index(object, keys) && can_index(patch, keys);
    let items = merge_compared(object, patch, keys, merge_item, is_same, is_indexed)?;
    let has_all = |item: &Node| keys.iter().all(|key| key_text(item, key).is_some());
    let are_keyed = is_indexed && items.iter().all(has_all);
    Ok(MergedItems { items, are_keyed })
}

/// Compares the items with each other; only those with the same value of the first key if they are indexed.
fn merge_compared(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
    is_indexed: bool,
) -> Result<Vec<Node>, PatchFailure> {
    let mut names = identities(object, patch, keys);
    if keys.len() > 1 && is_indexed {
        fill_by_first_value(&mut names);
    } else if keys.len() > 1 {
        fill_absent_values(&mut names);
    }
    let is_used = used(&names, keys.len());
    let mut object = Items::of(object, keys, is_indexed);
    let patch = Items::of(patch, keys, is_indexed);
    let mut added = Items::new(keys, is_indexed);
    let mut last_keys: Vec<&str> = keys.to_vec();
    for name in &names {
        let item_key = ItemKey::of(name, keys, &is_used);
        last_keys.clone_from(&item_key.keys);
        // An item is looked up only by the keys that it has.
        let lookup = item_key.lookup();
        let in_object = object.position(&lookup);
        let in_patch = patch.position(&lookup).and_then(|at| patch.get(at));
        let merged = merge_item(in_object.and_then(|at| object.get(at)), in_patch)?;
        let in_place = is_same || matches!(merged, Merged::Object(_));
        let Some(mut item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
            object.remove(&item_key);
            continue;
        };
        item_key.complete(&mut item);
        if let (true, Some(at)) = (in_place, in_object) {
            object.replace(at, item.clone());
        }
        added.put(&item_key, item);
    }
    if names.is_empty() {
        return Ok(object.into_items().collect());
    }
    Ok(append(added, object, &last_keys).into_items().collect())
}

/// Merges lists of scalars: the values of the patch, then those that only the object has.
fn union(object: &[Node], patch: &[Node]) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    let mut known = HashSet::new();
    for item in patch.iter().chain(object) {
        if known.insert(item.text()) {
            all.push(item.clone());
        }
    }
    all
}

/// Returns the key values of all items without duplicates, those of the patch first.
fn identities(object: &[Node], patch: &[Node], keys: &[&str]) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut known = HashSet::new();
    for item in patch.iter().chain(object) {
        let name = key_values(item, keys);
        if known.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// Returns for each key whether an item has a value of it.
fn used(names: &[Vec<String>], keys: usize) -> Vec<bool> {
    let has = |name: &Vec<String>, at: usize| name.get(at).is_some_and(|value| !value.is_empty());
    (0..keys)
        .map(|at| names.iter().any(|name| has(name, at)))
        .collect()
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

/// Fills absent values of distinct names with two values, of which the first is never absent. Only names with the same
/// first value are compatible, and the first of them that has both values completes the one that does not.
fn fill_by_first_value(names: &mut [Vec<String>]) {
    let is_complete = |name: &&Vec<String>| name.iter().all(|value| !value.is_empty());
    let mut complete: HashMap<String, Vec<String>> = HashMap::new();
    for name in names.iter().filter(is_complete) {
        if let Some(first) = name.first() {
            complete
                .entry_ref(first.as_str())
                .or_insert_with(|| name.clone());
        }
    }
    for name in names.iter_mut().filter(|name| !is_complete(&&**name)) {
        if let Some(found) = name.first().and_then(|first| complete.get(first)) {
            name.clone_from(found);
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

/// Appends the items of `rest` to `items`, or replaces those that match.
fn append<'k>(mut items: Items<'k>, rest: Items<'k>, keys: &[&str]) -> Items<'k> {
    for item in rest.into_items() {
        let has = |key: &&&str| item.get(key).is_some_and(|value| !value.is_null());
        let present: Vec<&str> = keys.iter().filter(has).copied().collect();
        let item_key = ItemKey {
            values: key_values(&item, &present),
            keys: present,
        };
        if item_key.keys.is_empty() {
            // An item without any key replaces all others.
            items.replace_all(item);
            continue;
        }
        if keys.len() > 1 {
            items.remove(&item_key);
        }
        items.put(&item_key, item);
    }
    items
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kustomize::leaf::Origin;
    use crate::kustomize::merge::Merge;
    use crate::kustomize::schema::Type;
    use meshprobe_yaml::{Span, parse};

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

    const PORTS: [&str; 10] = [
        "{port: 1}",
        "{port: 1, protocol: TCP, name: a}",
        "{port: 1, protocol: UDP}",
        "{port: 2, protocol: TCP, name: b}",
        "{port: 2, protocol: UDP, name: null}",
        "{port: 2, name: c}",
        "{port: 1, $patch: delete}",
        "{port: 1, protocol: TCP, $patch: delete}",
        "{port: 2, protocol: TCP, $patch: replace, name: d}",
        "{port: 3, targetPort: 4}",
    ];

    fn items(texts: &[&str]) -> Vec<Node> {
        let text: Arc<str> = format!("[{}]", texts.join(", ")).into();
        let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
        let origin = |span| Origin {
            path: "a.yaml".into(),
            span,
        };
        let copied = super::super::copy::read(tree.root().unwrap(), &origin).unwrap();
        copied.node.items().to_vec()
    }

    /// All lists of up to two of the items, and the list of all.
    fn lists(items: Vec<Node>) -> Vec<Vec<Node>> {
        let mut lists: Vec<Vec<Node>> = vec![Vec::new()];
        for first in &items {
            lists.push(vec![first.clone()]);
            for second in &items {
                lists.push(vec![first.clone(), second.clone()]);
            }
        }
        lists.push(items);
        lists
    }

    #[test]
    fn items_with_keys_are_merged_as_if_they_were_compared() {
        let lists = lists(items(&ITEMS));
        let kind = Type::of("v1", "Pod").field("spec").field("containers");
        let merge_item = |object: Option<&Node>, patch: Option<&Node>| {
            Merge::default().walk(object, patch, kind, None)
        };
        let mut merged = 0;
        for object in &lists {
            for patch in &lists {
                for is_same in [false, true] {
                    let object = if is_same { patch } else { object };
                    let keyed = KeyedLists::of(object, patch, &["name"]).unwrap();
                    let keyed = keyed.merge(merge_item, is_same);
                    let compared =
                        merge_compared(object, patch, &["name"], merge_item, is_same, false);
                    assert_eq!(format!("{keyed:?}"), format!("{compared:?}"));
                    merged += 1;
                }
            }
        }
        assert_eq!(merged, 2 * 92 * 92);
    }

    #[test]
    fn indexed_items_are_merged_as_if_they_were_compared() {
        let keys = ["port", "protocol"];
        let merge_item = |object: Option<&Node>, patch: Option<&Node>| {
            Merge::default().walk(object, patch, Type::Other, None)
        };
        let mut merged = 0;
        let lists = lists(items(&PORTS));
        for object in &lists {
            for patch in &lists {
                for is_same in [false, true] {
                    let object = if is_same { patch } else { object };
                    assert!(can_index(object, &keys) && can_index(patch, &keys));
                    let indexed = merge_compared(object, patch, &keys, merge_item, is_same, true);
                    let compared = merge_compared(object, patch, &keys, merge_item, is_same, false);
                    let chosen = merge_items(object, patch, &keys, merge_item, is_same)
                        .map(|merged| merged.items);
                    assert_eq!(format!("{indexed:?}"), format!("{compared:?}"));
                    assert_eq!(format!("{chosen:?}"), format!("{compared:?}"));
                    merged += 1;
                }
            }
        }
        assert_eq!(merged, 2 * 112 * 112);
    }

    #[test]
    fn stable_items_are_merged_as_if_they_were_compared() {
        let mut merged = 0;
        for (texts, keys) in [
            (&ITEMS[..], &["name"][..]),
            (&PORTS[..], &["port", "protocol"][..]),
        ] {
            let merge_item = |object: Option<&Node>, patch: Option<&Node>| {
                Merge::default().walk(object, patch, Type::Other, None)
            };
            let lists = lists(items(texts));
            for object in &lists {
                // The first merge removes items with equal keys; the second one records what it keeps.
                let merge_alone = |object: &[Node]| {
                    let merged = merge_items(object, &[], keys, merge_item, false);
                    merged.unwrap().items
                };
                let object = merge_alone(&merge_alone(object));
                for patch in &lists {
                    if let Some(stable) = StableLists::of(&object, patch, keys) {
                        let compared =
                            merge_compared(&object, patch, keys, merge_item, false, false);
                        assert_eq!(
                            format!("{:?}", stable.merge(merge_item)),
                            format!("{compared:?}")
                        );
                        merged += 1;
                    }
                }
            }
        }
        assert!(merged > 5_000, "{merged}");
    }
}
