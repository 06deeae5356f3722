//! Writes a suppression comment above every finding, for `--add-ignore`. Later runs report only new findings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::{FileEdit, Finding, RuleId};
use meshprobe_mesh::settings::Settings;
use meshprobe_rules::rules::notices::{INVALID_SUPPRESSION, UNUSED_SUPPRESSION};
use meshprobe_tree::source::{Document, Role, SourceFile, SourceSet};
use meshprobe_yaml::{Edit, Span, Style};

use super::analysis::check;
use super::fix_round::{keeps_meaning, replace};
use super::outcome::Outcome;
use super::write::Changed;

/// Suppressions that were added to files, in memory.
#[derive(Debug)]
pub struct AddedSuppressions {
    /// All files, with their new text.
    pub set: SourceSet,
    /// The files whose text changes.
    pub changed: Vec<Changed>,
    /// How many findings are newly suppressed.
    pub suppressed: usize,
    /// The remaining findings: those of files that comments cannot be added to.
    pub outcome: Outcome,
}

/// Adds a suppression with `reason` above every reported finding, in memory.
///
/// A document is not changed if a comment would change its meaning, or if one of its readers would reject it: JSON, a
/// document in brackets (kubectl reads it as JSON), and an encrypted document. `suppress_known` suppresses findings that need no
/// comment.
#[must_use]
pub fn add_ignore(
    original: &SourceSet,
    settings: &Settings,
    reason: &str,
    suppress_known: impl Fn(&SourceSet, &mut Outcome),
) -> AddedSuppressions {
    let check = |set: &SourceSet| {
        let mut outcome = check(set, settings);
        suppress_known(set, &mut outcome);
        outcome
    };
    let before = check(original);
    let mut wanted: BTreeMap<(Arc<str>, usize), BTreeSet<RuleId>> = BTreeMap::new();
    for finding in before
        .findings
        .iter()
        .filter(|finding| can_be_suppressed(finding))
    {
        if let Some(file) = original.file(&finding.primary.path) {
            let line = file.line_of(finding.primary.span);
            let key = (Arc::clone(&file.path), line);
            wanted.entry(key).or_default().insert(finding.rule);
        }
    }
    let mut set = original.clone();
    for file in original.targets().filter(|file| !file.is_linked()) {
        let comments: Vec<Edit> = wanted
            .iter()
            .filter(|((path, _), _)| *path == file.path)
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
    let outcome = check(&set);
    AddedSuppressions {
        changed: Changed::between(original, &set),
        suppressed: outcome
            .suppressed
            .len()
            .saturating_sub(before.suppressed.len()),
        set,
        outcome,
    }
}

/// Returns the edit that adds a suppression with `reason` above one finding, as [`add_ignore`] writes it; `None` if a
/// comment cannot suppress the finding.
#[must_use]
pub fn suppression_edit(set: &SourceSet, finding: &Finding, reason: &str) -> Option<FileEdit> {
    let file = set.file(&finding.primary.path)?;
    let is_editable = file.role == Role::Target && !file.rendered && !file.is_linked();
    if !is_editable || !can_be_suppressed(finding) {
        return None;
    }
    let rules = BTreeSet::from([finding.rule]);
    let comment = comment(file, file.line_of(finding.primary.span), &rules, reason)?;
    let mut edits = file
        .documents
        .iter()
        .flat_map(|document| proven(file, document, std::slice::from_ref(&comment)));
    edits.next().map(|edit| FileEdit {
        path: Arc::clone(&file.path),
        span: edit.span,
        text: edit.text,
    })
}

fn can_be_suppressed(finding: &Finding) -> bool {
    !matches!(finding.rule, INVALID_SUPPRESSION | UNUSED_SUPPRESSION)
}

/// Returns the edit that adds a comment above `line`, with the same indentation.
fn comment(file: &SourceFile, line: usize, rules: &BTreeSet<RuleId>, reason: &str) -> Option<Edit> {
    let span = file.lines().line(&file.text, line)?;
    let text = span.slice(&file.text);
    let mark_length = text.len() - text.trim_start_matches('\u{feff}').len();
    let text = text.get(mark_length..)?;
    let indent = text.get(..text.len() - text.trim_start_matches([' ', '\t']).len())?;
    let rules: Vec<&str> = rules.iter().map(|rule| rule.as_str()).collect();
    let line_break = if file.text.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    Some(Edit {
        span: Span::empty(span.start + mark_length),
        text: format!(
            "{indent}# meshprobe: ignore[{}] {reason}{line_break}",
            rules.join(", ")
        ),
    })
}

/// Returns those of the comments that are in the document and do not change its meaning.
fn proven(file: &SourceFile, document: &Document, comments: &[Edit]) -> Vec<Edit> {
    let is_json = file
        .path
        .rsplit('.')
        .next()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let Some(root) = document.tree().and_then(|tree| tree.root()) else {
        return Vec::new();
    };
    if is_json || document.encrypted || root.style() == Style::Flow {
        return Vec::new();
    }
    let segment = document.segment;
    let in_document: Vec<Edit> = comments
        .iter()
        .filter(|edit| segment.start <= edit.span.start && edit.span.start < segment.end)
        .cloned()
        .collect();
    if in_document.is_empty() || keeps_meaning(file, segment, &in_document) {
        return in_document;
    }
    in_document
        .into_iter()
        .filter(|edit| keeps_meaning(file, segment, std::slice::from_ref(edit)))
        .collect()
}
