//! SARIF 2.1.0, with all that GitHub's code scanning reads
//! (docs.github.com, "SARIF support for code scanning").

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engine::{Notice, check_ids, explained};
use crate::finding::{Applicability, FileEdit, Finding, Fix, Label, Severity, docs_url};
use crate::finding::{SuppressedBy, Suppression};
use crate::source::SourceSet;

use super::account::{account, subject};
use super::escape::json_safe;
use super::line_hash::line_hashes;
use super::place::{Region, region, told_path};
use super::results::Results;
use super::root::{Place, Root};
use super::rules::{documentation, reason, summary};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Code scanning cuts descriptions there.
const DESCRIPTION: usize = 1024;

/// Code scanning refuses a run with more results.
const RESULTS: usize = 25_000;

/// Writes the findings, silenced ones as suppressed results, and everything that `check` can
/// report as rules.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn sarif(results: &Results<'_>) -> serde_json::Result<String> {
    let ids = check_ids();
    let listed = explained()
        .into_iter()
        .filter(|notice| ids.contains(&notice.id));
    let rules: Vec<Notice> = listed.collect();
    let mut hashes = Hashes::new(results.set);
    let (told, left) = bounded(results.outcome.all(), RESULTS);
    let found: Vec<Value> = told
        .into_iter()
        .map(|finding| result(results, finding, &rules, &mut hashes))
        .collect();
    let mut report = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://meshprobe.dev",
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            // Our columns count code points; without this word readers take them for UTF-16.
            "columnKind": "unicodeCodePoints",
            "results": found,
            "properties": {
                "suppressed": results.outcome.summary.suppressed,
                "ignored": results.outcome.summary.ignored,
                "severityChanged": results.outcome.summary.severity_changed,
                "belowMinSeverity": results.outcome.summary.hidden,
                "trackedHidden": results.outcome.summary.tracked_hidden,
            },
        }],
    });
    if let Some(run) = report.pointer_mut("/runs/0").filter(|_| left > 0) {
        let text = format!("{left} findings are left out: code scanning takes {RESULTS}");
        let notification = json!({ "level": "warning", "message": { "text": text } });
        let invocation =
            json!({ "executionSuccessful": true, "toolExecutionNotifications": [notification] });
        put(run, "invocations", json!([invocation]));
    }
    Ok(json_safe(&serde_json::to_string_pretty(&report)?) + "\n")
}

/// As many findings as there may be, and how many are left out: silenced ones first, then the
/// least severe.
fn bounded(mut findings: Vec<&Finding>, limit: usize) -> (Vec<&Finding>, usize) {
    let left = findings.len().saturating_sub(limit);
    if left > 0 {
        findings.sort_by_key(|one| (one.suppressed.is_some(), std::cmp::Reverse(one.severity)));
        findings.truncate(limit);
    }
    (findings, left)
}

fn rule(notice: &Notice) -> Value {
    let short = summary(notice);
    let full = [short.clone(), reason(notice)].join(" ");
    let docs = documentation(notice);
    json!({
        "id": notice.id,
        "shortDescription": { "text": cut(&short) },
        "fullDescription": { "text": cut(full.trim()) },
        "help": { "text": docs, "markdown": docs },
        "helpUri": docs_url(notice.id),
        "defaultConfiguration": { "level": notice.severity.as_str() },
        "properties": {
            "tags": ["kubernetes", "service-mesh"],
            "precision": "high",
            "problem.severity": problem(notice.severity),
        },
    })
}

fn cut(text: &str) -> String {
    if text.chars().count() <= DESCRIPTION {
        return text.to_owned();
    }
    text.chars().take(DESCRIPTION - 1).chain(['…']).collect()
}

const fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "recommendation",
    }
}

fn result(
    results: &Results<'_>,
    finding: &Finding,
    rules: &[Notice],
    hashes: &mut Hashes<'_>,
) -> Value {
    let (set, root) = (results.set, results.root);
    let line = region(set, &finding.primary);
    let mut location = json!({ "physicalLocation": physical(results, &finding.primary) });
    let related = finding.related.iter().enumerate();
    let related: Vec<Value> = related
        .map(|(number, label)| related_location(results, number, label))
        .collect();
    let suppressions = finding.suppressed.iter();
    let mut result = json!({
        "ruleId": finding.rule,
        "level": finding.severity.as_str(),
        "message": { "text": unlinked(&account(finding).join("\n\n")) },
        "relatedLocations": related,
        // Of no run may some results say nothing about it.
        "suppressions": suppressions.map(|one| suppression(set, root, one)).collect::<Vec<_>>(),
        "properties": {
            "certainty": finding.certainty.as_str(),
            "assumptions": finding.assumptions,
            "overlays": finding.overlays.iter().map(|path| &**path).collect::<Vec<_>>(),
        },
    });
    let object = subject(finding);
    if !object.is_empty() {
        put(
            &mut location,
            "logicalLocations",
            json!([{ "fullyQualifiedName": object }]),
        );
    }
    put(&mut result, "locations", json!([location]));
    if let Some(index) = rules.iter().position(|rule| rule.id == finding.rule) {
        put(&mut result, "ruleIndex", json!(index));
    }
    let is_rendered = set
        .source_of(&finding.primary.path, finding.primary.span)
        .is_some();
    let fix = finding.fix.as_ref().filter(|_| !is_rendered);
    if let Some(fix) = fix.and_then(|fix| written(set, root, fix)) {
        put(&mut result, "fixes", json!([fix]));
    }
    if let Some(hash) =
        line.and_then(|region| hashes.get(&told_path(set, &finding.primary), region.line))
    {
        let prints = json!({ "primaryLocationLineHash": hash });
        put(&mut result, "partialFingerprints", prints);
    }
    result
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
}

fn physical(results: &Results<'_>, label: &Label) -> Value {
    let region = region(results.set, label).unwrap_or(Region::START);
    json!({
        "artifactLocation": artifact(results.set, results.root, &told_path(results.set, label)),
        "region": {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.line,
            "endColumn": region.end_column,
        },
    })
}

fn related_location(results: &Results<'_>, number: usize, label: &Label) -> Value {
    let message = match label.message.as_str() {
        "" => "this decides, too",
        message => message,
    };
    json!({
        "id": number + 1,
        "physicalLocation": physical(results, label),
        "message": { "text": unlinked(message) },
    })
}

/// Returns a text in which nothing is an embedded link, which is `[text](destination)`: a bracket
/// behind a backslash ends no text (SARIF 2.1.0, 3.11.6).
fn unlinked(text: &str) -> String {
    text.replace("](", "\\](")
}

fn artifact(set: &SourceSet, root: &Root, path: &str) -> Value {
    match root.place(set, path) {
        Place::Within(path) => json!({ "uri": encoded(&path), "uriBaseId": "%SRCROOT%" }),
        Place::Outside(path) => {
            let slash = if path.starts_with('/') { "" } else { "/" };
            json!({ "uri": format!("file://{slash}{}", encoded(&path)) })
        }
    }
}

/// As a URI: all is encoded that may stand for something else, a colon in the first place.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// A fix that can be applied; the others are only told.
fn written(set: &SourceSet, root: &Root, fix: &Fix) -> Option<Value> {
    if fix.applicability == Applicability::DisplayOnly || fix.edits.is_empty() {
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
    Some(json!({
        "description": { "text": unlinked(&fix.title) },
        "artifactChanges": changes.collect::<Vec<_>>(),
        "properties": { "applicability": fix.applicability.as_str() },
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

fn suppression(set: &SourceSet, root: &Root, suppression: &Suppression) -> Value {
    let kind = match suppression.by {
        SuppressedBy::Comment | SuppressedBy::Annotation => "inSource",
        SuppressedBy::Configuration => "external",
    };
    json!({
        "kind": kind,
        "status": "accepted",
        "justification": suppression.reason,
        "location": { "physicalLocation": {
            "artifactLocation": artifact(set, root, &suppression.path),
            "region": { "startLine": suppression.line.max(1) },
        }},
    })
}

/// The hashes of the lines of files, each file once.
struct Hashes<'a> {
    set: &'a SourceSet,
    known: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Hashes<'a> {
    const fn new(set: &'a SourceSet) -> Self {
        Self {
            set,
            known: BTreeMap::new(),
        }
    }

    /// The hash of a line, from 1. There is none for what is no whole file on disk: the upload
    /// action would find another.
    fn get(&mut self, path: &str, line: usize) -> Option<&str> {
        let file = self.set.file(path)?;
        if file.location.is_none() || file.fault.is_some() {
            return None;
        }
        let hashes = self
            .known
            .entry(&file.path)
            .or_insert_with(|| line_hashes(&file.text));
        hashes.get(line.checked_sub(1)?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Span;

    #[test]
    fn the_worst_are_kept() {
        let label = Label {
            path: "x".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let finding = |severity| Finding::new("r", severity, label.clone(), String::new());
        let mut silenced = finding(Severity::Error);
        silenced.suppressed = Some(Suppression {
            by: SuppressedBy::Comment,
            reason: String::new(),
            path: "x".into(),
            line: 1,
        });
        let note = finding(Severity::Note);
        let error = finding(Severity::Error);
        let all = vec![&silenced, &note, &error];
        assert_eq!(bounded(all.clone(), 3), (all.clone(), 0));
        assert_eq!(bounded(all.clone(), 2), (vec![&error, &note], 1));
        assert_eq!(bounded(all, 1), (vec![&error], 2));
    }
}
