//! Merge of lists whose items are identified by keys.
//!
//! Follows `kyaml/yaml/walk/associative_sequence.go` and `ElementSetter` of `kyaml/yaml/fns.go` of
//! kustomize 5.8.2 closely, because the order of the result and the treatment of a missing
//! `protocol` follow only from its steps.

use hashbrown::{HashMap, HashSet};
use meshprobe_tree::source::limits::LIST_ITEMS;

use crate::kustomize::limit::Limit;
use crate::kustomize::merged::{Merged, PatchFailure};
use crate::kustomize::node::Node;

/// Merges the items of a patch into those of an object. `merge_item` merges two items; `is_same` if the patch is merged with
/// itself, which removes its nulls and directives.
pub(crate) fn merge(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Result<Vec<Node>, PatchFailure> {
    if keys.is_empty() {
        return Ok(union(object, patch));
    }
    if object.len().max(patch.len()) > LIST_ITEMS {
        return Err(PatchFailure::Exceeds(Limit::Items));
    }
    merge_distinct(object, patch, keys, &merge_item, is_same)
        .unwrap_or_else(|| merge_all(object, patch, keys, &merge_item, is_same))
}

/// Merges lists whose items are compared with each other.
fn merge_all(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: &impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Result<Vec<Node>, PatchFailure> {
    let mut names = identities(object, patch, keys);
    if keys.len() > 1 {
        fill_absent_values(&mut names);
    }
    let is_used = used(&names, keys.len());
    let mut object = object.to_vec();
    let mut added = Vec::new();
    let mut last_keys: Vec<&str> = keys.to_vec();
    for name in &names {
        let item_key = ItemKey::of(name, keys, &is_used);
        last_keys.clone_from(&item_key.keys);
        // An item is looked up only by the keys that it has, and not found without any.
        let lookup = item_key.lookup();
        let in_object = object.iter().position(|item| lookup.finds(item));
        let in_patch = patch.iter().find(|item| lookup.finds(item));
        let merged = merge_item(in_object.and_then(|at| object.get(at)), in_patch)?;
        let in_place = is_same || matches!(merged, Merged::Object(_));
        let Some(mut item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
            remove(&mut object, &item_key);
            continue;
        };
        item_key.complete(&mut item);
        if let (true, Some(slot)) = (in_place, in_object.and_then(|at| object.get_mut(at))) {
            slot.clone_from(&item);
        }
        put(&mut added, &item_key, item);
    }
    if names.is_empty() {
        return Ok(object);
    }
    append(&mut added, object, &last_keys);
    Ok(added)
}

/// Merges lists in which each item has a value of each key that one of them has, and no two items of a list have the same
/// values; `None` for other lists. The result is that of [`merge_all`].
fn merge_distinct(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    merge_item: &impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    is_same: bool,
) -> Option<Result<Vec<Node>, PatchFailure>> {
    let is_set = |key: &&&str| {
        object
            .iter()
            .chain(patch)
            .any(|item| item.get(key).is_some())
    };
    let keys: Vec<&str> = keys.iter().filter(is_set).copied().collect();
    if keys.is_empty() {
        return None;
    }
    let (in_object, in_patch) = (distinct(object, &keys)?, distinct(patch, &keys)?);
    let is_new =
        |item: &&Node| !identity(item, &keys).is_some_and(|name| in_patch.contains_key(&name));
    let mut merged = Vec::with_capacity(object.len());
    for (count, named) in patch.iter().chain(object.iter().filter(is_new)).enumerate() {
        let name = identity(named, &keys)?;
        let at = in_object.get(&name);
        let old = at.and_then(|at| object.get(*at));
        let new = in_patch.get(&name).and_then(|at| patch.get(*at));
        let result = match merge_item(old, new) {
            Ok(result) => result,
            Err(failure) => return Some(Err(failure)),
        };
        let in_place = is_same || matches!(result, Merged::Object(_));
        let Some(item) = result.into_node().filter(|item| !item.is_empty_map()) else {
            continue;
        };
        // An item that the patch replaces remains.
        let item = old.filter(|_| !in_place).cloned().unwrap_or(item);
        // The last step moves the items of the object to the end, unless one key identifies them.
        let of_object = at.filter(|_| keys.len() > 1);
        merged.push((of_object.map_or((0, count), |at| (1, *at)), item));
    }
    merged.sort_by_key(|(rank, _)| *rank);
    Some(Ok(merged.into_iter().map(|(_, item)| item).collect()))
}

/// Removes the items with a key, and empty ones.
fn remove(items: &mut Vec<Node>, key: &ItemKey<'_>) {
    items.retain(|item| !is_void(item) && !key.matches(item));
}

/// Replaces the items with a key, or appends the new one. Removes empty items.
fn put(items: &mut Vec<Node>, key: &ItemKey<'_>, new: Node) {
    items.retain(|item| !is_void(item));
    let mut is_found = false;
    for item in items.iter_mut().filter(|item| key.matches(item)) {
        item.clone_from(&new);
        is_found = true;
    }
    if !is_found {
        items.push(new);
    }
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

/// Returns the positions of the items by their identities; `None` unless each has one of its own.
fn distinct<'n>(items: &'n [Node], keys: &[&str]) -> Option<HashMap<Vec<&'n str>, usize>> {
    let mut found = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        if found.insert(identity(item, keys)?, at).is_some() {
            return None;
        }
    }
    Some(found)
}

/// Returns the values of the keys; `None` unless the item has all of them.
fn identity<'n>(item: &'n Node, keys: &[&str]) -> Option<Vec<&'n str>> {
    let value = |key: &&str| {
        let value = item.get(key).filter(|value| !value.is_null())?;
        value.text().filter(|text| !text.is_empty())
    };
    keys.iter().map(value).collect()
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
fn append(items: &mut Vec<Node>, rest: Vec<Node>, keys: &[&str]) {
    for item in rest {
        let has = |key: &&&str| item.get(key).is_some_and(|value| !value.is_null());
        let present: Vec<&str> = keys.iter().filter(has).copied().collect();
        let item_key = ItemKey {
            values: key_values(&item, &present),
            keys: present,
        };
        if item_key.keys.is_empty() {
            // An item without any key replaces all others.
            *items = vec![item];
            continue;
        }
        if keys.len() > 1 {
            remove(items, &item_key);
        }
        put(items, &item_key, item);
    }
}

/// Returns the texts of the keys of an item; empty where it has none.
fn key_values(item: &Node, keys: &[&str]) -> Vec<String> {
    let value = |key: &&str| item.get(key).and_then(Node::text).unwrap_or_default();
    keys.iter().map(value).map(str::to_owned).collect()
}

fn is_void(item: &Node) -> bool {
    item.is_null() || item.is_empty_map()
}

/// Keys and values that identify an item.
struct ItemKey<'k> {
    keys: Vec<&'k str>,
    values: Vec<String>,
}

impl<'k> ItemKey<'k> {
    /// Creates the key of the item `name`. Omits the keys that are not used, unless none is.
    fn of(name: &[String], keys: &[&'k str], is_used: &[bool]) -> Self {
        let none_used = !is_used.contains(&true);
        let (keys, values) = keys
            .iter()
            .zip(name)
            .zip(is_used)
            .filter(|(_, is_used)| none_used || **is_used)
            .map(|((key, value), _)| (*key, value.clone()))
            .unzip();
        Self { keys, values }
    }

    /// Creates the key by which the item is looked up: only the keys for which it has a value.
    fn lookup(&self) -> Self {
        let is_used: Vec<bool> = self.values.iter().map(|value| !value.is_empty()).collect();
        Self::of(&self.values, &self.keys, &is_used)
    }

    /// Returns whether an item has these values; if a value is empty, any value of the key.
    fn matches(&self, item: &Node) -> bool {
        self.all(item, |value, found| value.is_empty() || value == found)
    }

    fn finds(&self, item: &Node) -> bool {
        self.all(item, |value, found| value == found)
    }

    fn all(&self, item: &Node, is_equal: impl Fn(&str, &str) -> bool) -> bool {
        let holds = |(key, value): (&&str, &String)| {
            let found = item.get(key).filter(|found| !found.is_null());
            found
                .and_then(Node::text)
                .is_some_and(|found| is_equal(value, found))
        };
        self.keys.iter().zip(&self.values).all(holds)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kustomize::node::Origin;
    use crate::kustomize::node::{Mapping, Value, equal};
    use meshprobe_yaml::Span;

    fn item(fields: &[(&str, &str)]) -> Node {
        let origin = Origin {
            path: "a.yaml".into(),
            span: Span::empty(0),
        };
        let mut item = Node {
            value: Value::Map(Arc::new(Mapping::default())),
            origin: origin.clone(),
        };
        for (key, text) in fields {
            item.set(key, &origin, Node::text_at(text, &origin));
        }
        item
    }

    #[test]
    fn items_are_distinct_if_all_have_the_same_keys_with_other_values() {
        let keys = ["port", "protocol"];
        let (a, b) = (item(&[("port", "80")]), item(&[("port", "81")]));
        let tcp = item(&[("port", "80"), ("protocol", "TCP")]);
        let udp = item(&[("port", "80"), ("protocol", "UDP")]);
        let empty = item(&[("port", "")]);
        assert!(distinct(&[a.clone(), b.clone()], &keys[..1]).is_some());
        assert!(distinct(&[tcp.clone(), udp], &keys).is_some());
        for other in [a.clone(), empty, item(&[]), item(&[("x", "y")])] {
            assert!(distinct(&[a.clone(), other], &keys[..1]).is_none());
        }
        assert!(distinct(&[a, tcp], &keys).is_none());
    }

    /// Returns all lists of up to three of these items.
    fn lists(items: &[Node]) -> Vec<Vec<Node>> {
        let mut lists = vec![Vec::new()];
        let mut longest = lists.clone();
        for _ in 0..3 {
            let longer = |list: &Vec<Node>| {
                let with = |item: &Node| [list.clone(), vec![item.clone()]].concat();
                items.iter().map(with).collect::<Vec<_>>()
            };
            longest = longest.iter().flat_map(longer).collect();
            lists.extend_from_slice(&longest);
        }
        lists
    }

    #[test]
    fn distinct_items_are_merged_like_others() {
        // One for each kind of result.
        let merge_item = |object: Option<&Node>, patch: Option<&Node>| {
            let port = object.or(patch).and_then(|item| item.get("port"));
            Ok(match (port.and_then(Node::text), object, patch) {
                (Some("1"), ..) => Merged::Gone,
                (Some("2"), _, Some(patch)) => Merged::Patch(with(patch, "patched")),
                (_, None, Some(patch)) => Merged::Patch(with(patch, "added")),
                (_, object, _) => Merged::Object(with(object.unwrap(), "merged")),
            })
        };
        let keys = ["port", "protocol"];
        let names = [("1", "TCP"), ("2", "TCP"), ("2", "UDP"), ("3", "UDP")];
        let mut count = 0;
        for fields in [1, 2] {
            let name = |(port, protocol)| item(&[("port", port), ("protocol", protocol)][..fields]);
            let lists = lists(&names.map(name));
            let pairs = lists
                .iter()
                .flat_map(|object| lists.iter().map(move |patch| (object, patch)));
            for ((object, patch), is_same) in pairs.flat_map(|pair| [(pair, false), (pair, true)]) {
                let Some(merged) = merge_distinct(object, patch, &keys, &merge_item, is_same)
                else {
                    continue;
                };
                let all = merge_all(object, patch, &keys, &merge_item, is_same).unwrap();
                let [merged, all] = [merged.unwrap(), all].map(with_items);
                assert!(equal(&merged, &all), "{object:?} {patch:?} {is_same}");
                count += 1;
            }
        }
        assert!(count > 3_000, "{count}");
    }

    fn with_items(items: Vec<Node>) -> Node {
        Node {
            value: Value::Seq(Arc::new(items.into())),
            ..item(&[])
        }
    }

    fn with(item: &Node, key: &str) -> Node {
        let mut item = item.clone();
        let origin = item.origin.clone();
        item.set(key, &origin, Node::text_at("x", &origin));
        item
    }

    #[test]
    fn items_that_a_patch_does_not_touch_keep_their_order() {
        let items: Vec<Node> = ["c", "a", "b"].map(|name| item(&[("name", name)])).into();
        let unchanged = |object: Option<&Node>, _: Option<&Node>| {
            let kept = object.filter(|item| item.get("name").and_then(Node::text) != Some("a"));
            Ok(kept.cloned().map_or(Merged::Gone, Merged::Object))
        };
        let merged = merge(&items, &[], &["name"], unchanged, false).unwrap();
        let names: Vec<_> = merged
            .iter()
            .map(|item| item.get("name").and_then(Node::text))
            .collect();
        assert_eq!(names, [Some("c"), Some("b")]);
    }
}
