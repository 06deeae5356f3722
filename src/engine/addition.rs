//! A document that a fix adds to a file.

use std::sync::Arc;

use serde_yaml::{Mapping, Value as Yaml};

use crate::finding::FileEdit;
use crate::source::{Document, SourceFile, SourceSet};
use crate::yaml::{Span, Value, from_node};

use super::emit::text_of;

/// Returns the edit that adds a document behind another one of a file. The file is split and read
/// again: all documents must be what they were, and the new one what was meant; else `None`.
pub(super) fn addition(
    set: &SourceSet,
    path: &Arc<str>,
    document: usize,
    added: &Value,
) -> Option<FileEdit> {
    let file = set.file(path)?;
    let end = file.documents.get(document)?.segment.end;
    let before = file.text.get(..end)?;
    let value = plain(added);
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
    let old: Vec<&str> = file.documents.iter().map(|one| bare(file, one)).collect();
    let kept = after.documents.iter().filter(|one| one.index != new.index);
    let kept: Vec<&str> = kept.map(|one| bare(&after, one)).collect();
    let read: serde_json::Value = from_node(new.tree()?.root()?).ok()?;
    let is_meant = read == serde_json::to_value(value).ok()?;
    (kept == old && is_meant).then(|| FileEdit {
        path: Arc::clone(path),
        span: Span::empty(end),
        text,
    })
}

fn bare<'f>(file: &'f SourceFile, document: &Document) -> &'f str {
    document.segment.slice(&file.text).trim_end()
}

fn plain(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Int(value) => Yaml::from(*value),
        Value::Str(text) | Value::Block(text) => Yaml::from(text.as_str()),
        Value::Seq(items) => items.iter().map(plain).collect(),
        Value::Map(entries) => {
            let entries = entries.iter();
            let map: Mapping = entries
                .map(|(key, one)| (Yaml::from(key.as_str()), plain(one)))
                .collect();
            Yaml::Mapping(map)
        }
    }
}
