//! Lists of an object that a merge without a patch would keep ([`super::stable`]): only the items that a patch names
//! are merged, with the same result as [`super::list`].

use hashbrown::HashMap;

use super::item_key::key_text;
use super::merge_result::{Merged, PatchFailure};
use super::node::Node;

/// Values of the keys of an item; empty for a missing second key.
type Name<'n> = (&'n str, &'n str);

/// The items of a patch, and the items of the object that they change.
pub(crate) struct StableLists<'n> {
    object: &'n [Node],
    patch: &'n [Node],
    /// For each item of the object, the position of the item of the patch.
    matches: Vec<Option<usize>>,
    /// Whether items that the patch changes move to the front. Items with two keys remain where they are.
    moves: bool,
}

impl<'n> StableLists<'n> {
    /// Matches the items by their keys. Returns `None` if not all items have the same keys, or if the patch has two
    /// items with equal keys.
    pub(crate) fn of(object: &'n [Node], patch: &'n [Node], keys: &[&str]) -> Option<Self> {
        let (first, rest) = keys.split_first()?;
        let second = rest.first().filter(|_| rest.len() == 1);
        let of_object = object.first()?;
        let second = second.filter(|second| of_object.get(second).is_some());
        let mut names: HashMap<Name<'_>, usize> = HashMap::with_capacity(patch.len());
        let has_others =
            |item: &Node| second.is_none() && rest.iter().any(|key| item.get(key).is_some());
        for (at, item) in patch.iter().enumerate() {
            if has_others(item) || names.insert(name(item, first, second)?, at).is_some() {
                return None;
            }
        }
        let find = |item: &'n Node| match name(item, first, second) {
            Some(name) if !has_others(item) => Some(names.get(&name).copied()),
            _ => None,
        };
        Some(Self {
            object,
            patch,
            matches: object.iter().map(find).collect::<Option<_>>()?,
            moves: second.is_none(),
        })
    }

    /// Merges the items. What only the patch has comes first.
    pub(crate) fn merge(
        self,
        merge_item: impl Fn(Option<&Node>, Option<&Node>) -> Result<Merged, PatchFailure>,
    ) -> Result<Vec<Node>, PatchFailure> {
        let mut in_object: Vec<Option<&Node>> = vec![None; self.patch.len()];
        for (item, at) in self.object.iter().zip(&self.matches) {
            if let Some(slot) = at.and_then(|at| in_object.get_mut(at)) {
                *slot = Some(item);
            }
        }
        let mut items = Vec::with_capacity(self.object.len() + self.patch.len());
        let mut in_place: Vec<Option<Node>> = vec![None; self.patch.len()];
        for ((patch, object), slot) in self.patch.iter().zip(in_object).zip(&mut in_place) {
            let merged = merge_item(object, Some(patch))?;
            let is_changed = matches!(merged, Merged::Object(_));
            let Some(mut item) = merged.into_node().filter(|item| !item.is_empty_map()) else {
                continue;
            };
            // What is not changed in place keeps the value of the object.
            if let Some(object) = object.filter(|_| !is_changed) {
                item.clone_from(object);
            }
            if object.is_none() || self.moves {
                items.push(item);
            } else {
                *slot = Some(item);
            }
        }
        for (item, at) in self.object.iter().zip(self.matches) {
            match at {
                None => items.push(item.clone()),
                Some(at) => items.extend(in_place.get_mut(at).and_then(Option::take)),
            }
        }
        Ok(items)
    }
}

/// Returns the values of the keys of an item; `None` if it does not have all of them.
fn name<'n>(item: &'n Node, first: &str, second: Option<&&str>) -> Option<Name<'n>> {
    let second = match second {
        Some(key) => key_text(item, key)?,
        None => "",
    };
    Some((key_text(item, first)?, second))
}
