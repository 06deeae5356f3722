//! Lists whose items all have a value of one key, such as `env` and `containers`: the ordinary case of [`super::list`],
//! with the same result, and items that are looked up instead of compared with each other.

use hashbrown::{HashMap, HashSet};

use super::merge_result::{Merged, PatchFailure};
use super::node::Node;

/// The items of an object and of a patch, by the values of one key.
pub(crate) struct KeyedLists<'n> {
    object: &'n [Node],
    /// The position of the first item of the object with each value.
    own: HashMap<&'n str, usize>,
    patch: HashMap<&'n str, &'n Node>,
    /// All values, those of the patch first.
    names: Vec<&'n str>,
}

impl<'n> KeyedLists<'n> {
    /// Indexes the items; `None` if the list has several keys, or an item has no value of its key.
    pub(crate) fn of(object: &'n [Node], patch: &'n [Node], keys: &[&str]) -> Option<Self> {
        let [key] = keys else {
            return None;
        };
        let mut lists = Self {
            object,
            own: HashMap::with_capacity(object.len()),
            patch: HashMap::with_capacity(patch.len()),
            names: Vec::new(),
        };
        for item in patch {
            let name = name(item, key)?;
            lists.patch.entry(name).or_insert_with(|| {
                lists.names.push(name);
                item
            });
        }
        for (at, item) in object.iter().enumerate() {
            let name = name(item, key)?;
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
        key: &str,
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
            let Some(name) = name(old, key).filter(|name| !deleted.contains(name)) else {
                continue;
            };
            if let Some(slot) = positions.get(name).and_then(|at| added.get_mut(*at)) {
                *slot = item;
            }
        }
        Ok(added)
    }
}

/// Returns the value that an item is found by.
fn name<'n>(item: &'n Node, key: &str) -> Option<&'n str> {
    let value = item.get(key).filter(|value| !value.is_null())?;
    value.text().filter(|text| !text.is_empty())
}
