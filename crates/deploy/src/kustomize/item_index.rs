//! Items of a list that are looked up by the values of their keys.

use hashbrown::HashMap;

use crate::kustomize::item_key::{ItemKey, is_void, key_text};
use crate::kustomize::node::Node;

/// Maximum number of keys of the lists whose items are indexed.
const INDEXED_KEYS: usize = 2;

/// Items of a list in their order.
pub(crate) struct Items<'k> {
    /// The items; `None` if removed.
    items: Vec<Option<Node>>,
    keys: &'k [&'k str],
    /// The positions of the items by the value of the first key, and by the values of both keys; `None` if the items
    /// are compared one by one.
    positions: Option<HashMap<Vec<String>, Vec<usize>>>,
}

/// Returns whether an index finds all items of a list: each has the first key, and no key without a text.
pub(crate) fn can_index(items: &[Node], keys: &[&str]) -> bool {
    keys.len() <= INDEXED_KEYS
        && items
            .iter()
            .all(|item| indexed_values(item, keys).is_some())
}

/// Returns the texts of the keys that an item has; `None` if it does not have the first key, or a key has no text.
fn indexed_values(item: &Node, keys: &[&str]) -> Option<Vec<String>> {
    let (first, rest) = keys.split_first()?;
    let mut values = vec![key_text(item, first)?.to_owned()];
    for key in rest.iter().filter(|key| item.get(key).is_some()) {
        values.push(key_text(item, key)?.to_owned());
    }
    Some(values)
}

impl<'k> Items<'k> {
    /// Creates an empty list, whose items are indexed if `is_indexed`.
    pub(crate) fn new(keys: &'k [&'k str], is_indexed: bool) -> Self {
        Self {
            items: Vec::new(),
            keys,
            positions: is_indexed.then(HashMap::new),
        }
    }

    /// Creates a list of these items.
    pub(crate) fn of(items: &[Node], keys: &'k [&'k str], is_indexed: bool) -> Self {
        let mut list = Self::new(keys, is_indexed);
        for item in items {
            list.push(item.clone());
        }
        list
    }

    pub(crate) fn get(&self, at: usize) -> Option<&Node> {
        self.items.get(at)?.as_ref()
    }

    /// Returns the position of the first item with a key.
    pub(crate) fn position(&self, key: &ItemKey<'_>) -> Option<usize> {
        let is_found = |at: &usize| self.get(*at).is_some_and(|item| key.matches(item));
        match self.candidates(key) {
            Some(positions) => positions.iter().copied().find(is_found),
            None => (0..self.items.len()).find(is_found),
        }
    }

    /// Replaces the item at a position.
    pub(crate) fn replace(&mut self, at: usize, item: Node) {
        if self.positions.is_some()
            && self.get(at).and_then(|old| indexed_values(old, self.keys))
                != indexed_values(&item, self.keys)
        {
            self.positions = None;
        }
        if let Some(slot) = self.items.get_mut(at) {
            *slot = Some(item);
        }
    }

    /// Removes the items with a key.
    pub(crate) fn remove(&mut self, key: &ItemKey<'_>) {
        self.remove_void();
        for at in self.all_with(key) {
            if let Some(slot) = self.items.get_mut(at) {
                *slot = None;
            }
        }
        // Removed items would be visited again by each later search.
        if let Some(positions) = &mut self.positions {
            let items = &self.items;
            if let Some(found) = positions.get_mut(&key.values) {
                found.retain(|at| items.get(*at).is_some_and(Option::is_some));
            }
        }
    }

    /// Replaces the items with a key, or appends the new one.
    pub(crate) fn put(&mut self, key: &ItemKey<'_>, new: Node) {
        self.remove_void();
        let found = self.all_with(key);
        if found.is_empty() {
            self.push(new);
            return;
        }
        for at in found {
            self.replace(at, new.clone());
        }
    }

    /// Replaces all items with one.
    pub(crate) fn replace_all(&mut self, item: Node) {
        self.positions = None;
        self.items = vec![Some(item)];
    }

    pub(crate) fn into_items(self) -> impl Iterator<Item = Node> {
        self.items.into_iter().flatten()
    }

    fn push(&mut self, item: Node) {
        if let Some(positions) = &mut self.positions {
            match indexed_values(&item, self.keys) {
                Some(mut values) => {
                    let at = self.items.len();
                    positions.entry_ref(&values).or_default().push(at);
                    if values.len() > 1 {
                        values.truncate(1);
                        positions.entry(values).or_default().push(at);
                    }
                }
                None => self.positions = None,
            }
        }
        self.items.push(Some(item));
    }

    /// Removes empty items. Indexed items have a key.
    fn remove_void(&mut self) {
        if self.positions.is_none() {
            self.items
                .retain(|item| item.as_ref().is_some_and(|item| !is_void(item)));
        }
    }

    /// Returns the positions of the items that may have a key; `None` for all positions.
    fn candidates(&self, key: &ItemKey<'_>) -> Option<&[usize]> {
        let positions = self.positions.as_ref()?;
        let is_first = self.keys.starts_with(&key.keys);
        // An empty value matches any text.
        let known = key.values.iter().take_while(|value| !value.is_empty());
        let known = if is_first { known.count() } else { 0 };
        let values = key
            .values
            .get(..known)
            .filter(|values| !values.is_empty())?;
        Some(positions.get(values).map_or(&[], Vec::as_slice))
    }

    fn all_with(&self, key: &ItemKey<'_>) -> Vec<usize> {
        let has_key = |at: &usize| self.get(*at).is_some_and(|item| key.matches(item));
        match self.candidates(key) {
            Some(positions) => positions.iter().copied().filter(has_key).collect(),
            None => (0..self.items.len()).filter(has_key).collect(),
        }
    }
}
