//! Writes findings as `results` of the list, and as lines for people.

use std::fmt::Write as _;

use meshprobe_mesh::finding::{Finding, Label, ObjectRef, Severity, docs_url};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::{Change, FieldPath, NodeRef, Step, Value};

use super::act::ActionResults;
use super::list::{NAME, annotation};
use meshprobe_engine::engine::{RewriteCounts, Summary};
use meshprobe_report::{self as report, Reader, escape_control, left_out_sentences};

/// The annotations with the file that an item was read from.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];
/// The annotations with the index of an item in its file.
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];

/// Returns one result per finding.
pub(super) fn values(set: &SourceSet, items: &[NodeRef<'_>], findings: &[Finding]) -> Vec<Value> {
    findings
        .iter()
        .map(|finding| result(set, items, finding))
        .collect()
}

/// Returns a mapping.
fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let entries = entries.into_iter();
    Value::Map(
        entries
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// Returns a result that is about the whole call.
fn general(message: String, level: Severity) -> Value {
    map([
        ("message", Value::Str(message)),
        ("severity", severity(level).into()),
    ])
}

/// Returns the result that counts the findings that no other result shows; `None` if there are none.
pub(super) fn left_out(set: &SourceSet, summary: &Summary) -> Option<Value> {
    let sentences = left_out_sentences(set, summary);
    (!sentences.is_empty()).then(|| general(sentences.join(" "), Severity::Note))
}

/// Returns the result that explains why missing verdicts fail the call.
pub(super) fn missing_verdicts(message: &str) -> Value {
    general(message.to_owned(), Severity::Error)
}

/// Returns the result that counts what the rewrite does with the workloads; `None` if it neither changes nor refuses any.
pub(super) fn rewrite_sum(counts: &RewriteCounts) -> Option<Value> {
    if counts.changed + counts.previewed + counts.refused == 0 {
        return None;
    }
    let tags = [
        ("workloads", counts.workloads),
        ("rewritten", counts.changed),
        ("previewed", counts.previewed),
        ("refused", counts.refused),
        ("opted-out", counts.opted_out),
        ("need-nothing", counts.unneeded),
    ];
    let tags = tags.map(|(name, count)| (name, Value::Str(count.to_string())));
    let message = report::rewrite_sum(counts, "rewritten") + ".";
    Some(map([
        ("message", Value::Str(message)),
        ("severity", severity(Severity::Note).into()),
        ("tags", map(tags)),
    ]))
}

fn result(set: &SourceSet, items: &[NodeRef<'_>], finding: &Finding) -> Value {
    let mut entries = vec![
        ("message", Value::Str(message(finding))),
        ("severity", severity(finding.severity).into()),
    ];
    if let Some(object) = &finding.object {
        entries.push(("resourceRef", reference(object)));
        if let Some(field) = &finding.field {
            entries.push(("field", field_entry(field, items, finding)));
        }
    }
    entries.extend(file(set, items, &finding.primary).map(|file| ("file", file)));
    entries.push(("tags", tags(finding)));
    map(entries)
}

/// Returns the tags of a result, which are strings.
fn tags(finding: &Finding) -> Value {
    let applicability = finding.fix.as_ref().map(|fix| fix.applicability.as_str());
    map([
        ("rule", finding.rule.as_str().into()),
        ("docs", Value::Str(docs_url(finding.rule))),
        ("certainty", finding.certainty.as_str().into()),
        ("fixable", applicability.unwrap_or("no").into()),
    ])
}

/// Returns the path of the invalid field. If a fix sets one scalar, returns the field of the fix with its current and
/// proposed value.
fn field_entry(field: &str, items: &[NodeRef<'_>], finding: &Finding) -> Value {
    let plain = || map([("path", field.into())]);
    let Some([Change::Set { route, value }]) = finding.fix.as_ref().map(|fix| &*fix.changes) else {
        return plain();
    };
    let Some(item) = item_of(items, &finding.primary) else {
        return plain();
    };
    // Routes of changes start at the root of the document, paths of fields at the object.
    let root = item.tree().root();
    let Some(path) = within_item(item, route) else {
        return plain();
    };
    let current = root.and_then(|root| root.at(route)).and_then(NodeRef::text);
    let current = current.map(|current| ("currentValue", current.into()));
    let proposed = ("proposedValue", value.clone());
    map([("path", Value::Str(path))]
        .into_iter()
        .chain(current)
        .chain([proposed]))
}

/// Returns the path of a change relative to its object, which is an item of a list or a document.
fn within_item(item: NodeRef<'_>, route: &FieldPath) -> Option<String> {
    let is_listed = item.tree().root()?.get("items").is_some();
    let mut steps = route.steps();
    // An item may be a list itself.
    while let [Step::Key(key), Step::Index(_), rest @ ..] = steps
        && is_listed
        && key == "items"
    {
        steps = rest;
    }
    let route = steps
        .iter()
        .fold(FieldPath::root(), |route, step| route.child(step.clone()));
    Some(route.to_string())
}

/// Returns the message with all texts for which a result has no field.
fn message(finding: &Finding) -> String {
    let mut text = Reader::Function.message(&finding.message);
    let mut add = |name: &str, part: &str| {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {name}: {part}");
    };
    if let Some(kubelet) = &finding.kubelet {
        add("kubelet", kubelet);
    }
    for assumption in &finding.assumptions {
        add("assumed", &Reader::Function.assumption(assumption));
    }
    if let Some(help) = help(finding) {
        add("help", &help);
    }
    if let Some(fix) = &finding.fix {
        add("fix", &fix.title);
    }
    escape_control(&text).into_owned()
}

/// Returns the help of a finding; if a function has none of its alternatives, the page of the rule.
fn help(finding: &Finding) -> Option<String> {
    let help = Reader::Function.help(finding.help.as_deref()?);
    Some(help.unwrap_or_else(|| format!("see {}", docs_url(finding.rule))))
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "info",
    }
}

fn reference(object: &ObjectRef) -> Value {
    let namespace = object.namespace.as_ref();
    let fields = [
        ("apiVersion", object.api_version.as_str().into()),
        ("kind", object.kind.as_str().into()),
        ("name", object.name.as_str().into()),
    ];
    map(fields
        .into_iter()
        .chain(namespace.map(|name| ("namespace", name.as_str().into()))))
}

/// Returns the file of a finding: the path and index that the caller has set, or the source file of a build. The index
/// that kustomize sets in a build counts the resources of the build, so it is omitted.
fn file(set: &SourceSet, items: &[NodeRef<'_>], label: &Label) -> Option<Value> {
    let item = item_of(items, label)?;
    let Some(path) = PATHS.iter().find_map(|key| annotation(item, key)) else {
        let source = set.source_of(&label.path, label.span)?;
        return Some(map([("path", Value::Str(source.path.to_string()))]));
    };
    let index = INDEXES
        .iter()
        .find_map(|key| annotation(item, key)?.parse().ok());
    let index = index.map(|index| ("index", Value::Int(index)));
    Some(map([("path", path.into())].into_iter().chain(index)))
}

fn item_of<'t>(items: &[NodeRef<'t>], label: &Label) -> Option<NodeRef<'t>> {
    if &*label.path == NAME {
        items
            .iter()
            .copied()
            .find(|item| item.outer_span().contains(label.span))
    } else {
        None
    }
}

/// Returns the source file of a label, with the line if it is known.
fn source_place(set: &SourceSet, label: &Label) -> Option<String> {
    let source = set.source_of(&label.path, label.span)?;
    Some(match source.place {
        Some((start, _)) => format!("{}:{}:{}", source.path, start.line, start.column),
        None => source.path.to_string(),
    })
}

/// Returns each finding with its assumptions and its help: the location in the user's files if it is known, then the object. Notes are only part of
/// the results, because kustomize would print them in every build. Findings that settings and suppressions hide are
/// counted, because kustomize does not print the results.
pub(super) fn messages(set: &SourceSet, done: &ActionResults) -> String {
    let findings = done.findings.as_slice();
    let mut out = String::new();
    let shown_findings = findings.iter().enumerate().filter(|(index, finding)| {
        finding.severity > Severity::Note && !is_repeated(findings, *index, finding)
    });
    for (_, finding) in shown_findings {
        let path = source_place(set, &finding.primary);
        let object = finding.object.as_ref().map(shown);
        let place: Vec<String> = path.into_iter().chain(object).collect();
        let place = if place.is_empty() {
            NAME.to_owned()
        } else {
            place.join(": ")
        };
        let (severity, rule) = (finding.severity.as_str(), finding.rule);
        let _ = writeln!(
            out,
            "{}: {severity}[{rule}] {}",
            escape_control(&place),
            escape_control(&Reader::Function.message(&finding.message))
        );
        for assumption in &finding.assumptions {
            let assumption = Reader::Function.assumption(assumption);
            let _ = writeln!(out, "  assumed: {}", escape_control(&assumption));
        }
        if let Some(help) = help(finding) {
            let _ = writeln!(out, "  help: {}", escape_control(&help));
        }
    }
    let sentences = left_out_sentences(set, &done.summary).into_iter();
    for sentence in sentences.chain(done.missing_verdicts.clone()) {
        let _ = writeln!(out, "meshprobe: {sentence}");
    }
    out
}

/// Returns whether a refusal of the rewrite repeats an error that the check has reported at the same location.
fn is_repeated(findings: &[Finding], index: usize, finding: &Finding) -> bool {
    let reports_it = |(at, other): (usize, &Finding)| {
        other.severity == Severity::Error
            && !other.rule.is_guard()
            && other.primary.is_at(&finding.primary)
            && (other.rule != finding.rule || at < index)
    };
    finding.rule.refuses_rewrite() && findings.iter().enumerate().any(reports_it)
}

fn shown(object: &ObjectRef) -> String {
    let namespace = object.namespace.as_ref().map(|name| format!("{name}/"));
    format!(
        "{} {}{}",
        object.kind,
        namespace.unwrap_or_default(),
        object.name
    )
}
