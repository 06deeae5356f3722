//! Lists whose items all have a value of one key, such as `env` and `containers`: the ordinary case of [`super::list`],
//! with the same result, and items that are looked up instead of compared with each other.

use hashbrown::{HashMap, HashSet};

use super::item_key::key_text;
use super::merge_result::{Merged, PatchFailure};
use super::node::Node;

/// The items of an object and of a patch, by the values of one key.
pub(crate) struct KeyedLists<'n> {
    key: &'n str,
    object: &'n [Node],
    /// The position of the first item of the object with each value.
    own: HashMap<&'n str, usize>,
    patch: HashMap<&'n str, &'n Node>,
    /// All values, those of the patch first.
    names: Vec<&'n str>,
}

impl<'n> KeyedLists<'n> {
    /// Indexes the items; `None` if they have values of several keys, or an item has no value of its first key.
    pub(crate) fn of(object: &'n [Node], patch: &'n [Node], keys: &[&'n str]) -> Option<Self> {
        let (key, others) = keys.split_first()?;
        let has_others = |item: &Node| others.iter().any(|key| item.get(key).is_some());
        if !others.is_empty() && object.iter().chain(patch).any(has_others) {
            return None;
        }
        let mut lists = Self {
            key,
            object,
            own: HashMap::with_capacity(object.len()),
            patch: HashMap::with_capacity(patch.len()),
            names: Vec::new(),
        };
        for item in patch {
            let name = key_text(item, key)?;
            lists.patch.entry(name).or_insert_with(|| {
                lists.names.push(name);
                item
            });
        }
        for (at, item) in object.iter().enumerate() {
            let name = key_text(item, key)?;
            let names = &mut lists.names;
            lists.own.entry(name).or_insert_with(|| {
                if !lists.patch.contains_key(name) {
                    names.push(name);
                }
                at
            });
        }
        Some(lists)
    }

    /// Merges the items. Those of the patch come first; `is_same` if the patch is merged with itself.
    pub(crate) fn merge(
        self,
        merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
        is_same: bool,
    ) -> Result<Vec<Node>, PatchFailure> {
        let mut object = self.object.to_vec();
        let mut added: Vec<Node> = Vec::with_capacity(self.names.len());
        let mut positions: HashMap<&str, usize> = HashMap::with_capacity(self.names.len());
        let mut deleted: HashSet<&str> = HashSet::new();
        for name in self.names {
            let own = self.own.get(name).copied();
            let theirs = self.patch.get(name).copied();
            let merged = merge_item(own.and_then(|at| self.object.get(at)), theirs)?;
            let in_place = is_same || matches!(merged, Merged::Object(_));
            let Some(item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
                deleted.insert(name);
                continue;
            };
            if let (true, Some(slot)) = (in_place, own.and_then(|at| object.get_mut(at))) {
                slot.clone_from(&item);
            }
            positions.insert(name, added.len());
            added.push(item);
        }
        // What only the object has follows; what was not changed in place keeps the value of the object.
        for (item, old) in object.into_iter().zip(self.object) {
            let Some(name) = key_text(old, self.key).filter(|name| !deleted.contains(name)) else {
                continue;
            };
            if let Some(slot) = positions.get(name).and_then(|at| added.get_mut(*at)) {
                *slot = item;
            }
        }
        Ok(added)
    }
}
