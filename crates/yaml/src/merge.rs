//! Effective entries of a mapping: merge keys are applied, and the last of duplicate keys wins.

use std::borrow::Cow;
use std::cell::Cell;

use hashbrown::HashMap;

use super::merge_limits::MERGE_DEPTH;
use super::scalar::Scalar;
use super::tree::{Entry, Kind, NodeRef};

/// Error: aliases that multiply each other produce more entries than the budget allows.
#[derive(Debug)]
pub(super) struct BudgetExceeded;

/// Returns the text of a key after the conversion to JSON in Kubernetes tooling; `None` for keys that
/// the conversion rejects.
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

/// Returns the effective entries of a mapping, its own entries first. Entries whose key is not a scalar are
/// all kept. Every entry that is visited takes 1 from `budget`.
///
/// # Errors
/// [`BudgetExceeded`] if the budget is used up, or merge keys are nested too deep.
pub(super) fn effective_entries<'t>(
    mapping: NodeRef<'t>,
    budget: &Cell<usize>,
) -> Result<Vec<Entry<'t>>, BudgetExceeded> {
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
    fn collect(
        &mut self,
        mapping: NodeRef<'t>,
        depth: usize,
        merged: bool,
    ) -> Result<(), BudgetExceeded> {
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
            return Err(BudgetExceeded);
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
            // The last of duplicates in one mapping wins, but does not override a nearer mapping.
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

    fn pay(&self) -> Result<(), BudgetExceeded> {
        self.budget
            .set(self.budget.get().checked_sub(1).ok_or(BudgetExceeded)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Span, Tree, parse};

    fn tree(text: &str) -> Tree {
        parse(&Arc::from(text), Span::new(0, text.len()))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn the_search_through_merge_keys_that_multiply_each_other_ends() {
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
