//! Writes a rendered object as a document, and records the origin of each part.
//!
//! The document has a tree like any other, so that all code for documents of the user also works for rendered
//! ones. Users never see its text.

use std::sync::Arc;

use meshprobe_tree::source::{Content, Document};
use meshprobe_yaml::{Composer, Kind};

use crate::kustomize::leaf::Leaf;
use crate::kustomize::node::{Node, Value};
use crate::kustomize::origin::{OriginMap, Origins};

/// Returns the document of `object`, or `None` if YAML cannot represent it.
pub(crate) fn document(object: &Node, base: &Document) -> Option<(Document, OriginMap)> {
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
        // Ambiguities refer to the text of the file, and this text is generated.
        ambiguities: Vec::new(),
        ..base.clone()
    };
    Some((document, origins))
}

struct Writer {
    out: Composer,
    /// One for each node, in order.
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
                    self.origins.push_key(field);
                    self.out.key(&field.key);
                    self.value(&field.value);
                }
                self.out.end();
            }
            Value::Seq(items) => {
                self.out.begin(Kind::Sequence);
                for item in items.iter() {
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
            // The source text of numbers, booleans and nulls keeps their type.
            text => self.out.plain(text),
        }
    }
}
