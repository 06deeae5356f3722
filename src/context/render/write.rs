//! Writes a rendered object as a document, and remembers where each part of it came from.
//!
//! The document has a tree like any other, so that everything that works on a document of the user
//! works on a rendered one; no user ever sees its text.

use std::sync::Arc;

use crate::source::{Content, Document};
use crate::yaml::{Composer, Kind};

use super::node::{Leaf, Node, Value};
use super::origin::{OriginMap, Origins};

/// Returns the document of `object`, or `None` where YAML cannot carry it.
pub(super) fn document(object: &Node, base: &Document) -> Option<(Document, OriginMap)> {
    let mut writer = Writer {
        out: Composer::new(base.segment.len()),
        origins: Origins::default(),
    };
    writer.value(object);
    let tree = Arc::new(writer.out.finish()?);
    let origins = OriginMap::rendered(&tree, writer.origins, object.origin.clone())?;
    let document = Document {
        segment: tree.segment(),
        content: Content::Tree(tree),
        patch: false,
        // Their places are those of the file; the text of a copy is generated.
        ambiguities: Vec::new(),
        ..base.clone()
    };
    Some((document, origins))
}

struct Writer {
    out: Composer,
    /// One for each node, in their order.
    origins: Origins,
}

impl Writer {
    fn value(&mut self, node: &Node) {
        self.origins.push(&node.origin);
        match &node.value {
            Value::Leaf(leaf) => self.leaf(leaf),
            Value::Map(fields) if fields.is_empty() => self.out.empty(Kind::Mapping),
            Value::Seq(items) if items.is_empty() => self.out.empty(Kind::Sequence),
            Value::Map(fields) => {
                self.out.begin(Kind::Mapping);
                for field in fields.iter() {
                    self.origins.push(&field.origin);
                    self.out.key(&field.key);
                    self.value(&field.value);
                }
                self.out.end();
            }
            Value::Seq(items) => {
                self.out.begin(Kind::Sequence);
                for item in &**items {
                    self.out.item();
                    self.value(item);
                }
                self.out.end();
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf) {
        match &*leaf.text {
            text if leaf.is_text => self.out.string(text),
            "" => self.out.plain("null"),
            // Numbers, booleans and nulls mean what they say as they are written.
            text => self.out.plain(text),
        }
    }
}
