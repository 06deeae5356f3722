//! Lists whose items are found by keys.
//!
//! Follows `kyaml/yaml/walk/associative_sequence.go` and `ElementSetter` of
//! `kyaml/yaml/fns.go` of kustomize 5.8.2 closely, because the order of the result and the
//! treatment of a missing `protocol` follow from its steps and from nothing else.

use super::keyed_list::KeyedLists;
use super::limit::{ITEMS, Limit};
use super::merge::{Merged, Misfit, walk};
use super::node::Node;
use super::schema::Type;

/// Merges the items of a patch into those of an object.
pub(super) fn merge(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    kind: Type,
) -> Result<Vec<Node>, Misfit> {
    merge_items(object, patch, keys, kind, false)
}

/// A list that only the patch has is merged with itself, which drops its nulls and directives.
pub(super) fn fresh(patch: &[Node], keys: &[&str], kind: Type) -> Result<Vec<Node>, Misfit> {
    merge_items(patch, patch, keys, kind, true)
}

fn merge_items(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    kind: Type,
    is_same: bool,
) -> Result<Vec<Node>, Misfit> {
    if keys.is_empty() {
        return Ok(union(object, patch));
    }
    if object.len().max(patch.len()) > ITEMS {
        return Err(Misfit::Exceeds(Limit::Items));
    }
    if let Some((lists, key)) = KeyedLists::of(object, patch, keys).zip(keys.first()) {
        return lists.merge(key, kind, is_same);
    }
    merge_compared(object, patch, keys, kind, is_same)
}

/// Compares the items with each other.
fn merge_compared(
    object: &[Node],
    patch: &[Node],
    keys: &[&str],
    kind: Type,
    is_same: bool,
) -> Result<Vec<Node>, Misfit> {
    let mut object = object.to_vec();
    let mut names = identities(&object, patch, keys);
    if keys.len() > 1 {
        complete(&mut names);
    }
    let mut added: Vec<Node> = Vec::new();
    let mut last_keys: Vec<&str> = keys.to_vec();
    for name in &names {
        let wanted = Wanted::of(&names, name, keys);
        last_keys.clone_from(&wanted.keys);
        // An item is looked up by those keys alone that it has.
        let lookup = Wanted::of(std::slice::from_ref(name), &wanted.values, &wanted.keys);
        let own = object.iter().position(|item| lookup.fits(item));
        let theirs = patch.iter().find(|item| lookup.fits(item));
        let merged = walk(own.and_then(|at| object.get(at)), theirs, kind, None)?;
        let in_place = is_same || matches!(merged, Merged::Object(_));
        let Some(mut item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
            wanted.remove_from(&mut object);
            continue;
        };
        wanted.complete(&mut item);
        if let (true, Some(slot)) = (in_place, own.and_then(|at| object.get_mut(at))) {
            slot.clone_from(&item);
        }
        wanted.put_into(&mut added, item);
    }
    if names.is_empty() {
        return Ok(object);
    }
    Ok(append(added, object, &last_keys))
}

/// Lists of single values: those of the patch, then those that only the object has.
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

/// What the items are called, each once, those of the patch first.
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

/// Takes a name without `protocol` for the same as one with it.
fn complete(names: &mut [Vec<String>]) {
    for one in 0..names.len() {
        for other in 0..names.len() {
            let (Some(a), Some(b)) = (names.get(one), names.get(other)) else {
                continue;
            };
            if let Some(both) = fitting(a, b) {
                for at in [one, other] {
                    if let Some(slot) = names.get_mut(at) {
                        slot.clone_from(&both);
                    }
                }
            }
        }
    }
}

/// Two names fit if one value is equal and the others differ only by being absent.
fn fitting(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let equal = a.iter().zip(b).any(|(a, b)| a == b);
    let contradict = |(a, b): (&String, &String)| a != b && !a.is_empty() && !b.is_empty();
    if !equal || a.iter().zip(b).any(contradict) {
        return None;
    }
    let pairs = a.iter().zip(b);
    Some(
        pairs
            .map(|(a, b)| if a.is_empty() { b } else { a }.clone())
            .collect(),
    )
}

/// The keys and values that an item is found by.
struct Wanted<'k> {
    keys: Vec<&'k str>,
    values: Vec<String>,
}

impl<'k> Wanted<'k> {
    /// Leaves out the keys that no item of `names` has a value for.
    fn of(names: &[Vec<String>], name: &[String], keys: &[&'k str]) -> Self {
        let used = |at: usize| {
            let has = |name: &Vec<String>| name.get(at).is_some_and(|value| !value.is_empty());
            names.iter().any(has)
        };
        let none_used = !(0..keys.len()).any(used);
        let pairs = keys.iter().zip(name).enumerate();
        let kept = pairs.filter(|(at, _)| none_used || used(*at));
        let (keys, values) = kept.map(|(_, (key, value))| (*key, value.clone())).unzip();
        Self { keys, values }
    }

    fn fits(&self, item: &Node) -> bool {
        let holds = |(key, value): (&&str, &String)| {
            let found = item.get(key).filter(|found| !found.is_null());
            found.is_some_and(|found| value.is_empty() || found.text() == Some(value))
        };
        self.keys.iter().zip(&self.values).all(holds)
    }

    fn remove_from(&self, items: &mut Vec<Node>) {
        items.retain(|item| !is_void(item) && !self.fits(item));
    }

    /// Replaces the item that fits, else appends.
    fn put_into(&self, items: &mut Vec<Node>, new: Node) {
        let mut found = false;
        items.retain(|item| !is_void(item));
        for item in items.iter_mut().filter(|item| self.fits(item)) {
            item.clone_from(&new);
            found = true;
        }
        if !found {
            items.push(new);
        }
    }

    /// Writes the values that the item was found by into it.
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

/// Puts the items of `rest` behind `items`, or in the place of those that fit.
fn append(mut items: Vec<Node>, rest: Vec<Node>, keys: &[&str]) -> Vec<Node> {
    for item in rest {
        let has = |key: &&&str| item.get(key).is_some_and(|value| !value.is_null());
        let present: Vec<&str> = keys.iter().filter(has).copied().collect();
        let wanted = Wanted {
            values: key_values(&item, &present),
            keys: present,
        };
        if wanted.keys.is_empty() {
            // An item without any key displaces all others.
            items = vec![item];
            continue;
        }
        if keys.len() > 1 {
            wanted.remove_from(&mut items);
        }
        wanted.put_into(&mut items, item);
    }
    items
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::render::node::Origin;
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
        let mut merged = 0;
        for object in &lists {
            for patch in &lists {
                for is_same in [false, true] {
                    let object = if is_same { patch } else { object };
                    let keyed = KeyedLists::of(object, patch, &["name"]).unwrap();
                    let keyed = keyed.merge("name", kind, is_same);
                    let compared = merge_compared(object, patch, &["name"], kind, is_same);
                    assert_eq!(format!("{keyed:?}"), format!("{compared:?}"));
                    merged += 1;
                }
            }
        }
        assert_eq!(merged, 2 * 92 * 92);
    }
}
