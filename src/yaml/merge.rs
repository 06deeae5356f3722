//! The entries of a mapping as its readers see them: merge keys applied, of duplicate keys the
//! last.

use std::borrow::Cow;
use std::cell::Cell;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

use super::scalar::Scalar;
use super::tree::{Entry, Kind, NodeRef};

/// How many merge keys may lead from one to the next.
pub(crate) const MERGE_DEPTH: usize = 16;
/// How many mappings are looked at for one key; more is an attack.
pub(super) const MERGED_MAPPINGS: usize = 10_000;

/// More entries than the budget allows: aliases that multiply each other.
#[derive(Debug)]
pub(super) struct Overrun;

/// Returns the text by which a key is known after the conversion to JSON that Kubernetes tooling
/// makes; `None` for keys that it refuses.
pub(super) fn key_text(key: NodeRef<'_>) -> Option<Cow<'_, str>> {
    Some(match key.scalar()? {
        Scalar::Str(text) => Cow::Borrowed(text),
        Scalar::Bool(value) => Cow::Borrowed(if value { "true" } else { "false" }),
        Scalar::Int(value) => Cow::Owned(value.to_string()),
        Scalar::UInt(value) => Cow::Owned(value.to_string()),
        Scalar::Float(value) => Cow::Owned(value.to_string()),
        Scalar::Null => return None,
    })
}

/// Mappings up to this length are searched key by key.
const SMALL: usize = 24;

/// Finds keys that occur again; its memory serves one mapping after the other.
#[derive(Default)]
pub(super) struct Duplicates<'t> {
    keys: Vec<(Cow<'t, str>, NodeRef<'t>)>,
    /// Each later key behind the first of its kind.
    pub(super) found: Vec<(NodeRef<'t>, NodeRef<'t>)>,
}

impl<'t> Duplicates<'t> {
    /// Looks for keys of `mapping` that occur again.
    pub(super) fn look_into(&mut self, mapping: NodeRef<'t>) {
        if mapping.entries().len() < 2 || all_differ(mapping) {
            return;
        }
        self.keys.clear();
        let keys = mapping.entries().map(|entry| entry.key);
        let keys = keys.filter(|key| !key.is_merge_key());
        let named = keys.filter_map(|key| Some((key_text(key)?, key)));
        self.keys.extend(named);
        if self.keys.len() <= SMALL {
            self.compare_all();
        } else {
            self.compare_hashed();
        }
    }

    fn compare_all(&mut self) {
        let mut seen = 0u128;
        for (count, (key, later)) in self.keys.iter().enumerate() {
            let mark = 1 << mark(key);
            if seen & mark != 0 {
                let first = self.keys.iter().take(count).find(|(text, _)| text == key);
                self.found.extend(first.map(|(_, first)| (*first, *later)));
            }
            seen |= mark;
        }
    }

    fn compare_hashed(&mut self) {
        let mut first: HashMap<&str, NodeRef<'t>> = HashMap::with_capacity(self.keys.len());
        for (key, node) in &self.keys {
            match first.entry(key) {
                Slot::Occupied(slot) => self.found.push((*slot.get(), *node)),
                Slot::Vacant(slot) => {
                    slot.insert(*node);
                }
            }
        }
    }
}

/// Tells whether all keys are strings and surely differ, which is so in most mappings.
fn all_differ(mapping: NodeRef<'_>) -> bool {
    let mut seen = 0u128;
    mapping.entries().all(|entry| {
        let Some(Scalar::Str(key)) = entry.key.scalar() else {
            return false;
        };
        let mark = 1 << mark(key);
        let is_new = seen & mark == 0;
        seen |= mark;
        is_new
    })
}

/// Returns a number below 128 that equal keys share, and most others do not.
fn mark(key: &str) -> usize {
    let ends = key.bytes().next().zip(key.bytes().next_back());
    let (first, last) = ends.unwrap_or_default();
    (key.len() + 7 * usize::from(first) + 31 * usize::from(last)) % 128
}

/// Returns the first key of a mapping that occurs again.
pub(super) fn first_duplicate(mapping: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let mut finder = Duplicates::default();
    finder.look_into(mapping);
    finder.found.first().map(|(_, later)| *later)
}

/// Returns the entries that count, own ones first; every entry looked at costs one of `budget`.
/// Keys that are no scalars are kept as they are.
pub(super) fn effective_entries<'t>(
    mapping: NodeRef<'t>,
    budget: &Cell<usize>,
) -> Result<Vec<Entry<'t>>, Overrun> {
    let mut collector = Collector {
        seen: HashMap::new(),
        entries: Vec::new(),
        budget,
    };
    collector.collect(mapping, MERGE_DEPTH, false)?;
    Ok(collector.entries)
}

struct Collector<'t, 'b> {
    seen: HashMap<Cow<'t, str>, usize>,
    entries: Vec<Entry<'t>>,
    budget: &'b Cell<usize>,
}

impl<'t> Collector<'t, '_> {
    fn collect(&mut self, mapping: NodeRef<'t>, depth: usize, merged: bool) -> Result<(), Overrun> {
        let level = self.entries.len();
        for entry in mapping.entries() {
            self.pay()?;
            if !entry.key.is_merge_key() {
                self.add(Entry { merged, ..entry }, level);
            }
        }
        if !mapping.has_merge_key() {
            return Ok(());
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Overrun);
        };
        for entry in mapping.entries().filter(|e| e.key.is_merge_key()) {
            if entry.value.is_mapping() {
                self.collect(entry.value, depth, true)?;
            }
            for item in entry.value.items() {
                self.collect(item, depth, true)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry<'t>, level: usize) {
        let key = match entry.key.resolved().kind() {
            Kind::Scalar => key_text(entry.key),
            _ => None,
        };
        let Some(key) = key else {
            return self.entries.push(entry);
        };
        match self.seen.get(&key) {
            // The last of duplicates in one mapping wins, but never against a nearer mapping.
            Some(&at) if at >= level => {
                if let Some(slot) = self.entries.get_mut(at) {
                    *slot = entry;
                }
            }
            Some(_) => {}
            None => {
                self.seen.insert(key, self.entries.len());
                self.entries.push(entry);
            }
        }
    }

    fn pay(&self) -> Result<(), Overrun> {
        self.budget
            .set(self.budget.get().checked_sub(1).ok_or(Overrun)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::yaml::{Span, Tree, parse};

    fn tree(text: &str) -> Tree {
        parse(&Arc::from(text), Span::new(0, text.len()))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn every_later_key_is_named_with_the_first() {
        let text =
            "a: {k: 1, \"k\": 2, l: 3}\nb: 1\nb: 2\nb: 3\n<<: {x: 1}\n<<: {x: 2}\n~: 1\n~: 2\n";
        let tree = tree(text);
        let found: Vec<_> = tree
            .duplicate_keys()
            .into_iter()
            .map(|(first, later)| (first.slice(text), first.start, later.slice(text)))
            .collect();
        assert_eq!(found, [("b", 24, "b"), ("b", 24, "b"), ("k", 4, "\"k\"")]);
    }

    #[test]
    fn merge_keys_that_multiply_each_other_end() {
        let mut text = String::from("a0: &a0 {k: v}\n");
        for level in 1..16 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} {{<<: [{below}]}}\n"));
        }
        let tree = tree(&text);
        assert_eq!(
            tree.root().unwrap().get("a15").unwrap().get("missing"),
            None
        );
        let near = tree.root().unwrap().get("a3").unwrap().get("k");
        assert_eq!(near.unwrap().text(), Some("v"));
    }
}
