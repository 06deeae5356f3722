//! Values in which every part has an origin.
//!
//! Rendering moves, merges and removes values, and each keeps its origin: a value of a patch still points
//! to the patch after any number of steps. Collections are shared until they are changed. Those of a document are read from its
//! tree when they are needed: most kustomizations change only the name, the namespace and the labels of an object.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use meshprobe_yaml::{Kind, NodeRef, Scalar, Span, resolve_plain};

use crate::kustomize::members::{Member, Members, Source};

/// Value with its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Content of a value; clones share it until one of them is changed.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Leaf(Leaf),
    Map(Arc<Mapping>),
    Seq(Arc<Members<Node>>),
}

/// Entry of a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) key: Arc<str>,
    /// The origin of the key.
    pub(crate) origin: Origin,
    pub(crate) value: Node,
    /// Whether a kustomization set the value over another one, which would be left without it.
    pub(crate) is_override: bool,
}

impl Node {
    /// Creates a string.
    pub(crate) fn text_at(text: &str, origin: &Origin) -> Self {
        Self {
            value: Value::Leaf(Leaf {
                text: text.into(),
                is_text: true,
                shared_id: None,
            }),
            origin: origin.clone(),
        }
    }

    /// Creates a mapping without entries.
    pub(crate) fn empty_map(origin: &Origin) -> Self {
        Self {
            value: Value::Map(Arc::default()),
            origin: origin.clone(),
        }
    }

    /// Returns the collection of a document that the value equals; `None` for scalars and after changes.
    pub(crate) fn source(&self) -> Option<NodeRef<'_>> {
        let source = match &self.value {
            Value::Leaf(_) => None,
            Value::Map(fields) => fields.fields.source.as_ref(),
            Value::Seq(items) => items.source.as_ref(),
        }?;
        source.tree.node(source.id)
    }

    /// Returns whether there is a value at the end of `keys`.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        match (keys.split_first(), self.source()) {
            (None, _) => true,
            (_, Some(source)) => keys
                .iter()
                .try_fold(source, |node, key| node.get(key))
                .is_some(),
            (Some((key, rest)), None) => self.get(key).is_some_and(|value| value.has(rest)),
        }
    }

    /// Returns whether a scalar or a key of the value may contain `words`. `false` is certain.
    pub(crate) fn may_mention(&self, words: &str) -> bool {
        match (self.source(), &self.value) {
            // A string with escapes may contain any text.
            (Some(source), _) => source.source().contains(words) || source.source().contains('\\'),
            (None, Value::Leaf(leaf)) => leaf.text.contains(words),
            (None, Value::Seq(items)) => items.iter().any(|item| item.may_mention(words)),
            (None, Value::Map(fields)) => fields
                .iter()
                .any(|field| field.key.contains(words) || field.value.may_mention(words)),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Leaf(leaf) if leaf.is_null())
    }

    pub(crate) fn is_empty_map(&self) -> bool {
        matches!(&self.value, Value::Map(fields) if fields.is_empty())
    }

    /// Returns the text of a scalar, as kustomize compares it.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Leaf(leaf) => Some(&leaf.text),
            _ => None,
        }
    }

    /// Returns the entries of a mapping; none for other values.
    pub(crate) fn fields(&self) -> &[Field] {
        match &self.value {
            Value::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the items of a list; none for other values.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::Seq(items) => items.as_slice(),
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.field(key).map(|field| &field.value)
    }

    /// Returns the entry `key` of a mapping.
    pub(crate) fn field(&self, key: &str) -> Option<&Field> {
        self.fields().get(self.position(key)?)
    }

    /// Returns the position of the entry `key` of a mapping.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
        match &self.value {
            Value::Map(fields) => fields.position(key),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Map(fields) = &mut self.value else {
            return None;
        };
        let at = fields.position(key)?;
        Arc::make_mut(fields).value_mut(at)
    }

    pub(crate) fn item_mut(&mut self, index: usize) -> Option<&mut Node> {
        match &mut self.value {
            Value::Seq(items) => Arc::make_mut(items).get_mut(index),
            _ => None,
        }
    }

    /// Changes the selected scalars of the value.
    pub(crate) fn change_leaves(
        &mut self,
        is_selected: &dyn Fn(&Leaf) -> bool,
        change: &mut dyn FnMut(&mut Node),
    ) {
        if let Some(changed) = self.with_leaves(is_selected, change) {
            *self = changed;
        }
    }

    fn with_leaves(
        &self,
        is_selected: &dyn Fn(&Leaf) -> bool,
        change: &mut dyn FnMut(&mut Node),
    ) -> Option<Self> {
        match &self.value {
            Value::Leaf(leaf) => is_selected(leaf).then(|| {
                let mut changed = self.clone();
                change(&mut changed);
                changed
            }),
            _ => self.with_children(&mut |_, child| child.with_leaves(is_selected, change)),
        }
    }

    /// Returns the value with some direct children replaced. Calls `changed` with the key and the value of each
    /// child; `None` keeps the child. Returns `None` if all children are kept, so that unchanged values
    /// remain shared.
    pub(crate) fn with_children(
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

    /// Returns whether any scalar of the value is selected.
    pub(crate) fn any_leaf(&self, is_selected: &dyn Fn(&Leaf) -> bool) -> bool {
        match &self.value {
            Value::Leaf(leaf) => is_selected(leaf),
            Value::Seq(items) => items.iter().any(|item| item.any_leaf(is_selected)),
            Value::Map(fields) => fields.iter().any(|field| field.value.any_leaf(is_selected)),
        }
    }

    /// Returns the text at the end of `keys`, or the empty string.
    pub(crate) fn text_below(&self, keys: &[&str]) -> &str {
        let found = keys.iter().try_fold(self, |node, key| node.get(key));
        found.and_then(Self::text).unwrap_or_default()
    }

    /// Sets the entry `key` of a mapping; does nothing for other values.
    pub(crate) fn set(&mut self, key: &str, key_origin: &Origin, value: Node) {
        let Value::Map(fields) = &mut self.value else {
            return;
        };
        Arc::make_mut(fields).set(Field {
            key: key.into(),
            origin: key_origin.clone(),
            value,
            is_override: false,
        });
    }

    /// Removes the entry `key`. Returns whether there was one.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        let Value::Map(fields) = &mut self.value else {
            return false;
        };
        let Some(at) = fields.position(key) else {
            return false;
        };
        Arc::make_mut(fields).remove(at).is_some()
    }

    /// Returns the number of nodes and the depth of their nesting.
    pub(crate) fn measure(&self) -> (usize, usize) {
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

/// Returns whether two values have the same typed content, whatever the order of their keys.
pub(crate) fn equal(left: &Node, right: &Node) -> bool {
    match (&left.value, &right.value) {
        (Value::Leaf(left), Value::Leaf(right)) => left.scalar() == right.scalar(),
        (Value::Seq(left), Value::Seq(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Map(fields), Value::Map(others)) => {
            let is_same = |field: &Field| {
                right
                    .get(&field.key)
                    .is_some_and(|value| equal(&field.value, value))
            };
            fields.len() == others.len() && fields.iter().all(is_same)
        }
        _ => false,
    }
}

impl Field {
    /// Returns the entry as a replacement of another one.
    pub(crate) fn over(self, other: &Self) -> Self {
        let is_override = other.is_override || !equal(&self.value, &other.value);
        Self {
            is_override,
            ..self
        }
    }
}

/// Up to this number of entries, a linear search is faster than an index.
const SCANNED: usize = 32;

/// Entries of a mapping, with an index of the keys.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    fields: Members<Field>,
    /// Positions of the keys of a long mapping, filled by the first search.
    positions: OnceLock<Box<HashMap<Arc<str>, usize>>>,
    /// Whether entries were removed. Each removal moves other entries and would need a new index, so there is none.
    is_shortened: bool,
}

impl Default for Mapping {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<S: Into<Members<Field>>> From<S> for Mapping {
    fn from(fields: S) -> Self {
        Self {
            fields: fields.into(),
            positions: OnceLock::new(),
            is_shortened: false,
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
    /// Returns the position of the entry `key`; the first if there are several.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
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

    /// Returns the value of an entry for modification.
    pub(crate) fn value_mut(&mut self, at: usize) -> Option<&mut Node> {
        Some(&mut self.fields.get_mut(at)?.value)
    }

    /// Returns all values for modification.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.fields.iter_mut().map(|field| &mut field.value)
    }

    /// Replaces the entry with the same key, or appends one.
    pub(crate) fn set(&mut self, field: Field) {
        let known = self.position(&field.key);
        if let Some(known) = known.and_then(|at| self.fields.get_mut(at)) {
            *known = field.over(known);
            return;
        }
        if let Some(positions) = self.positions.get_mut() {
            positions.insert(Arc::clone(&field.key), self.fields.len());
        }
        self.fields.push(field);
    }

    /// Removes an entry and returns its value.
    pub(crate) fn remove(&mut self, at: usize) -> Option<Node> {
        if at >= self.fields.len() {
            return None;
        }
        self.is_shortened = true;
        self.positions = OnceLock::new();
        Some(self.fields.remove(at).value)
    }
}

/// Location in a file of the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Origin {
    /// The file as shown to the user.
    pub(crate) path: Arc<str>,
    /// Bytes of that file.
    pub(crate) span: Span,
}

/// Scalar.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The decoded text of a string; the source text of anything else (`0x1F90`, `true`, or empty).
    pub(crate) text: Arc<str>,
    /// Whether it is a string.
    pub(crate) is_text: bool,
    /// Set if other values of the object are the same node.
    pub(crate) shared_id: Option<SharedNodeId>,
}

impl Leaf {
    /// Returns the typed value.
    pub(crate) fn scalar(&self) -> Scalar<'_> {
        if self.is_text {
            Scalar::Str(&self.text)
        } else {
            resolve_plain(&self.text)
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.scalar() == Scalar::Null
    }
}

/// Identity of a shared node: all values with the same id are one node in kustomize.
pub(crate) type SharedNodeId = Arc<Origin>;

impl Member for Node {
    fn read(collection: NodeRef<'_>, source: &Source) -> Vec<Self> {
        collection.items().map(|item| node(item, source)).collect()
    }
}

impl Member for Field {
    fn read(collection: NodeRef<'_>, source: &Source) -> Vec<Self> {
        let entries = collection.entries();
        entries
            .map(|entry| Self {
                key: entry.key.text().unwrap_or_default().into(),
                origin: source.origin(entry.key),
                value: node(entry.value, source),
                is_override: false,
            })
            .collect()
    }
}

/// Reads a value of the document of `of`.
pub(crate) fn node(value: NodeRef<'_>, of: &Source) -> Node {
    let source = || Source {
        id: value.id(),
        ..of.clone()
    };
    Node {
        origin: of.origin(value),
        value: match value.kind() {
            Kind::Mapping => Value::Map(Arc::new(Mapping::from(source()))),
            Kind::Sequence => Value::Seq(Arc::new(source().into())),
            Kind::Scalar | Kind::Alias => Value::Leaf(leaf(value)),
        },
    }
}

pub(crate) fn leaf(scalar: NodeRef<'_>) -> Leaf {
    Leaf {
        text: scalar.text().unwrap_or_default().into(),
        is_text: is_text(scalar),
        shared_id: None,
    }
}

/// Returns whether kustomize reads a scalar as a string.
pub(crate) fn is_text(scalar: NodeRef<'_>) -> bool {
    matches!(scalar.scalar(), Some(Scalar::Str(_))) || is_boolean_word(scalar)
}

/// Returns whether `source` is `yes`, `on`, `y` or the like: kustomize reads it as a string, the tools that
/// read its output as a boolean.
pub(crate) fn is_boolean_word(source: NodeRef<'_>) -> bool {
    let text = source.text().unwrap_or_default();
    let is_plain = ["true", "false"]
        .iter()
        .any(|literal| text.eq_ignore_ascii_case(literal));
    !is_plain && matches!(source.scalar(), Some(Scalar::Bool(_)))
}

impl Source {
    pub(crate) fn origin(&self, node: NodeRef<'_>) -> Origin {
        Origin {
            path: Arc::clone(&self.path),
            span: node.span(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::node::Origin;
    use meshprobe_yaml::Span;

    fn field(number: usize) -> Field {
        let origin = Origin {
            path: "a.yaml".into(),
            span: Span::empty(number),
        };
        Field {
            key: format!("k{number}").into(),
            value: Node::text_at("v", &origin),
            origin,
            is_override: false,
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
