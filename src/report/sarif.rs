//! SARIF 2.1.0, with all fields that GitHub code scanning reads
//! (docs.github.com, "SARIF support for code scanning").

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{
    Environment, Finding, Label, RuleId, SuppressedBy, Suppression, page_url,
};
use meshprobe_tree::source::SourceSet;
use serde_json::{Value, json};

use super::entries;
use super::file_hashes::FileHashes;
use super::not_judged::{COMMANDS_ABOVE, not_judged_message, nothing_judged};
use super::report_root::ReportRoot;
use super::results::Results;
use super::sarif_artifact::artifact;
use super::sarif_fix::sarif_fix;
use super::sarif_message::{message, related_text};
use super::sarif_rule::rule;
use super::sarif_text::plain_text;
use super::source_location::{LineRegion, line_region, source_path};
use crate::engine::{Notice, explained};
use crate::report::text::subject;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The maximum number of results of a run; code scanning rejects more.
const RESULTS: usize = 25_000;

/// Returns the report: the findings, suppressed ones as suppressed results, and the rules and notices that they name.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn sarif(results: &Results<'_>) -> serde_json::Result<String> {
    let mut hashes = FileHashes::new(results.set);
    let (reported, omitted) = bounded(results.outcome.all(), RESULTS);
    let used: BTreeSet<RuleId> = reported.iter().map(|finding| finding.rule).collect();
    let rules: Vec<Notice> = explained()
        .into_iter()
        .filter(|notice| used.contains(&notice.id))
        .collect();
    let found: Vec<Value> = reported
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
                "informationUri": page_url("README.md"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            // Columns count code points; the default is UTF-16 code units.
            "columnKind": "unicodeCodePoints",
            "results": found,
            "properties": {
                "suppressed": results.outcome.summary.suppressed,
                "ignored": results.outcome.summary.ignored,
                "severityChanged": results.outcome.summary.severity_changed,
                "belowMinSeverity": results.outcome.summary.hidden,
                "configured": results.outcome.summary.configured,
            },
        }],
    });
    let notifications = notifications(results, omitted);
    if let Some(run) = report
        .pointer_mut("/runs/0")
        .filter(|_| !notifications.is_empty())
    {
        let invocation =
            json!({ "executionSuccessful": true, "toolExecutionNotifications": notifications });
        put(run, "invocations", json!([invocation]));
    }
    entries::json(&report)
}

/// Returns the notifications of a run: that findings are omitted, that nothing is judged, and each thing that is not
/// judged.
fn notifications(results: &Results<'_>, omitted: usize) -> Vec<Value> {
    let warning =
        |text: String| json!({ "level": "warning", "message": { "text": plain_text(&text) } });
    let omitted = (omitted > 0).then(|| {
        warning(format!(
            "{omitted} findings were omitted; code scanning accepts {RESULTS}"
        ))
    });
    let is_empty = !nothing_judged(results.outcome, COMMANDS_ABOVE).is_empty();
    let empty = is_empty.then(|| warning(not_judged_message(results.outcome)));
    let not_judged = results.outcome.not_judged.iter().map(|found| {
        let text = format!("not judged: {}: {}", found.place.message, found.help);
        json!({
            "level": "note",
            "message": { "text": plain_text(&text) },
            "locations": [{ "physicalLocation": physical(results, &found.place) }],
            "properties": { "reason": found.reason.id() },
        })
    });
    let notes = results.notes.iter();
    let notes =
        notes.map(|note| json!({ "level": "note", "message": { "text": plain_text(note) } }));
    let about_run = omitted.into_iter().chain(empty).chain(notes);
    about_run.chain(not_judged).collect()
}

/// Returns at most `limit` findings, and the number of the others. Suppressed findings are omitted first, then the least
/// severe ones.
fn bounded(mut findings: Vec<&Finding>, limit: usize) -> (Vec<&Finding>, usize) {
    let omitted = findings.len().saturating_sub(limit);
    if omitted > 0 {
        findings.sort_by_key(|finding| {
            let severity = std::cmp::Reverse(finding.severity);
            (finding.suppressed.is_some(), severity)
        });
        findings.truncate(limit);
    }
    (findings, omitted)
}

fn result(
    results: &Results<'_>,
    finding: &Finding,
    rules: &[Notice],
    hashes: &mut FileHashes<'_>,
) -> Value {
    let (set, root) = (results.set, results.root);
    let line = line_region(set, &finding.primary);
    let mut location = json!({ "physicalLocation": physical(results, &finding.primary) });
    let related: Vec<Value> = finding
        .related
        .iter()
        .enumerate()
        .map(|(number, label)| related_location(results, number, label))
        .collect();
    let suppressions: Vec<Value> = finding
        .suppressed
        .iter()
        .map(|entry| suppression(set, root, entry))
        .collect();
    let mut result = json!({
        "ruleId": finding.rule.as_str(),
        "level": finding.severity.as_str(),
        "message": { "text": message(results, finding) },
        "relatedLocations": related,
        // If one result of a run has this property, all results must have it.
        "suppressions": suppressions,
        "properties": {
            "certainty": finding.certainty.as_str(),
            "assumptions": finding.assumptions,
            "overlays": finding.overlays.iter().map(|path| &**path).collect::<Vec<_>>(),
            "environments": finding.environments.iter().map(|found| environment(finding, found)).collect::<Vec<_>>(),
        },
    });
    if let Some(state) = results.baseline_state {
        put(&mut result, "baselineState", json!(state));
    }
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
    if let Some(fix) = fix.and_then(|fix| sarif_fix(set, root, fix)) {
        put(&mut result, "fixes", json!([fix]));
    }
    if let Some(hash) =
        line.and_then(|region| hashes.get(&source_path(set, &finding.primary), region.line))
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
    let region = line_region(results.set, label).unwrap_or(LineRegion::START);
    json!({
        "artifactLocation": artifact(results.set, results.root, &source_path(results.set, label)),
        "region": {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.line,
            "endColumn": region.end_column,
        },
    })
}

fn related_location(results: &Results<'_>, number: usize, label: &Label) -> Value {
    json!({
        "id": number + 1,
        "physicalLocation": physical(results, label),
        "message": { "text": plain_text(related_text(label)) },
    })
}

fn environment(finding: &Finding, environment: &Environment) -> Value {
    let outcome = environment.differs.map(|differs| differs.id);
    json!({
        "name": &*environment.name,
        "path": &*environment.path,
        "affected": environment.differs.is_none(),
        "outcome": outcome.or(finding.outcome),
        "certainty": environment.certainty.as_str(),
    })
}

fn suppression(set: &SourceSet, root: &ReportRoot, suppression: &Suppression) -> Value {
    let kind = match suppression.by {
        SuppressedBy::Comment | SuppressedBy::Annotation => "inSource",
        SuppressedBy::Configuration | SuppressedBy::Baseline => "external",
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

#[cfg(test)]
mod tests {
    use super::*;
    use meshprobe_mesh::finding::{Severity, rule_id};
    use meshprobe_yaml::Span;

    #[test]
    fn the_most_severe_findings_are_kept() {
        let label = Label {
            path: "x".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let finding =
            |severity| Finding::new(rule_id!("r"), severity, label.clone(), String::new());
        let mut suppressed = finding(Severity::Error);
        suppressed.suppressed = Some(Suppression {
            by: SuppressedBy::Comment,
            reason: String::new(),
            path: "x".into(),
            line: 1,
        });
        let note = finding(Severity::Note);
        let error = finding(Severity::Error);
        let all = vec![&suppressed, &note, &error];
        assert_eq!(bounded(all.clone(), 3), (all.clone(), 0));
        assert_eq!(bounded(all.clone(), 2), (vec![&error, &note], 1));
        assert_eq!(bounded(all, 1), (vec![&error], 2));
    }
}
