//! Writes a rendered object as a document, and remembers where each part of it came from.
//!
//! The document is read again by our parser, so that everything that works on a document of the
//! user works on a rendered one; no user ever sees its text.

use std::sync::Arc;

use crate::source::{Content, Document};
use crate::yaml::{NodeRef, Span, parse};

use super::node::{Leaf, Node, Value};
use super::origin::{OriginMap, Part};

/// Returns the document of `object`, or `None` where YAML cannot carry it.
pub(super) fn document(object: &Node, base: &Document) -> Option<(Document, OriginMap)> {
    let mut text = String::new();
    write(object, 0, false, &mut text);
    text.push('\n');
    let text: Arc<str> = text.into();
    let segment = Span::new(0, text.len());
    let tree = parse(&text, segment).ok()??;
    let mut parts = Vec::new();
    let origins = match pair(tree.root()?, object, &mut parts) {
        Some(()) => OriginMap::rendered(&text, parts, object.origin.clone()),
        None => return None,
    };
    let document = Document {
        segment,
        content: Content::Tree(tree.into()),
        patch: false,
        ..base.clone()
    };
    Some((document, origins))
}

/// Notes the origin of `read` and of everything in it, which must look as `written` does.
fn pair(read: NodeRef<'_>, written: &Node, parts: &mut Vec<Part>) -> Option<()> {
    parts.push(Part::new(read.span(), &written.origin));
    match &written.value {
        Value::Leaf(_) => (!read.is_mapping() && !read.is_sequence()).then_some(()),
        Value::Seq(items) => {
            let same = read.is_sequence() && read.items().len() == items.len();
            let mut pairs = read.items().zip(items).filter(|_| same);
            pairs.try_for_each(|(read, item)| pair(read, item, parts))?;
            same.then_some(())
        }
        Value::Map(fields) => {
            let same = read.is_mapping() && read.entries().len() == fields.len();
            for (entry, field) in read.entries().zip(fields).filter(|_| same) {
                parts.push(Part::new(entry.key.span(), &field.origin));
                pair(entry.value, &field.value, parts)?;
            }
            same.then_some(())
        }
    }
}

/// Writes a value in block layout; `behind` tells that the line is begun already.
fn write(node: &Node, column: usize, behind: bool, out: &mut String) {
    match &node.value {
        Value::Leaf(leaf) => {
            space(behind, out);
            write_leaf(leaf, out);
        }
        Value::Map(fields) if fields.is_empty() => {
            space(behind, out);
            out.push_str("{}");
        }
        Value::Seq(items) if items.is_empty() => {
            space(behind, out);
            out.push_str("[]");
        }
        Value::Map(fields) => {
            for (at, field) in fields.iter().enumerate() {
                new_line(at > 0 || behind, column, out);
                write_text(&field.key, out);
                out.push(':');
                let deeper = column + 1;
                write(&field.value, deeper, true, out);
            }
        }
        Value::Seq(items) => {
            for (at, item) in items.iter().enumerate() {
                new_line(at > 0 || behind, column, out);
                out.push('-');
                write(item, column + 1, true, out);
            }
        }
    }
}

fn space(behind: bool, out: &mut String) {
    if behind {
        out.push(' ');
    }
}

fn new_line(wanted: bool, column: usize, out: &mut String) {
    if wanted {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', column));
    }
}

fn write_leaf(leaf: &Leaf, out: &mut String) {
    match &*leaf.text {
        text if leaf.is_text => write_text(text, out),
        "" => out.push_str("null"),
        // Numbers, booleans and nulls mean what they say as they are written.
        text => out.push_str(text),
    }
}

/// Writes a string in double quotes.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            '\u{a1}'..='\u{d7ff}' if !matches!(c, '\u{2028}' | '\u{2029}') => out.push(c),
            _ => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}
