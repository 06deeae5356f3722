//! What a rewrite or an undo reports: counts, and the merged notes and refusals of workloads.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, RuleId, Sentence};
use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Edit, EditError, Span};

/// What a rewrite or an undo does with a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadResult {
    /// It is changed.
    Changed,
    /// It is changed for a preview.
    Previewed,
    /// It is not changed, and a finding has the reason.
    Refused,
    /// Its owner, or the template that it selects, has switched the rewrite off.
    OptedOut,
    /// Nothing has to be changed.
    Unneeded,
}

/// The number of workloads by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteCounts {
    /// All workloads.
    pub workloads: usize,
    /// Workloads that are changed.
    pub changed: usize,
    /// Workloads that are changed for a preview.
    pub previewed: usize,
    /// Workloads that are refused.
    pub refused: usize,
    /// Workloads whose files could not be written.
    pub unwritten: usize,
    /// Workloads for which the rewrite is switched off.
    pub opted_out: usize,
    /// Workloads that need no change.
    pub unneeded: usize,
}

impl RewriteCounts {
    /// Counts the results of workloads, each with its file. Changes of the files in `unwritten` do not count as made.
    #[must_use]
    pub fn of(results: &[(Arc<str>, WorkloadResult)], unwritten: &BTreeSet<Arc<str>>) -> Self {
        let mut counts = Self::default();
        for (path, result) in results {
            counts.workloads += 1;
            let count = match result {
                WorkloadResult::Changed | WorkloadResult::Previewed if unwritten.contains(path) => {
                    &mut counts.unwritten
                }
                WorkloadResult::Changed => &mut counts.changed,
                WorkloadResult::Previewed => &mut counts.previewed,
                WorkloadResult::Refused => &mut counts.refused,
                WorkloadResult::OptedOut => &mut counts.opted_out,
                WorkloadResult::Unneeded => &mut counts.unneeded,
            };
            *count += 1;
        }
        counts
    }
}

/// Merges equal notes into the first of them, which then has the number of workloads. Keeps other findings, and the
/// order.
pub(super) fn merged_notes(findings: Vec<Finding>) -> Vec<Finding> {
    let mut counts: HashMap<(RuleId, Sentence), usize> = HashMap::new();
    let mut kept = Vec::with_capacity(findings.len());
    for finding in findings {
        if let Some(note) = shared_note(&finding) {
            let count = counts.entry((finding.rule, note.clone())).or_default();
            *count += 1;
            if *count > 1 {
                continue;
            }
        }
        kept.push(finding);
    }
    for finding in &mut kept {
        let Some(note) = shared_note(finding) else {
            continue;
        };
        let count = counts.get(&(finding.rule, note.clone()));
        if let Some(count) = count.filter(|count| **count > 1) {
            finding.message = note.about_several(&format!("{count} workloads"), &[]);
            finding.primary.message = "the first of them".to_owned();
        }
    }
    kept
}

/// Returns the sentence of a note about a workload; that of a finding about a probe stays.
fn shared_note(finding: &Finding) -> Option<&Sentence> {
    let sentence = finding.sentence.as_ref();
    sentence.filter(|_| finding.probe.is_none())
}

/// Merges the refusals of each workload into the first of them, which then lists all reasons. Keeps other findings, and
/// the order.
pub(super) fn merged_refusals(findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Vec<Finding>> = Vec::with_capacity(findings.len());
    let mut known = HashMap::new();
    for finding in findings {
        match group_of(&finding) {
            Some(key) => {
                let at = *known.entry(key).or_insert(groups.len());
                match groups.get_mut(at) {
                    Some(group) => group.push(finding),
                    None => groups.push(vec![finding]),
                }
            }
            None => groups.push(vec![finding]),
        }
    }
    groups.into_iter().filter_map(merged).collect()
}

/// Returns the workload of a refusal, and the start of its message; `None` for other findings.
fn group_of(finding: &Finding) -> Option<impl Eq + std::hash::Hash + use<>> {
    let start = finding.refusal.as_ref()?.start.clone();
    let path = Arc::clone(&finding.primary.path);
    let object = finding.object.clone();
    Some((path, finding.document, object, start))
}

fn merged(group: Vec<Finding>) -> Option<Finding> {
    let mut helps: Vec<String> = Vec::new();
    for help in group.iter().filter_map(|finding| finding.help.as_ref()) {
        if !helps.contains(help) {
            helps.push(help.clone());
        }
    }
    let reasons: Vec<String> = group.iter().enumerate().map(numbered_reason).collect();
    let mut group = group.into_iter();
    let mut first = group.next()?;
    if reasons.len() == 1 {
        return Some(first);
    }
    let start = first.refusal.as_ref().map(|refusal| &*refusal.start);
    first.message = format!("{}{}", start.unwrap_or_default(), reasons.join("; "));
    first.primary.message = "(1)".to_owned();
    for (at, other) in (2..).zip(group) {
        let mut label = other.primary;
        label.message = format!("({at}) `{}`", other.rule);
        first.related.push(label);
        first.related.extend(other.related);
        first.severity = first.severity.max(other.severity);
        first.certainty = first.certainty.max(other.certainty);
    }
    first.help = (!helps.is_empty()).then(|| helps.join("; "));
    Some(first)
}

fn numbered_reason((at, finding): (usize, &Finding)) -> String {
    let refusal = finding.refusal.as_ref();
    let reason = refusal.map_or(&finding.message, |refusal| &refusal.reason);
    format!("({}) {reason}", at + 1)
}

/// Checks the edits of a rewrite in a document that may have explicit keys. `undo` returns whether undoing changes a file.
///
/// # Errors
/// [`EditError`] if undoing would not change the edited document.
pub(super) fn ensure_undo(
    file: &SourceFile,
    document: Span,
    edits: &[Edit],
    undo: impl Fn(&SourceSet) -> bool,
) -> Result<(), EditError> {
    let before = document.slice(&file.text);
    let Some(mark) = explicit_key_mark(before) else {
        return Ok(());
    };
    let local: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            span: Span::new(
                edit.span.start - document.start,
                edit.span.end - document.start,
            ),
            text: edit.text.clone(),
        })
        .collect();
    let edited = SourceSet::from_text(&file.path, &yaml::splice(before, &local));
    if !undo(&edited) {
        return Err(EditError {
            offset: document.start + mark,
            reason:
                "`rewrite --undo` could not restore the document, which has explicit keys (`?`)"
                    .to_owned(),
        });
    }
    Ok(())
}

/// Returns the offset of a `?` that may mark an explicit key.
fn explicit_key_mark(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    memchr::memchr_iter(b'?', bytes).find(|&at| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let opens = matches!(before, Some(b'{' | b'[' | b','));
        (opens || is_blank(before)) && is_blank(bytes.get(at + 1))
    })
}
