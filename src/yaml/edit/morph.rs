//! How a collection turns into another one with the fewest changes.

use hashbrown::HashSet;

use super::fate::{Addition, Fate, Own, Place};
use crate::yaml::change::Value;
use crate::yaml::same::same;
use crate::yaml::tree::NodeRef;

/// Tells whether the entries of `node` can turn into `entries` one by one.
pub(super) fn can_morph(node: NodeRef<'_>, entries: &[(String, Value)]) -> bool {
    let mut seen = HashSet::new();
    let plain_keys = node.entries().all(|entry| {
        !entry.key.is_merge_key() && entry.key.text().is_some_and(|text| seen.insert(text))
    });
    plain_keys && node.tag().is_none() && !entries.is_empty() && node.entries().len() > 0
}

/// Compares a mapping with the entries that it is to have.
pub(super) fn entry_fates(node: NodeRef<'_>, entries: Vec<(String, Value)>) -> Fate {
    let mut fate = Fate::default();
    let names: Vec<&str> = node.entries().filter_map(|e| e.key.text()).collect();
    let mut place = Place::First;
    let mut found = vec![false; names.len()];
    for (key, value) in entries {
        match names.iter().position(|&name| name == key) {
            Some(index) => {
                place = Place::After(index);
                if let Some(found) = found.get_mut(index) {
                    *found = true;
                }
                fate.children.insert(index, Fate::new(Own::Become(value)));
            }
            None => fate.added.push(Addition {
                place: Some(place),
                key: Some(key),
                value,
            }),
        }
    }
    for (index, _) in found.iter().enumerate().filter(|(_, found)| !**found) {
        fate.children.insert(index, Fate::new(Own::Remove));
    }
    fate
}

/// Compares a list with the items that it is to have: what is equal at both ends stays.
pub(super) fn item_fates(node: NodeRef<'_>, items: Vec<Value>) -> Fate {
    let old: Vec<NodeRef<'_>> = node.items().collect();
    let front = old
        .iter()
        .zip(&items)
        .take_while(|(node, value)| same(**node, value))
        .count();
    let shorter = old.len().min(items.len()) - front;
    let back = old
        .iter()
        .rev()
        .zip(items.iter().rev())
        .take(shorter)
        .take_while(|(node, value)| same(**node, value))
        .count();
    let mut fate = Fate::default();
    let (old_end, new_end) = (old.len() - back, items.len() - back);
    for (index, value) in items.into_iter().enumerate().take(new_end).skip(front) {
        if index < old_end {
            fate.children.insert(index, Fate::new(Own::Become(value)));
        } else {
            let place = old_end.checked_sub(1).map_or(Place::First, Place::After);
            fate.added.push(Addition {
                place: Some(place),
                key: None,
                value,
            });
        }
    }
    for index in new_end.max(front)..old_end {
        fate.children.insert(index, Fate::new(Own::Remove));
    }
    fate
}

/// Puts new entries in the place of removed ones, so that a line changes instead of two; in a
/// list, whose order counts, only at its end.
pub(super) fn pair_up(fate: &mut Fate, count: usize, ordered: bool) {
    let is_removed = |index: &usize| {
        let child = fate.children.get(index);
        child.is_some_and(|child| matches!(child.own, Own::Remove))
    };
    let from = match (0..count).rfind(|index| !is_removed(index)) {
        Some(kept) if ordered => kept + 1,
        _ => 0,
    };
    let mut added = std::mem::take(&mut fate.added).into_iter();
    let mut last_pair = None;
    for (&index, child) in fate.children.range_mut(from..) {
        if !matches!(child.own, Own::Remove) {
            continue;
        }
        let Some(addition) = added.next() else { break };
        child.own = match addition.key {
            None => Own::Become(addition.value),
            Some(key) => Own::Rename(key, addition.value),
        };
        last_pair = Some(index);
    }
    fate.added = added.collect();
    // What comes later in the new order stays behind what found a place.
    for addition in &mut fate.added {
        if let (Some(place), Some(pair)) = (addition.place.as_mut(), last_pair) {
            *place = (*place).max(Place::After(pair));
        }
    }
}
