//! Pairs the items of two states.

use std::hash::Hash;

use hashbrown::HashMap;

/// The items of two states that are not paired yet, by their indexes, and the pairs.
#[derive(Debug)]
pub(super) struct Pairing {
    before: Vec<usize>,
    after: Vec<usize>,
    /// The pairs of indexes.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// Whether several items with the same key are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// In their order.
    InOrder,
    /// Not at all: the key is only a hint.
    Never,
}

impl Pairing {
    /// Starts with all items of both states unpaired.
    pub(super) fn new(before: usize, after: usize) -> Self {
        Self {
            before: (0..before).collect(),
            after: (0..after).collect(),
            pairs: Vec::new(),
        }
    }

    /// Pairs the remaining items that have the same key. An item without a key stays unpaired. The slices are those of
    /// [`Pairing::new`].
    pub(super) fn by<'i, T, K: Hash + Eq>(
        &mut self,
        before: &'i [T],
        after: &'i [T],
        repeated: Repeated,
        key: impl Fn(&'i T) -> Option<K>,
    ) {
        // Most changes add and remove no item, so that all keys are the same in the same order.
        let item = |items: &'i [T], index: &usize| items.get(*index).and_then(&key);
        let is_equal = |(old, new): (&usize, &usize)| {
            let old = item(before, old);
            old.is_some() && old == item(after, new)
        };
        let is_same_order = repeated == Repeated::InOrder
            && self.before.len() == self.after.len()
            && self.before.iter().zip(&self.after).all(is_equal);
        if is_same_order {
            let (before, after) = (self.before.drain(..), self.after.drain(..));
            self.pairs.extend(before.zip(after));
            return;
        }
        let mut waiting: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for &index in &self.before {
            if let Some(key) = before.get(index).and_then(&key) {
                waiting.entry(key).or_default().0.push(index);
            }
        }
        for &index in &self.after {
            if let Some(key) = after.get(index).and_then(&key)
                && let Some(found) = waiting.get_mut(&key)
            {
                found.1.push(index);
            }
        }
        let groups = waiting.into_values().filter(|(before, after)| {
            repeated == Repeated::InOrder || (before.len(), after.len()) == (1, 1)
        });
        let mut paired: Vec<(usize, usize)> = groups
            .flat_map(|(before, after)| before.into_iter().zip(after))
            .collect();
        paired.sort_unstable();
        let mut paired_after: Vec<usize> = paired.iter().map(|(_, after)| *after).collect();
        paired_after.sort_unstable();
        self.before
            .retain(|index| paired.binary_search_by_key(index, |pair| pair.0).is_err());
        self.after
            .retain(|index| paired_after.binary_search(index).is_err());
        self.pairs.extend(paired);
    }

    /// Returns the items of the first state without a partner.
    pub(super) fn only_before(&self) -> &[usize] {
        &self.before
    }

    /// Returns the items of the second state without a partner.
    pub(super) fn only_after(&self) -> &[usize] {
        &self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(before: &[&str], after: &[&str], repeated: Repeated) -> Pairing {
        let mut pairing = Pairing::new(before.len(), after.len());
        pairing.by(before, after, repeated, |item| Some(*item));
        pairing
    }

    #[test]
    fn equal_keys_are_paired_in_order() {
        let pairing = paired(&["a", "b", "a"], &["a", "a", "c"], Repeated::InOrder);
        assert_eq!(pairing.pairs, [(0, 0), (2, 1)]);
        assert_eq!(pairing.only_before(), [1]);
        assert_eq!(pairing.only_after(), [2]);
    }

    #[test]
    fn a_hint_pairs_only_single_items() {
        let pairing = paired(&["a", "b", "a"], &["a", "b"], Repeated::Never);
        assert_eq!(pairing.pairs, [(1, 1)]);
    }
}
