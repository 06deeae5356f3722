//! The text of rendered objects, as a build prints it.

use std::fmt::Write as _;

use meshprobe::kustomize::{RenderedDocument, Rendering};
use meshprobe::yaml::{Kind, NodeRef, Scalar};

/// Returns the documents of a rendering for which `is_printed` holds, as block YAML in which strings have quotes.
pub(crate) fn stream(
    rendering: &Rendering,
    is_printed: impl Fn(&RenderedDocument) -> bool,
) -> String {
    let documents = rendering.documents.iter();
    let documents = documents.filter(|rendered| is_printed(rendered));
    let texts = documents.map(|rendered| {
        let tree = rendered.document.tree().unwrap();
        if !tree.is_composed() {
            return rendered.document.segment.slice(tree.text()).to_owned();
        }
        let mut text = String::new();
        write_value(&mut text, tree.root().unwrap(), 0);
        text
    });
    texts.collect::<Vec<_>>().join("\n---\n")
}

/// Writes a value behind a key or a dash. A collection starts in the next line.
fn write_value(text: &mut String, node: NodeRef<'_>, indentation: usize) {
    let margin = " ".repeat(indentation);
    match node.kind() {
        Kind::Mapping if node.entries().next().is_none() => text.push_str(" {}"),
        Kind::Sequence if node.items().next().is_none() => text.push_str(" []"),
        Kind::Mapping => {
            for entry in node.entries() {
                let key = quoted(entry.key.text().unwrap());
                write!(text, "\n{margin}{key}:").unwrap();
                write_value(text, entry.value, indentation + 2);
            }
        }
        Kind::Sequence => {
            for item in node.items() {
                write!(text, "\n{margin}-").unwrap();
                write_value(text, item, indentation + 2);
            }
        }
        Kind::Scalar | Kind::Alias => match (node.scalar(), node.text()) {
            (Some(Scalar::Str(string)), _) => {
                write!(text, " {}", quoted(string)).unwrap();
            }
            (_, Some(source)) if !source.is_empty() => write!(text, " {source}").unwrap(),
            _ => text.push_str(" null"),
        },
    }
}

/// Returns a string in double quotes, with an escape for each character that YAML does not allow or may fold.
fn quoted(string: &str) -> String {
    let mut text = String::from("\"");
    for c in string.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            ' '..='~' | '\u{a1}'..='\u{d7ff}' if !matches!(c, '\u{2028}' | '\u{2029}') => {
                text.push(c)
            }
            _ => write!(text, "\\U{:08X}", u32::from(c)).unwrap(),
        }
    }
    text + "\""
}
