//! Values with the place that each part of them came from.
//!
//! Rendering moves, merges and drops values, and each keeps its place; so a value that a patch
//! brings in still points at the patch, however deep it ends up.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::yaml::{Entry, Kind, NodeRef, Scalar, Span, resolve_plain};

use super::share::Bond;

/// Nodes of one document at most, aliases written out; more is an attack.
pub(super) const NODES: usize = 200_000;
/// How deep merge keys may lead from mapping to mapping.
const MERGE_DEPTH: usize = 16;

/// A place in a file that the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Origin {
    /// The file as shown to the user.
    pub(super) path: Arc<str>,
    /// Bytes of that file.
    pub(super) span: Span,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Leaf(Leaf),
    Map(Vec<Field>),
    Seq(Vec<Node>),
}

/// A single value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// A string as it is read; anything else as it is written (`0x1F90`, `true`, nothing).
    pub(super) text: Box<str>,
    /// It is a string.
    pub(super) is_text: bool,
    /// It is one node with others.
    pub(super) bond: Option<Bond>,
}

/// An entry of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: Box<str>,
    /// The place of the key.
    pub(super) origin: Origin,
    pub(super) value: Node,
}

/// A document holds more than [`NODES`] nodes.
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
    let node = reader.node(source)?;
    Ok(Copied {
        node,
        is_reread: reader.is_reread.get(),
    })
}

struct Reader<'p> {
    place: &'p dyn Fn(Span) -> Origin,
    budget: Cell<usize>,
    is_reread: Cell<bool>,
}

impl Reader<'_> {
    fn node(&self, source: NodeRef<'_>) -> Result<Node, TooLarge> {
        self.pay()?;
        let origin = (self.place)(source.span());
        let source = source.resolved();
        let value = match source.kind() {
            Kind::Mapping => self.mapping(source)?,
            Kind::Sequence => {
                let items = source.items().map(|item| self.node(item));
                Value::Seq(items.collect::<Result<_, _>>()?)
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

    /// kustomize reads `yes`, `on`, `y` as strings, other than the tools that read its output.
    fn is_text(&self, source: NodeRef<'_>) -> bool {
        match (source.scalar(), source.text()) {
            (Some(Scalar::Str(_)), _) => true,
            (Some(Scalar::Bool(_)), Some(text)) => {
                let is_word =
                    !text.eq_ignore_ascii_case("true") && !text.eq_ignore_ascii_case("false");
                self.is_reread.set(self.is_reread.get() || is_word);
                is_word
            }
            _ => false,
        }
    }

    fn mapping(&self, source: NodeRef<'_>) -> Result<Value, TooLarge> {
        let mut fields: Vec<Field> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for entry in self.entries(source, MERGE_DEPTH)? {
            let key = entry.key.text().unwrap_or_default();
            // Own entries come first, and of two equal ones the last counts.
            let at = known.get(key).copied();
            if at.is_some() && entry.merged {
                continue;
            }
            let field = Field {
                key: key.into(),
                origin: (self.place)(entry.key.span()),
                value: self.node(entry.value)?,
            };
            match at.and_then(|at| fields.get_mut(at)) {
                Some(slot) => *slot = field,
                None => {
                    known.insert(key, fields.len());
                    fields.push(field);
                }
            }
        }
        Ok(Value::Map(fields))
    }

    fn entries<'t>(&self, map: NodeRef<'t>, depth: usize) -> Result<Vec<Entry<'t>>, TooLarge> {
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

impl Leaf {
    /// Returns the typed value.
    pub(super) fn scalar(&self) -> Scalar<'_> {
        if self.is_text {
            Scalar::Str(&self.text)
        } else {
            resolve_plain(&self.text)
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.scalar() == Scalar::Null
    }
}

impl Node {
    /// Returns a string.
    pub(super) fn text_at(text: &str, origin: &Origin) -> Self {
        Self {
            value: Value::Leaf(Leaf {
                text: text.into(),
                is_text: true,
                bond: None,
            }),
            origin: origin.clone(),
        }
    }

    /// Returns a mapping without entries.
    pub(super) fn empty_map(origin: &Origin) -> Self {
        Self {
            value: Value::Map(Vec::new()),
            origin: origin.clone(),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Leaf(leaf) if leaf.is_null())
    }

    pub(super) fn is_empty_map(&self) -> bool {
        matches!(&self.value, Value::Map(fields) if fields.is_empty())
    }

    /// Returns the text of a single value, as kustomize compares it.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Leaf(leaf) => Some(&leaf.text),
            _ => None,
        }
    }

    /// Returns the entries of a mapping; none for all else.
    pub(super) fn fields(&self) -> &[Field] {
        match &self.value {
            Value::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the items of a list; none for all else.
    pub(super) fn items(&self) -> &[Node] {
        match &self.value {
            Value::Seq(items) => items,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let found = self.fields().iter().find(|field| *field.key == *key);
        found.map(|field| &field.value)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Map(fields) = &mut self.value else {
            return None;
        };
        let found = fields.iter_mut().find(|field| *field.key == *key);
        found.map(|field| &mut field.value)
    }

    /// Returns the text at the end of `keys`, or the empty string.
    pub(super) fn text_below(&self, keys: &[&str]) -> &str {
        let found = keys.iter().try_fold(self, |node, key| node.get(key));
        found.and_then(Self::text).unwrap_or_default()
    }

    /// Gives the entry `key` this value; a mapping is expected.
    pub(super) fn set(&mut self, key: &str, key_origin: &Origin, value: Node) {
        let Value::Map(fields) = &mut self.value else {
            return;
        };
        let field = Field {
            key: key.into(),
            origin: key_origin.clone(),
            value,
        };
        match fields.iter_mut().find(|known| *known.key == *key) {
            Some(known) => *known = field,
            None => fields.push(field),
        }
    }

    /// Takes the entry `key` out; tells whether there was one.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let Value::Map(fields) = &mut self.value else {
            return false;
        };
        let before = fields.len();
        fields.retain(|field| *field.key != *key);
        fields.len() < before
    }

    /// Counts the nodes and measures how deep they stand in each other.
    pub(super) fn measure(&self) -> (usize, usize) {
        let below = |(nodes, depth): (usize, usize), child: &Self| {
            let (more, deeper) = child.measure();
            (nodes + more, depth.max(deeper + 1))
        };
        match &self.value {
            Value::Leaf(_) => (1, 0),
            Value::Map(fields) => fields.iter().map(|field| &field.value).fold((1, 0), below),
            Value::Seq(items) => items.iter().fold((1, 0), below),
        }
    }
}

/// Tells whether two values are the same once read, whatever the order of their keys.
pub(super) fn equal(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Leaf(one), Value::Leaf(other)) => one.scalar() == other.scalar(),
        (Value::Seq(one), Value::Seq(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal(a, b))
        }
        (Value::Map(fields), Value::Map(others)) => {
            let same = |field: &Field| {
                let there = other.get(&field.key);
                there.is_some_and(|value| equal(&field.value, value))
            };
            fields.len() == others.len() && fields.iter().all(same)
        }
        _ => false,
    }
}
