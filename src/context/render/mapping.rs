//! The entries of a mapping, in their order and by their keys.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use super::node::{Field, Node};

/// Mappings with no more entries are searched one by one, which is faster.
const SCANNED: usize = 32;

/// The entries of a mapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Mapping {
    fields: Vec<Field>,
    /// Of a long mapping: where each key is, from the first search on.
    positions: OnceLock<Box<HashMap<Arc<str>, usize>>>,
    /// Entries were removed, which moves others: an index would be built again for each removal.
    is_shortened: bool,
}

impl From<Vec<Field>> for Mapping {
    fn from(fields: Vec<Field>) -> Self {
        Self {
            fields,
            ..Self::default()
        }
    }
}

impl Deref for Mapping {
    type Target = [Field];

    fn deref(&self) -> &[Field] {
        &self.fields
    }
}

impl Mapping {
    /// Returns where the entry `key` is; the first, should there be several.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        if self.is_shortened || self.fields.len() <= SCANNED {
            return self.fields.iter().position(|field| *field.key == *key);
        }
        let positions = self.positions.get_or_init(|| {
            let mut positions = HashMap::with_capacity(self.fields.len());
            for (at, field) in self.fields.iter().enumerate() {
                positions.entry(Arc::clone(&field.key)).or_insert(at);
            }
            Box::new(positions)
        });
        positions.get(key).copied()
    }

    /// Returns the value of an entry to be changed.
    pub(super) fn value_mut(&mut self, at: usize) -> Option<&mut Node> {
        Some(&mut self.fields.get_mut(at)?.value)
    }

    /// Returns all values to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.fields.iter_mut().map(|field| &mut field.value)
    }

    /// Replaces the entry with the same key, or appends one.
    pub(super) fn set(&mut self, field: Field) {
        let known = self.position(&field.key);
        if let Some(known) = known.and_then(|at| self.fields.get_mut(at)) {
            *known = field;
            return;
        }
        if let Some(positions) = self.positions.get_mut() {
            positions.insert(Arc::clone(&field.key), self.fields.len());
        }
        self.fields.push(field);
    }

    /// Removes an entry and returns its value.
    pub(super) fn remove(&mut self, at: usize) -> Option<Node> {
        if at >= self.fields.len() {
            return None;
        }
        self.is_shortened = true;
        self.positions = OnceLock::new();
        Some(self.fields.remove(at).value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Origin;
    use super::*;
    use crate::yaml::Span;

    fn field(number: usize) -> Field {
        let origin = Origin {
            path: "a.yaml".into(),
            span: Span::empty(number),
        };
        Field {
            key: format!("k{number}").into(),
            value: Node::text_at("v", &origin),
            origin,
        }
    }

    #[test]
    fn long_mappings_are_searched_like_short_ones() {
        let mut mapping = Mapping::default();
        for number in 0..3 * SCANNED {
            assert_eq!(mapping.position(&format!("k{number}")), None);
            mapping.set(field(number));
            mapping.set(field(number));
        }
        let found = |mapping: &Mapping| {
            let numbers = 0..3 * SCANNED;
            let found = numbers.map(|number| mapping.position(&format!("k{number}")));
            found.collect::<Vec<_>>()
        };
        assert_eq!(
            found(&mapping),
            (0..3 * SCANNED).map(Some).collect::<Vec<_>>()
        );
        assert!(mapping.remove(0).is_some());
        assert!(mapping.remove(3 * SCANNED).is_none());
        mapping.set(field(0));
        let moved = (0..3 * SCANNED).map(|number| number.checked_sub(1));
        let moved = moved.map(|at| at.or(Some(3 * SCANNED - 1)));
        assert_eq!(found(&mapping), moved.collect::<Vec<_>>());
    }
}
