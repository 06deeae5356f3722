//! Values with the place that each part of them came from.
//!
//! Rendering moves, merges and drops values, and each keeps its place; so a value that a patch
//! brings in still points at the patch, however deep it ends up.

use std::sync::Arc;

use crate::yaml::{Scalar, Span, resolve_plain};

use super::mapping::Mapping;
use super::share::Bond;

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

/// What a value holds; shared by copies as long as nothing changes it.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Leaf(Leaf),
    Map(Arc<Mapping>),
    Seq(Arc<Vec<Node>>),
}

/// A single value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// A string as it is read; anything else as it is written (`0x1F90`, `true`, nothing).
    pub(super) text: Arc<str>,
    /// It is a string.
    pub(super) is_text: bool,
    /// It is one node with others.
    pub(super) bond: Option<Bond>,
}

/// An entry of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: Arc<str>,
    /// The place of the key.
    pub(super) origin: Origin,
    pub(super) value: Node,
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
            value: Value::Map(Arc::default()),
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
        self.field(key).map(|field| &field.value)
    }

    /// Returns the entry `key` of a mapping.
    pub(super) fn field(&self, key: &str) -> Option<&Field> {
        match &self.value {
            Value::Map(fields) => fields.get(fields.position(key)?),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Map(fields) = &mut self.value else {
            return None;
        };
        let at = fields.position(key)?;
        Arc::make_mut(fields).value_mut(at)
    }

    pub(super) fn item_mut(&mut self, index: usize) -> Option<&mut Node> {
        match &mut self.value {
            Value::Seq(items) => Arc::make_mut(items).get_mut(index),
            _ => None,
        }
    }

    /// Changes the single values in it that are meant.
    pub(super) fn change_leaves(
        &mut self,
        is_meant: &dyn Fn(&Leaf) -> bool,
        change: &mut dyn FnMut(&mut Node),
    ) {
        if let Some(changed) = self.with_leaves(is_meant, change) {
            *self = changed;
        }
    }

    fn with_leaves(
        &self,
        is_meant: &dyn Fn(&Leaf) -> bool,
        change: &mut dyn FnMut(&mut Node),
    ) -> Option<Self> {
        match &self.value {
            Value::Leaf(leaf) => is_meant(leaf).then(|| {
                let mut changed = self.clone();
                change(&mut changed);
                changed
            }),
            _ => self.with_children(&mut |_, child| child.with_leaves(is_meant, change)),
        }
    }

    /// Returns the value with others in place of some that stand right in it, which `changed` is shown
    /// with their keys; nothing where all stay, so that what stays as it is stays shared.
    pub(super) fn with_children(
        &self,
        changed: &mut dyn FnMut(Option<&str>, &Self) -> Option<Self>,
    ) -> Option<Self> {
        let mut new = None;
        match &self.value {
            Value::Leaf(_) => {}
            Value::Seq(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(item) = changed(None, item) {
                        *new.get_or_insert_with(|| self.clone()).item_mut(at)? = item;
                    }
                }
            }
            Value::Map(fields) => {
                for (at, field) in fields.iter().enumerate() {
                    if let Some(value) = changed(Some(&field.key), &field.value) {
                        *new.get_or_insert_with(|| self.clone()).value_mut(at)? = value;
                    }
                }
            }
        }
        new
    }

    fn value_mut(&mut self, at: usize) -> Option<&mut Node> {
        match &mut self.value {
            Value::Map(fields) => Arc::make_mut(fields).value_mut(at),
            _ => None,
        }
    }

    /// Tells whether any of the single values in it is meant.
    pub(super) fn any_leaf(&self, is_meant: &dyn Fn(&Leaf) -> bool) -> bool {
        match &self.value {
            Value::Leaf(leaf) => is_meant(leaf),
            Value::Seq(items) => items.iter().any(|item| item.any_leaf(is_meant)),
            Value::Map(fields) => fields.iter().any(|field| field.value.any_leaf(is_meant)),
        }
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
        Arc::make_mut(fields).set(Field {
            key: key.into(),
            origin: key_origin.clone(),
            value,
        });
    }

    /// Takes the entry `key` out; tells whether there was one.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let Value::Map(fields) = &mut self.value else {
            return false;
        };
        let Some(at) = fields.position(key) else {
            return false;
        };
        Arc::make_mut(fields).remove(at).is_some()
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
            one.len() == other.len() && one.iter().zip(&**other).all(|(a, b)| equal(a, b))
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
