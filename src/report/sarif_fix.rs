//! Fixes in SARIF (3.55).

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{FileEdit, Fix};
use meshprobe_tree::source::SourceSet;
use serde_json::{Value, json};

use super::report_root::ReportRoot;
use super::sarif_artifact::artifact;
use super::sarif_text::plain_text;

/// Returns a fix that can be applied; `None` for a display-only fix, which is only part of the message.
pub(super) fn sarif_fix(set: &SourceSet, root: &ReportRoot, fix: &Fix) -> Option<Value> {
    if fix.applicability.is_display_only() || fix.edits.is_empty() {
        return None;
    }
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for edit in &fix.edits {
        let replacements = files.entry(&edit.path).or_default();
        replacements.push(replacement(set, edit)?);
    }
    let changes = files.into_iter().map(|(path, replacements)| {
        json!({ "artifactLocation": artifact(set, root, path), "replacements": replacements })
    });
    // A viewer applies the fix itself, so the text does not name options.
    let description = match fix.applicability.reason() {
        Some(reason) => format!(
            "{} ({}, because {reason})",
            fix.title,
            fix.applicability.as_str()
        ),
        None => fix.title.clone(),
    };
    Some(json!({
        "description": { "text": plain_text(&description) },
        "artifactChanges": changes.collect::<Vec<_>>(),
        "properties": {
            "applicability": fix.applicability.as_str(),
            "reason": fix.applicability.reason(),
        },
    }))
}

fn replacement(set: &SourceSet, edit: &FileEdit) -> Option<Value> {
    let file = set.file(&edit.path)?;
    let (start, end) = (file.position(edit.span.start), file.position(edit.span.end));
    Some(json!({
        "deletedRegion": {
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        },
        "insertedContent": { "text": edit.text },
    }))
}
