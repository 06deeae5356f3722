//! `--add-ignore`: a comment above every finding, so that only new ones are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::finding::Finding;
use crate::settings::Settings;
use crate::source::{Document, SourceFile, SourceSet};
use crate::yaml::{Edit, Span, Style, splice, verify};

use super::changed::Changed;
use super::check::{Outcome, check};
use super::fix::replace;
use super::notices::{INVALID_SUPPRESSION, UNUSED_SUPPRESSION};

/// The result of a baseline; nothing is written yet.
#[derive(Debug)]
pub struct Baseline {
    /// All files, with their new text.
    pub set: SourceSet,
    /// The files whose text changes.
    pub changed: Vec<Changed>,
    /// How many findings are silenced now that were not before.
    pub silenced: usize,
    /// What is left: findings of files that take no comments.
    pub outcome: Outcome,
}

/// Writes a suppression with `reason` above every finding that is told, in memory.
///
/// A document whose comments would change its meaning, or break one of its readers, is left as it
/// was: JSON, a document in brackets (kubectl takes it for JSON), an encrypted one.
#[must_use]
pub fn add_ignore(original: &SourceSet, settings: &Settings, reason: &str) -> Baseline {
    let before = check(original, settings);
    let mut wanted: BTreeMap<(Arc<str>, usize), BTreeSet<&str>> = BTreeMap::new();
    for finding in before
        .findings
        .iter()
        .filter(|finding| can_be_silenced(finding))
    {
        if let Some(file) = original.file(&finding.primary.path) {
            let line = file.line_of(finding.primary.span);
            let key = (Arc::clone(&file.path), line);
            wanted.entry(key).or_default().insert(finding.rule);
        }
    }
    let mut set = original.clone();
    for file in original.targets().filter(|file| !file.is_linked()) {
        let lines = wanted.iter().filter(|((path, _), _)| *path == file.path);
        let comments: Vec<Edit> = lines
            .filter_map(|((_, line), rules)| comment(file, *line, rules, reason))
            .collect();
        let edits: Vec<Edit> = file
            .documents
            .iter()
            .flat_map(|document| proven(file, document, &comments))
            .collect();
        if !edits.is_empty() {
            replace(&mut set, &file.path, edits);
        }
    }
    let outcome = check(&set, settings);
    Baseline {
        changed: Changed::between(original, &set),
        silenced: outcome
            .suppressed
            .len()
            .saturating_sub(before.suppressed.len()),
        set,
        outcome,
    }
}

fn can_be_silenced(finding: &Finding) -> bool {
    !matches!(finding.rule, INVALID_SUPPRESSION | UNUSED_SUPPRESSION)
}

/// A line of its own above `line`, as deep as that.
fn comment(file: &SourceFile, line: usize, rules: &BTreeSet<&str>, reason: &str) -> Option<Edit> {
    let span = file.lines().line(&file.text, line)?;
    let text = span.slice(&file.text);
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let text = text.get(mark..)?;
    let indent = text.get(..text.len() - text.trim_start_matches([' ', '\t']).len())?;
    let rules: Vec<&str> = rules.iter().copied().collect();
    let end = if file.text.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    Some(Edit {
        span: Span::empty(span.start + mark),
        text: format!(
            "{indent}# meshprobe: ignore[{}] {reason}{end}",
            rules.join(", ")
        ),
    })
}

/// Those of the comments that stand in the document and leave its meaning alone.
fn proven(file: &SourceFile, document: &Document, comments: &[Edit]) -> Vec<Edit> {
    let is_json = file
        .path
        .rsplit('.')
        .next()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let Some(root) = document.tree().and_then(|tree| tree.root()) else {
        return Vec::new();
    };
    if is_json || document.encrypted || root.style() == Style::Flow {
        return Vec::new();
    }
    let segment = document.segment;
    let here: Vec<Edit> = comments
        .iter()
        .filter(|edit| segment.start <= edit.span.start && edit.span.start < segment.end)
        .cloned()
        .collect();
    if here.is_empty() || keeps_meaning(file, segment, &here) {
        return here;
    }
    let alone = |edit: &Edit| keeps_meaning(file, segment, std::slice::from_ref(edit));
    here.into_iter().filter(alone).collect()
}

/// Tells whether both parsers read the same values in a document with the edits.
pub(super) fn keeps_meaning(file: &SourceFile, segment: Span, edits: &[Edit]) -> bool {
    let before = segment.slice(&file.text);
    let shifted: Vec<Edit> = edits
        .iter()
        .filter(|edit| segment.start <= edit.span.start && edit.span.end <= segment.end)
        .map(|edit| Edit {
            span: Span::new(
                edit.span.start - segment.start,
                edit.span.end - segment.start,
            ),
            text: edit.text.clone(),
        })
        .collect();
    let before_mark = before.trim_start_matches('\u{feff}');
    let after = splice(before, &shifted);
    shifted.len() == edits.len()
        && verify::verify(before_mark, &[], after.trim_start_matches('\u{feff}')).is_ok()
}
