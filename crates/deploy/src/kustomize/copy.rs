//! Copies values from a document, each with its origin.

use std::cell::Cell;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::limits::OBJECT_VALUES;
use meshprobe_yaml::{Entry, Kind, NodeRef, Scalar, Span};

use crate::kustomize::leaf::{Leaf, Origin};
use crate::kustomize::node::{Field, Mapping, Node, Value};

/// Up to this number of entries, searching each key is faster than an index.
const FEW: usize = 24;
/// Maximum depth of nested values with aliases expanded: a value that contains itself has no end.
const DEPTH: usize = 512;
/// Maximum depth of mappings that merge keys include.
const MERGE_DEPTH: usize = 16;

/// Error for a document with more than [`OBJECT_VALUES`] nodes, or nested deeper than [`DEPTH`].
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Result of [`read`].
pub(crate) struct Copied {
    pub(crate) node: Node,
    /// Whether kustomize reads a value differently from other tools.
    pub(crate) is_reread: bool,
}

/// What is copied of equal keys of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EqualKeys {
    /// The last one, as most tools read them.
    Last,
    /// All of them, as in strategic merge patches; a search finds the first one.
    All,
}

/// Copies the value `source` and resolves aliases and merge keys. `place` maps bytes of its text to the
/// user's files.
///
/// # Errors
/// The value is too large.
pub(crate) fn read(
    source: NodeRef<'_>,
    place: &dyn Fn(Span) -> Origin,
) -> Result<Copied, TooLarge> {
    read_with(source, EqualKeys::Last, place)
}

/// Copies the value `source` like [`read`], with one or all of equal keys.
///
/// # Errors
/// The value is too large.
pub(crate) fn read_with(
    source: NodeRef<'_>,
    equal_keys: EqualKeys,
    place: &dyn Fn(Span) -> Origin,
) -> Result<Copied, TooLarge> {
    let reader = Reader {
        place,
        equal_keys,
        budget: Cell::new(OBJECT_VALUES),
        is_reread: Cell::new(false),
    };
    let node = reader.node(source, DEPTH)?;
    Ok(Copied {
        node,
        is_reread: reader.is_reread.get(),
    })
}

/// Returns whether kustomize reads a scalar in `source`, which has no anchors and merge keys, differently
/// from other tools.
pub(crate) fn is_reread(source: NodeRef<'_>) -> bool {
    match source.kind() {
        Kind::Mapping => source.entries().any(|entry| is_reread(entry.value)),
        Kind::Sequence => source.items().any(is_reread),
        Kind::Scalar | Kind::Alias => is_boolean_word(source),
    }
}

/// Returns whether `source` is `yes`, `on`, `y` or the like: kustomize reads it as a string, the tools that
/// read its output as a boolean.
fn is_boolean_word(source: NodeRef<'_>) -> bool {
    let text = source.text().unwrap_or_default();
    let is_plain = ["true", "false"]
        .iter()
        .any(|literal| text.eq_ignore_ascii_case(literal));
    !is_plain && matches!(source.scalar(), Some(Scalar::Bool(_)))
}

struct Reader<'p> {
    place: &'p dyn Fn(Span) -> Origin,
    equal_keys: EqualKeys,
    budget: Cell<usize>,
    is_reread: Cell<bool>,
}

impl Reader<'_> {
    fn node(&self, source: NodeRef<'_>, depth: usize) -> Result<Node, TooLarge> {
        self.count_node()?;
        let depth = depth.checked_sub(1).ok_or(TooLarge)?;
        let origin = (self.place)(source.span());
        let source = source.resolved();
        let value = match source.kind() {
            Kind::Mapping => self.mapping(source, depth)?,
            Kind::Sequence => {
                let items = source.items().map(|item| self.node(item, depth));
                Value::Seq(Arc::new(items.collect::<Result<Vec<_>, _>>()?))
            }
            Kind::Scalar | Kind::Alias => {
                let text = source.text().unwrap_or_default();
                Value::Leaf(Leaf {
                    text: text.into(),
                    is_text: self.is_text(source),
                    shared_id: None,
                })
            }
        };
        Ok(Node { value, origin })
    }

    fn is_text(&self, source: NodeRef<'_>) -> bool {
        match source.scalar() {
            Some(Scalar::Str(_)) => true,
            Some(Scalar::Bool(_)) => {
                let is_boolean_word = is_boolean_word(source);
                self.is_reread.set(self.is_reread.get() || is_boolean_word);
                is_boolean_word
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
            // The entries of the mapping itself come first.
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
                is_override: false,
            };
            match at.and_then(|at| fields.get_mut(at)) {
                Some(slot) if self.equal_keys == EqualKeys::Last => *slot = field,
                _ => {
                    if is_large {
                        known.entry(key).or_insert(fields.len());
                    }
                    fields.push(field);
                }
            }
        }
        Ok(Value::Map(Arc::new(Mapping::from(fields))))
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
                self.count_node()?;
                let included = self.entries(base, depth)?;
                own.extend(included.into_iter().map(|entry| Entry {
                    merged: true,
                    ..entry
                }));
            }
        }
        Ok(own)
    }

    fn count_node(&self) -> Result<(), TooLarge> {
        let left = self.budget.get().checked_sub(1).ok_or(TooLarge)?;
        self.budget.set(left);
        Ok(())
    }
}
