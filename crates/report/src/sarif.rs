//! SARIF 2.1.0, with all fields that GitHub code scanning reads
//! (docs.github.com, "SARIF support for code scanning").

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_mesh::finding::{
    Environment, FileEdit, Finding, Fix, Label, RuleId, Severity, SuppressedBy, Suppression,
    docs_url, page_url, shortened,
};
use meshprobe_rules::rules::{map_links, without_links};
use meshprobe_tree::source::SourceSet;
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use super::escape::URI_PATH;
use super::json;
use super::not_judged::{COMMANDS_ABOVE, not_judged_message, nothing_judged};
use super::report_root::{LineRegion, ReportPath, ReportRoot, line_region, source_path};
use super::results::Results;
use super::rules::{reason, summary};
use super::text::{RelatedLines, finding_lines, related_lines, subject};
use meshprobe_engine::engine::{Notice, explained};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The maximum number of results of a run; code scanning rejects more.
const RESULTS: usize = 25_000;

/// Returns the report: the findings, suppressed ones as suppressed results, and the rules and notices that they name.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn sarif(results: &Results<'_>) -> serde_json::Result<String> {
    let (reported, omitted) = bounded(results.outcome.all(), RESULTS);
    let used: BTreeSet<RuleId> = reported.iter().map(|finding| finding.rule).collect();
    let rules: Vec<Notice> = explained()
        .into_iter()
        .filter(|notice| used.contains(&notice.id))
        .collect();
    let found: Vec<Value> = reported
        .into_iter()
        .map(|finding| result(results, finding, &rules))
        .collect();
    let mut report = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "meshprobe",
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
    json::json(&report)
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

fn result(results: &Results<'_>, finding: &Finding, rules: &[Notice]) -> Value {
    let (set, root) = (results.set, results.root);
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

/// Returns the location of a file: relative to the root of the report, or absolute.
fn artifact(set: &SourceSet, root: &ReportRoot, path: &str) -> Value {
    match root.locate(set, path) {
        ReportPath::Within(path) => {
            json!({ "uri": utf8_percent_encode(&path, URI_PATH).to_string(), "uriBaseId": "%SRCROOT%" })
        }
        ReportPath::Outside(path) => {
            let slash = if path.starts_with('/') { "" } else { "/" };
            json!({ "uri": format!("file://{slash}{}", utf8_percent_encode(&path, URI_PATH)) })
        }
    }
}

/// Returns a fix that can be applied; `None` for a display-only fix, which is only part of the message.
fn sarif_fix(set: &SourceSet, root: &ReportRoot, fix: &Fix) -> Option<Value> {
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

/// The length at which code scanning cuts descriptions.
const DESCRIPTION: usize = 1024;

/// Returns the descriptor of a rule or notice.
fn rule(notice: &Notice) -> Value {
    let short = summary(notice);
    let full = [short.clone(), reason(notice)].join(" ");
    let docs = notice.docs();
    json!({
        "id": notice.id.as_str(),
        "shortDescription": { "text": cut(&short) },
        "fullDescription": { "text": cut(full.trim()) },
        "help": { "text": without_links(&docs), "markdown": absolute_links(&docs) },
        "helpUri": docs_url(notice.id),
        "defaultConfiguration": { "level": notice.severity.as_str() },
        "properties": {
            "tags": ["kubernetes", "service-mesh"],
            "precision": "high",
            "problem.severity": problem(notice.severity),
        },
    })
}

/// Returns the text of a page of `docs/rules` with the URLs of the pages that it links to.
fn absolute_links(docs: &str) -> String {
    map_links(docs, |text, target| {
        let url = match target.strip_prefix("../") {
            _ if target.starts_with("https://") => target.to_owned(),
            Some(page) => page_url(page),
            None => page_url(&format!("rules/{target}")),
        };
        format!("[{text}]({url})")
    })
}

/// Shortens a description to the length that code scanning shows.
fn cut(text: &str) -> String {
    if text.chars().count() <= DESCRIPTION {
        return text.to_owned();
    }
    text.chars().take(DESCRIPTION - 1).chain(['…']).collect()
}

/// Returns the value of `problem.severity`.
const fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "recommendation",
    }
}

/// Returns the text of a related location.
fn related_text(label: &Label) -> &str {
    match label.message.as_str() {
        "" => "related location",
        message => message,
    }
}

/// Returns the text of a result. Links to the related locations follow the first line: code scanning shows these
/// locations only if the text links to them. Of locations with the same message, one has the message as its text.
fn message(results: &Results<'_>, finding: &Finding) -> String {
    let lines = finding_lines(finding);
    if finding.related.is_empty() {
        return plain_text(&lines.join("\n\n"));
    }
    let mut lines: Vec<String> = lines.iter().map(|line| text_next_to_links(line)).collect();
    let related = related_lines(finding);
    let links: Vec<String> = related.iter().map(|lines| links(results, lines)).collect();
    lines.insert(lines.len().min(1), format!("because: {}", links.join("; ")));
    lines.join("\n\n")
}

/// Returns the links to related lines, such as `[STRICT for the whole mesh](1) (also [prod/mtls.yaml:6](2) and 27
/// more)`.
fn links(results: &Results<'_>, related: &RelatedLines<'_>) -> String {
    let (named, more) = shortened(&related.lines);
    let Some(((first, label), others)) = named.split_first() else {
        return String::new();
    };
    let message = link(related_text(label), first + 1);
    if others.is_empty() {
        return message;
    }
    let others = others.iter();
    let others: Vec<String> = others
        .map(|(number, label)| link(&results.place(label), number + 1))
        .collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{message} (also {}{more})", others.join(", "))
}

/// The characters that a link text contains only after a backslash.
const ESCAPED: [char; 3] = ['[', ']', '\\'];

/// Returns a link to the related location with this id.
fn link(text: &str, id: usize) -> String {
    format!("[{}]({id})", escaped(text))
}

/// Returns text that contains no links. Its brackets are escaped only if they could be read as a part of a link, because
/// outside of links some viewers show the backslashes.
fn plain_text(text: &str) -> String {
    if text.contains("](") {
        escaped(text)
    } else {
        text.to_owned()
    }
}

/// Returns text that contains no links, for a message that contains others: a bracket without its counterpart could be read
/// as a part of them.
fn text_next_to_links(text: &str) -> String {
    if has_paired_brackets(text) {
        plain_text(text)
    } else {
        escaped(text)
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if ESCAPED.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns whether each `[` is followed by its `]`, before any other `[`.
fn has_paired_brackets(text: &str) -> bool {
    let mut is_open = false;
    for c in text.chars() {
        match (c, is_open) {
            ('[', false) => is_open = true,
            (']', true) => is_open = false,
            ('[' | ']', _) => return false,
            _ => {}
        }
    }
    !is_open
}

#[cfg(test)]
mod tests {
    use meshprobe_mesh::finding::{Severity, rule_id};
    use meshprobe_yaml::Span;

    use super::*;

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

    #[test]
    fn the_text_of_a_link_is_escaped() {
        assert_eq!(link("a[0]\\b", 2), "[a\\[0\\]\\\\b](2)");
    }

    #[test]
    fn other_text_contains_no_links() {
        assert_eq!(plain_text("x [--assume y]"), "x [--assume y]");
        assert_eq!(plain_text("C:\\x"), "C:\\x");
        assert_eq!(plain_text("[x](1)"), "\\[x\\](1)");
        for text in ["[", "a] b"] {
            assert_eq!(plain_text(text), text);
        }
        assert_eq!(text_next_to_links("[a](b) [c]"), "\\[a\\](b) \\[c\\]");
        assert_eq!(text_next_to_links("[c]"), "[c]");
        assert_eq!(text_next_to_links("a [ b"), "a \\[ b");
        assert_eq!(text_next_to_links("a ] b"), "a \\] b");
        assert_eq!(text_next_to_links("[[x]]"), "\\[\\[x\\]\\]");
    }
}
