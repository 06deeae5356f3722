//! Adds the document of a fix to a file.

use std::sync::Arc;

use meshprobe_mesh::finding::FileEdit;
use meshprobe_tree::source::{Document, SourceFile, SourceSet};
use meshprobe_yaml::{Span, Value, from_node};
use serde_yaml::{Mapping, Value as Yaml};

use super::emit::text_of;

/// Returns the edit that adds a document after another one. The file is split and parsed again; returns `None` if an
/// existing document changes, or if the new document differs from `added`.
pub(super) fn addition(
    set: &SourceSet,
    path: &Arc<str>,
    document: usize,
    added: &Value,
) -> Option<FileEdit> {
    let file = set.file(path)?;
    let end = file.documents.get(document)?.segment.end;
    let before = file.text.get(..end)?;
    let value = to_yaml(added);
    let mut text = format!("---\n{}", text_of(&value).ok()?);
    if !before.ends_with('\n') {
        text.insert(0, '\n');
    }
    if file.text.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    let whole = format!("{before}{text}{}", file.text.get(end..)?);
    let after = SourceFile::new(Arc::clone(path), Arc::from(whole.as_str()));
    let new = after.documents.get(document + 1)?;
    let old: Vec<&str> = file
        .documents
        .iter()
        .map(|document| trimmed(file, document))
        .collect();
    let kept: Vec<&str> = after
        .documents
        .iter()
        .filter(|document| document.index != new.index)
        .map(|document| trimmed(&after, document))
        .collect();
    let parsed: serde_json::Value = from_node(new.tree()?.root()?).ok()?;
    let is_equal = parsed == serde_json::to_value(value).ok()?;
    (kept == old && is_equal).then(|| FileEdit {
        path: Arc::clone(path),
        span: Span::empty(end),
        text,
    })
}

fn trimmed<'f>(file: &'f SourceFile, document: &Document) -> &'f str {
    document.segment.slice(&file.text).trim_end()
}

fn to_yaml(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Int(value) => Yaml::from(*value),
        Value::Str(text) | Value::Block(text) => Yaml::from(text.as_str()),
        Value::Seq(items) => items.iter().map(to_yaml).collect(),
        Value::Map(entries) => {
            let map: Mapping = entries
                .iter()
                .map(|(key, value)| (Yaml::from(key.as_str()), to_yaml(value)))
                .collect();
            Yaml::Mapping(map)
        }
    }
}
