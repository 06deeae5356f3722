//! Effective entries of a mapping: merge keys are applied, and the last of duplicate keys wins. Documents in which tools
//! apply them in another order are ambiguous.

use std::borrow::Cow;
use std::cell::Cell;

use hashbrown::HashMap;

use crate::scalar::Scalar;
use crate::span::Span;
use crate::tree::{Entry, Kind, MERGE_DEPTH, NodeRef, Tree};

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

/// A part of a document that has more than one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The span in the file to report.
    pub span: Span,
    /// The different readings, in one sentence.
    pub message: String,
    /// How to resolve the ambiguity.
    pub help: &'static str,
}

/// Limit on the entries that are visited, in addition to the size of the document; a document that needs more is an
/// attack.
const BUDGET: usize = 250_000;

/// Returns the keys of mappings for which kubectl and kustomize read different values, in the order of the text.
#[must_use]
pub fn ambiguities(tree: &Tree) -> Vec<Ambiguity> {
    if !tree.has_merge_keys() {
        return Vec::new();
    }
    let budget = Cell::new(tree.node_count().saturating_add(BUDGET));
    let mut found: Vec<Ambiguity> = tree
        .all()
        .filter(|node| node.kind() == Kind::Mapping && node.has_merge_key())
        .flat_map(|mapping| conflicts(mapping, &budget))
        .collect();
    found.sort_by_key(|ambiguity| ambiguity.span);
    found
}

fn conflicts(mapping: NodeRef<'_>, budget: &Cell<usize>) -> Vec<Ambiguity> {
    let mut above: HashMap<_, Entry<'_>> = HashMap::new();
    let mut found = Vec::new();
    for entry in mapping.entries() {
        if !entry.key.is_merge_key() {
            if let Some(key) = key_text(entry.key) {
                above.insert(key, entry);
            }
            continue;
        }
        if !is_mergeable(entry.value) {
            found.push(not_mergeable(entry));
            continue;
        }
        let Some(merged) = merged_entries(entry.value, budget) else {
            found.push(Ambiguity {
                span: entry.key.span(),
                message: "the merge keys of the document expand to too many entries".to_owned(),
                help: "write the entries out",
            });
            break;
        };
        let mut overridden = Vec::new();
        for new in merged {
            let Some(key) = key_text(new.key) else {
                continue;
            };
            match above.get(&key) {
                Some(own) if !equal(own.value, new.value, budget) => overridden.push((*own, new)),
                Some(_) => {}
                // A later merge key may override this entry.
                None => drop(above.insert(key, new)),
            }
        }
        found.extend(conflict(entry, &overridden));
    }
    found
}

/// Returns whether a value is a mapping or a list of mappings, or an alias of a mapping.
fn is_mergeable(value: NodeRef<'_>) -> bool {
    let is_mapping = |node: NodeRef<'_>| node.resolved().kind() == Kind::Mapping;
    is_mapping(value) || (value.kind() == Kind::Sequence && value.items().all(is_mapping))
}

fn not_mergeable(merge: Entry<'_>) -> Ambiguity {
    Ambiguity {
        span: merge.key.span(),
        message: format!(
            "kubectl rejects a merge key whose value is not a mapping: {}",
            excerpt(merge.value)
        ),
        help: "delete the merge key, or quote it if it is a key of its own",
    }
}

/// Describes the first of the keys that a merge key overrides; `None` if it overrides none.
fn conflict(merge: Entry<'_>, overridden: &[(Entry<'_>, Entry<'_>)]) -> Option<Ambiguity> {
    let ((own, new), more) = overridden.split_first()?;
    let (key, by_kubectl, by_kustomize) =
        (own.key.source(), excerpt(new.value), excerpt(own.value));
    let mut message = format!(
        "`{}` overrides the `{key}` above it for kubectl, which reads {by_kubectl}; kustomize reads \
         {by_kustomize}",
        merge.key.source()
    );
    if !more.is_empty() {
        message.push_str(&format!(" ({} more of its keys differ)", more.len()));
    }
    Some(Ambiguity {
        span: own.key.span(),
        message,
        help: "move `<<` above the other keys of the mapping; all tools then read these keys",
    })
}

/// Returns the entries that a merge key adds; `None` if they exceed the budget.
fn merged_entries<'t>(value: NodeRef<'t>, budget: &Cell<usize>) -> Option<Vec<Entry<'t>>> {
    let bases = std::iter::once(value).chain(value.items());
    let mut all: Vec<Entry<'t>> = Vec::new();
    let mut known: HashMap<_, ()> = HashMap::new();
    for base in bases.filter(|base| base.is_mapping()) {
        for entry in effective_entries(base, budget).ok()? {
            let is_new = key_text(entry.key).is_some_and(|key| known.insert(key, ()).is_none());
            if is_new {
                all.push(entry);
            }
        }
    }
    Some(all)
}

/// Returns whether two nodes have the same value; values that exceed the budget count as different.
fn equal(left: NodeRef<'_>, right: NodeRef<'_>, budget: &Cell<usize>) -> bool {
    let (left, right) = (left.resolved(), right.resolved());
    if left == right {
        return true;
    }
    let Some(remaining) = budget.get().checked_sub(1) else {
        return false;
    };
    budget.set(remaining);
    match (left.kind(), right.kind()) {
        (Kind::Scalar, Kind::Scalar) => {
            left.scalar() == right.scalar()
                || (left.text() == right.text()
                    && left.tag() == right.tag()
                    && left.style() == right.style())
        }
        (Kind::Sequence, Kind::Sequence) => {
            left.items().len() == right.items().len()
                && left
                    .items()
                    .zip(right.items())
                    .all(|(left, right)| equal(left, right, budget))
        }
        (Kind::Mapping, Kind::Mapping) => {
            let entries = |node| effective_entries(node, budget).ok();
            let (Some(left), Some(right)) = (entries(left), entries(right)) else {
                return false;
            };
            let by_key: HashMap<_, _> = right
                .iter()
                .filter_map(|entry| Some((key_text(entry.key)?, entry.value)))
                .collect();
            left.len() == right.len()
                && left.iter().all(|entry| {
                    let value = key_text(entry.key).and_then(|key| by_key.get(&key).copied());
                    value.is_some_and(|value| equal(entry.value, value, budget))
                })
        }
        _ => false,
    }
}

/// Returns the start of the source of a node, on one line, for a message.
fn excerpt(node: NodeRef<'_>) -> String {
    let source = node.resolved().source();
    let line = source.lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(60).collect();
    if short.len() == source.len() {
        format!("`{short}`")
    } else {
        format!("`{short}…`")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Span, Tree, ambiguities, parse};

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

    #[test]
    fn merge_keys_after_keys_that_they_override_are_reported() {
        let base = "x: &x {path: /h, port: 8080, list: [a, {b: c}]}\n";
        let with = |rest: &str| {
            let text: Arc<str> = format!("{base}{rest}").into();
            let tree = parse(&text, Span::new(0, str::len(&text))).unwrap();
            let found = ambiguities(&tree.unwrap()).into_iter();
            let keys = found.map(|ambiguity| ambiguity.span.slice(&text).to_owned());
            keys.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(with("y:\n  path: /r\n  <<: *x\n"), "path");
        assert_eq!(with("y: {list: [a, {b: d}], <<: [{q: r}, *x]}\n"), "list");
        assert_eq!(with("y:\n  <<: {port: 1}\n  <<: *x\n"), "port");
        for fine in [
            "y:\n  <<: *x\n  path: /r\n",
            "y:\n  path: /h\n  list: [a, {\"b\": c}]\n  <<: *x\n",
            "y:\n  other: /r\n  <<: *x\n",
            "y:\n  path: /r\n  \"<<\": *x\n",
        ] {
            assert_eq!(with(fine), "", "{fine}");
        }
    }
}
