//! Merge keys behind keys that they override.
//!
//! go-yaml 2 (kubectl) applies `<<` where it is written, so its entries override the keys above
//! it. In go-yaml 3 (kustomize) the own keys of a mapping win wherever they are written.
//! Source: go.yaml.in/yaml/v2 2.4, `decode.go`; v3 3.0, `decode.go`.

use std::cell::Cell;

use hashbrown::HashMap;

use crate::yaml::merge::{effective_entries, key_text};
use crate::yaml::tree::{Entry, Kind, NodeRef, Tree};

use super::{Ambiguity, AmbiguityKind, shown};

/// Entries that are looked at beyond the size of the document; more is an attack.
const BUDGET: usize = 250_000;

/// Reports the keys of mappings that kubectl and kustomize give different values.
pub(super) fn find(tree: &Tree) -> Vec<Ambiguity> {
    if !tree.has_merge_keys() {
        return Vec::new();
    }
    let budget = Cell::new(tree.node_count().saturating_add(BUDGET));
    let mappings = tree.all().filter(|node| node.kind() == Kind::Mapping);
    mappings
        .filter(|mapping| mapping.has_merge_key())
        .flat_map(|mapping| conflicts(mapping, &budget))
        .collect()
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
        let Some(merged) = merged_entries(entry.value, budget) else {
            found.push(Ambiguity {
                kind: AmbiguityKind::MergeOrder,
                span: entry.key.span(),
                message: "the merge keys of the document stand for too many entries".to_owned(),
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
                // Another merge key may follow, which overrides this one.
                None => drop(above.insert(key, new)),
            }
        }
        found.extend(conflict(entry, &overridden));
    }
    found
}

/// Describes the first of the keys that a merge key overrides; `None` where there are none.
fn conflict(merge: Entry<'_>, overridden: &[(Entry<'_>, Entry<'_>)]) -> Option<Ambiguity> {
    let ((own, new), more) = overridden.split_first()?;
    let (key, by_kubectl, by_kustomize) = (own.key.source(), shown(new.value), shown(own.value));
    let mut message = format!(
        "`{}` overrides the `{key}` above it for kubectl, which reads {by_kubectl}; kustomize reads \
         {by_kustomize}",
        merge.key.source()
    );
    if !more.is_empty() {
        message.push_str(&format!(" ({} more of its keys differ)", more.len()));
    }
    Some(Ambiguity {
        kind: AmbiguityKind::MergeOrder,
        span: own.key.span(),
        message,
        help: "move `<<` above the keys of the mapping: all tools then read those",
    })
}

/// Returns the entries that a merge key brings in; `None` beyond the budget.
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

/// Tells whether two nodes are read as the same value; what is too large counts as different.
fn equal(one: NodeRef<'_>, other: NodeRef<'_>, budget: &Cell<usize>) -> bool {
    let (one, other) = (one.resolved(), other.resolved());
    if one == other {
        return true;
    }
    let Some(left) = budget.get().checked_sub(1) else {
        return false;
    };
    budget.set(left);
    match (one.kind(), other.kind()) {
        (Kind::Scalar, Kind::Scalar) => {
            one.scalar() == other.scalar()
                || (one.text() == other.text()
                    && one.tag() == other.tag()
                    && one.style() == other.style())
        }
        (Kind::Sequence, Kind::Sequence) => {
            one.items().len() == other.items().len()
                && one
                    .items()
                    .zip(other.items())
                    .all(|(one, other)| equal(one, other, budget))
        }
        (Kind::Mapping, Kind::Mapping) => {
            let entries = |node| effective_entries(node, budget).ok();
            let (Some(ones), Some(others)) = (entries(one), entries(other)) else {
                return false;
            };
            let keyed = others
                .iter()
                .filter_map(|entry| Some((key_text(entry.key)?, entry.value)));
            let keyed: HashMap<_, _> = keyed.collect();
            ones.len() == others.len()
                && ones.iter().all(|entry| {
                    let value = key_text(entry.key).and_then(|key| keyed.get(&key).copied());
                    value.is_some_and(|value| equal(entry.value, value, budget))
                })
        }
        _ => false,
    }
}
