//! Composes the document of a rendered object, whose nodes know the files that they come from.
//!
//! The document has a tree like any other, so that all code for documents of the user also works for rendered ones.

use std::sync::Arc;

use meshprobe_tree::source::{Content, Document};
use meshprobe_yaml::{Composer, Kind, NodeRef, Span};

use crate::kustomize::copy::is_text;
use crate::kustomize::node::{Node, Value};

/// Returns the document of `object`, or `None` if it is nested too deeply.
pub(crate) fn document(object: &Node, base: &Document) -> Option<Document> {
    let mut out = Composer::default();
    add(object, &mut out);
    Some(Document {
        content: Content::Tree(Arc::new(out.finish()?)),
        patch: false,
        // Ambiguities refer to the text of the file.
        ambiguities: Vec::new(),
        ..base.clone()
    })
}

fn add(node: &Node, out: &mut Composer) {
    if let Some(source) = node.source() {
        return add_source(source, &node.origin.path, out);
    }
    let place = (&node.origin.path, node.origin.span);
    match &node.value {
        Value::Leaf(leaf) => add_scalar(&leaf.text, leaf.is_text, place, out),
        Value::Map(fields) => {
            out.begin(Kind::Mapping, place);
            for field in fields.iter() {
                let of_key = (&field.origin.path, field.origin.span);
                out.key(&field.key, of_key, field.is_override);
                add(&field.value, out);
            }
            out.end();
        }
        Value::Seq(items) => {
            out.begin(Kind::Sequence, place);
            items.iter().for_each(|item| add(item, out));
            out.end();
        }
    }
}

/// Adds a value of a document that no step of the rendering has changed.
fn add_source(node: NodeRef<'_>, path: &Arc<str>, out: &mut Composer) {
    let place = (path, node.span());
    match node.kind() {
        Kind::Mapping => {
            out.begin(Kind::Mapping, place);
            for entry in node.entries() {
                let key = entry.key.text().unwrap_or_default();
                out.key(key, (path, entry.key.span()), false);
                add_source(entry.value, path, out);
            }
            out.end();
        }
        Kind::Sequence => {
            out.begin(Kind::Sequence, place);
            node.items().for_each(|item| add_source(item, path, out));
            out.end();
        }
        Kind::Scalar | Kind::Alias => {
            let text = node.text().unwrap_or_default();
            add_scalar(text, is_text(node), place, out);
        }
    }
}

fn add_scalar(text: &str, is_text: bool, place: (&Arc<str>, Span), out: &mut Composer) {
    match text {
        text if is_text => out.string(text, place),
        "" => out.plain("null", place),
        // The source text of numbers, booleans and nulls keeps their type.
        text => out.plain(text, place),
    }
}
