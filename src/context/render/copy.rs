//! Copies values from a document, each with its place.

use std::cell::Cell;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::yaml::{Entry, Kind, NodeRef, Scalar, Span};

use super::node::{Field, Leaf, Node, Origin, Value};

/// Nodes of one document at most, aliases written out; more is an attack.
pub(super) const NODES: usize = 200_000;
/// Keys of so many entries are found faster by looking at each.
const FEW: usize = 24;
/// How deep values may stand in each other, aliases written out: what holds itself has no end.
const DEPTH: usize = 512;
/// How deep merge keys may lead from mapping to mapping.
const MERGE_DEPTH: usize = 16;

/// A document holds more than [`NODES`] nodes, or nests deeper than [`DEPTH`].
#[derive(Debug)]
pub(super) struct TooLarge;

/// What [`read`] copied.
pub(super) struct Copied {
    pub(super) node: Node,
    /// Something means to kustomize what it does not mean to other tools.
    pub(super) is_reread: bool,
}

/// Copies what `source` holds, aliases and merge keys followed; `place` tells where bytes of its
/// text stand for the user.
pub(super) fn read(
    source: NodeRef<'_>,
    place: &dyn Fn(Span) -> Origin,
) -> Result<Copied, TooLarge> {
    let reader = Reader {
        place,
        budget: Cell::new(NODES),
        is_reread: Cell::new(false),
    };
    let node = reader.node(source, DEPTH)?;
    Ok(Copied {
        node,
        is_reread: reader.is_reread.get(),
    })
}

/// Tells whether a scalar in `source`, which has no anchors and merge keys, means to kustomize what it
/// does not mean to other tools.
pub(super) fn is_reread(source: NodeRef<'_>) -> bool {
    match source.kind() {
        Kind::Mapping => source.entries().any(|entry| is_reread(entry.value)),
        Kind::Sequence => source.items().any(is_reread),
        Kind::Scalar | Kind::Alias => is_word(source),
    }
}

/// kustomize reads `yes`, `on`, `y` as strings, other than the tools that read its output.
fn is_word(source: NodeRef<'_>) -> bool {
    let text = source.text().unwrap_or_default();
    let is_plain = ["true", "false"]
        .iter()
        .any(|one| text.eq_ignore_ascii_case(one));
    !is_plain && matches!(source.scalar(), Some(Scalar::Bool(_)))
}

struct Reader<'p> {
    place: &'p dyn Fn(Span) -> Origin,
    budget: Cell<usize>,
    is_reread: Cell<bool>,
}

impl Reader<'_> {
    fn node(&self, source: NodeRef<'_>, depth: usize) -> Result<Node, TooLarge> {
        self.pay()?;
        let depth = depth.checked_sub(1).ok_or(TooLarge)?;
        let origin = (self.place)(source.span());
        let source = source.resolved();
        let value = match source.kind() {
            Kind::Mapping => self.mapping(source, depth)?,
            Kind::Sequence => {
                let items = source.items().map(|item| self.node(item, depth));
                Value::Seq(Arc::new(items.collect::<Result<_, _>>()?))
            }
            Kind::Scalar | Kind::Alias => {
                let text = source.text().unwrap_or_default();
                Value::Leaf(Leaf {
                    text: text.into(),
                    is_text: self.is_text(source),
                    bond: None,
                })
            }
        };
        Ok(Node { value, origin })
    }

    fn is_text(&self, source: NodeRef<'_>) -> bool {
        match source.scalar() {
            Some(Scalar::Str(_)) => true,
            Some(Scalar::Bool(_)) => {
                let is_word = is_word(source);
                self.is_reread.set(self.is_reread.get() || is_word);
                is_word
            }
            _ => false,
        }
    }

    fn mapping(&self, source: NodeRef<'_>, depth: usize) -> Result<Value, TooLarge> {
        let entries = self.entries(source, MERGE_DEPTH)?;
        let mut fields: Vec<Field> = Vec::with_capacity(entries.len());
        let is_large = entries.len() > FEW;
        let mut known: HashMap<&str, usize> = HashMap::new();
        for entry in entries {
            let key = entry.key.text().unwrap_or_default();
            // Own entries come first, and of two equal ones the last counts.
            let at = if is_large {
                known.get(key).copied()
            } else {
                fields.iter().position(|field| *field.key == *key)
            };
            if at.is_some() && entry.merged {
                continue;
            }
            let field = Field {
                key: key.into(),
                origin: (self.place)(entry.key.span()),
                value: self.node(entry.value, depth)?,
            };
            match at.and_then(|at| fields.get_mut(at)) {
                Some(slot) => *slot = field,
                None => {
                    if is_large {
                        known.insert(key, fields.len());
                    }
                    fields.push(field);
                }
            }
        }
        Ok(Value::Map(Arc::new(fields.into())))
    }

    fn entries<'t>(&self, map: NodeRef<'t>, depth: usize) -> Result<Vec<Entry<'t>>, TooLarge> {
        if !map.has_merge_key() {
            return Ok(map.entries().collect());
        }
        let (merges, mut own): (Vec<_>, Vec<_>) =
            map.entries().partition(|entry| entry.key.is_merge_key());
        let Some(depth) = depth.checked_sub(1) else {
            return Err(TooLarge);
        };
        for merge in merges {
            let bases = std::iter::once(merge.value).chain(merge.value.items());
            for base in bases.filter(|base| base.is_mapping()) {
                self.pay()?;
                let brought = self.entries(base, depth)?;
                own.extend(brought.into_iter().map(|entry| Entry {
                    merged: true,
                    ..entry
                }));
            }
        }
        Ok(own)
    }

    fn pay(&self) -> Result<(), TooLarge> {
        let left = self.budget.get().checked_sub(1).ok_or(TooLarge)?;
        self.budget.set(left);
        Ok(())
    }
}
