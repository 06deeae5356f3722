//! Reads values from a document, each with its origin.

use std::cell::Cell;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::limits::OBJECT_VALUES;
use meshprobe_yaml::{Entry, Kind, NodeRef, Span, Tree};

use crate::kustomize::members::Source;
use crate::kustomize::node::{Field, Mapping, Node, Origin, Value, is_boolean_word, leaf, node};

/// Up to this number of entries, searching each key is faster than an index.
const FEW: usize = 24;
/// Maximum depth of nested values with aliases expanded: a value that contains itself has no end.
const DEPTH: usize = 512;
/// Maximum depth of mappings that merge keys include.
const MERGE_DEPTH: usize = 16;

/// Error for a document with more than [`OBJECT_VALUES`] nodes, or nested deeper than [`DEPTH`].
#[derive(Debug)]
pub(crate) struct TooLarge;

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
pub(crate) fn read(source: NodeRef<'_>, place: &dyn Fn(Span) -> Origin) -> Result<Node, TooLarge> {
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
) -> Result<Node, TooLarge> {
    let reader = Reader {
        place,
        equal_keys,
        budget: Cell::new(OBJECT_VALUES),
    };
    reader.node(source, DEPTH)
}

/// Returns the object of a document, or its list of objects. Its collections are read when they are needed, unless it has
/// anchors, merge keys or duplicate keys.
///
/// # Errors
/// The object is too large.
pub(crate) fn object(tree: &Arc<Tree>, path: &Arc<str>) -> Result<Node, TooLarge> {
    let root = tree.root().ok_or(TooLarge)?;
    let place = |span| Origin {
        path: Arc::clone(path),
        span,
    };
    let is_simple = !tree.has_anchors() && !tree.has_merge_keys();
    if is_simple && tree.duplicate_keys().is_empty() {
        let source = Source {
            tree: Arc::clone(tree),
            id: root.id(),
            path: Arc::clone(path),
        };
        let fits = tree.node_count() <= OBJECT_VALUES;
        return fits.then(|| node(root, &source)).ok_or(TooLarge);
    }
    let mut object = read(root, &place)?;
    let blocks = root.get("metadata").filter(|_| is_simple);
    if let (Some(metadata), Some(blocks)) = (object.get_mut("metadata"), blocks) {
        merge_annotations(blocks, metadata, &place)?;
    }
    Ok(object)
}

/// Merges several blocks `annotations` in the metadata of an object; the first block with a key counts. Measured with
/// kustomize 5.8.2, which rejects other equal keys of an object: the reader of kyaml rewrites this field with
/// `SetAnnotations` before it decodes the object.
fn merge_annotations(
    metadata: NodeRef<'_>,
    copied: &mut Node,
    place: &dyn Fn(Span) -> Origin,
) -> Result<(), TooLarge> {
    let is_block = |entry: &Entry<'_>| entry.key.text() == Some("annotations");
    let blocks: Vec<Entry<'_>> = metadata.entries().filter(is_block).collect();
    let (Some(last), 2..) = (blocks.last(), blocks.len()) else {
        return Ok(());
    };
    let origin = place(last.key.span());
    let mut merged = Node::empty_map(&origin);
    for block in &blocks {
        for field in read(block.value, place)?.fields() {
            if merged.get(&field.key).is_none() {
                merged.set(&field.key, &field.origin, field.value.clone());
            }
        }
    }
    copied.set("annotations", &origin, merged);
    Ok(())
}

/// Returns whether kustomize reads a scalar in `source` differently from other tools.
pub(crate) fn is_reread(source: NodeRef<'_>) -> bool {
    match source.kind() {
        Kind::Mapping => source.entries().any(|entry| is_reread(entry.value)),
        Kind::Sequence => source.items().any(is_reread),
        Kind::Scalar | Kind::Alias => is_boolean_word(source),
    }
}

struct Reader<'p> {
    place: &'p dyn Fn(Span) -> Origin,
    equal_keys: EqualKeys,
    budget: Cell<usize>,
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
                Value::Seq(Arc::new(items.collect::<Result<Vec<_>, _>>()?.into()))
            }
            Kind::Scalar | Kind::Alias => Value::Leaf(leaf(source)),
        };
        Ok(Node { value, origin })
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
