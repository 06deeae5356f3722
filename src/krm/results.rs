//! Findings as `results` of the list, and as lines for people.

use std::fmt::Write as _;

use crate::engine::{Summary, is_guard, refuses};
use crate::finding::{Finding, Label, ObjectRef, Severity, docs_url};
use crate::report::{left_out_sentences, visible};
use crate::source::SourceSet;
use crate::yaml::{Change, NodeRef, Route, Step, Value};

use super::list::{NAME, annotation};

/// The file that an item was read from, in the two spellings in use.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];

/// One result per finding.
pub(super) fn values(set: &SourceSet, items: &[NodeRef<'_>], findings: &[Finding]) -> Vec<Value> {
    let all = findings.iter();
    all.map(|finding| result(set, items, finding)).collect()
}

/// Returns the result that counts what no other one shows; `None` where there is nothing to count.
pub(super) fn left_out(summary: &Summary) -> Option<Value> {
    let sentences = left_out_sentences(summary);
    (!sentences.is_empty()).then(|| {
        Value::Map(vec![
            ("message".to_owned(), Value::Str(sentences.join(" "))),
            ("severity".to_owned(), severity(Severity::Note).into()),
        ])
    })
}

fn result(set: &SourceSet, items: &[NodeRef<'_>], finding: &Finding) -> Value {
    let mut entries = vec![
        ("message".to_owned(), Value::Str(message(finding))),
        ("severity".to_owned(), severity(finding.severity).into()),
    ];
    if let Some(object) = &finding.object {
        entries.push(("resourceRef".to_owned(), reference(object)));
        if let Some(field) = &finding.field {
            entries.push(("field".to_owned(), field_entry(field, items, finding)));
        }
    }
    entries.extend(file(set, items, &finding.primary).map(|file| ("file".to_owned(), file)));
    entries.push(("tags".to_owned(), tags(finding)));
    Value::Map(entries)
}

/// Tags are strings only.
fn tags(finding: &Finding) -> Value {
    let degree = finding.fix.as_ref().map(|fix| fix.applicability.as_str());
    Value::Map(vec![
        ("rule".to_owned(), finding.rule.into()),
        ("docs".to_owned(), Value::Str(docs_url(finding.rule))),
        ("certainty".to_owned(), finding.certainty.as_str().into()),
        ("fixable".to_owned(), degree.unwrap_or("no").into()),
    ])
}

/// The path of the field at fault; where a fix sets one scalar, that field with its value of
/// today and the proposed one.
fn field_entry(field: &str, items: &[NodeRef<'_>], finding: &Finding) -> Value {
    let plain = || Value::Map(vec![("path".to_owned(), field.into())]);
    let Some([Change::Set { route, value }]) = finding.fix.as_ref().map(|fix| &*fix.changes) else {
        return plain();
    };
    let Some(item) = item_of(items, &finding.primary) else {
        return plain();
    };
    // Routes of changes count from the root of the document, paths of fields from the object.
    let root = item.tree().root();
    let Some(path) = within_item(item, route) else {
        return plain();
    };
    let current = root.and_then(|root| root.at(route)).and_then(NodeRef::text);
    let mut entries = vec![("path".to_owned(), Value::Str(path))];
    entries.extend(current.map(|current| ("currentValue".to_owned(), current.into())));
    entries.push(("proposedValue".to_owned(), value.clone()));
    Value::Map(entries)
}

/// The path of a change from its object, in a list of resources or in a document of its own.
fn within_item(item: NodeRef<'_>, route: &Route) -> Option<String> {
    let listed = item.tree().root()?.get("items").is_some();
    let mut own = route.steps();
    // An item may be a list itself.
    while let [Step::Key(key), Step::Index(_), rest @ ..] = own
        && listed
        && key == "items"
    {
        own = rest;
    }
    let route = own
        .iter()
        .fold(Route::root(), |route, step| route.child(step.clone()));
    Some(route.to_string())
}

/// Everything that the other formats have fields for, in one text.
fn message(finding: &Finding) -> String {
    let mut text = finding.message.clone();
    let mut add = |name: &str, part: &str| {
        // Writing to a string cannot fail.
        let _ = write!(text, "; {name}: {part}");
    };
    if let Some(kubelet) = &finding.kubelet {
        add("kubelet", kubelet);
    }
    for assumption in &finding.assumptions {
        add("assumed", assumption);
    }
    if let Some(help) = &finding.help {
        add("help", help);
    }
    if let Some(fix) = &finding.fix {
        add("fix", &fix.title);
    }
    visible(&text).into_owned()
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "info",
    }
}

fn reference(object: &ObjectRef) -> Value {
    let mut entries = vec![
        ("apiVersion".to_owned(), object.api_version.as_str().into()),
        ("kind".to_owned(), object.kind.as_str().into()),
        ("name".to_owned(), object.name.as_str().into()),
    ];
    if let Some(namespace) = &object.namespace {
        entries.push(("namespace".to_owned(), namespace.as_str().into()));
    }
    Value::Map(entries)
}

/// A path that the caller gave comes back as it was, with its index; one of a build is that of the
/// file, and the index that kustomize keeps there counts resources of the build.
fn file(set: &SourceSet, items: &[NodeRef<'_>], label: &Label) -> Option<Value> {
    let item = item_of(items, label)?;
    let given = PATHS.iter().find_map(|key| annotation(item, key));
    let Some(path) = given else {
        let source = set.source_of(&label.path, label.span)?;
        let path = Value::Str(source.path.to_string());
        return Some(Value::Map(vec![("path".to_owned(), path)]));
    };
    let mut entries = vec![("path".to_owned(), path.into())];
    let index = INDEXES
        .iter()
        .find_map(|key| annotation(item, key)?.parse().ok());
    entries.extend(index.map(|index| ("index".to_owned(), Value::Int(index))));
    Some(Value::Map(entries))
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

/// The file that a person edits, with the line where it is known.
fn source_place(set: &SourceSet, label: &Label) -> Option<String> {
    let source = set.source_of(&label.path, label.span)?;
    Some(match source.place {
        Some((start, _)) => format!("{}:{}:{}", source.path, start.line, start.column),
        None => source.path.to_string(),
    })
}

/// Returns one line per finding: the place in the user's files where it is known, then the object.
/// Notes are left to the results: kustomize would show them in every build. What the settings and suppressions keep
/// out is counted, because kustomize never shows the results.
pub(super) fn messages(set: &SourceSet, findings: &[Finding], summary: &Summary) -> String {
    let mut out = String::new();
    let loud = findings.iter().enumerate();
    let loud = loud.filter(|(index, finding)| {
        finding.severity > Severity::Note && !is_told_already(findings, *index, finding)
    });
    for (_, finding) in loud {
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
            visible(&place),
            visible(&finding.message)
        );
    }
    for sentence in left_out_sentences(summary) {
        let _ = writeln!(out, "meshprobe: {sentence}");
    }
    out
}

/// A refusal where a check has found an error already says the same thing again.
fn is_told_already(findings: &[Finding], index: usize, finding: &Finding) -> bool {
    let says_it = |(at, other): (usize, &Finding)| {
        let (mine, its) = (&finding.primary, &other.primary);
        other.severity == Severity::Error
            && !is_guard(other.rule)
            && (&its.path, its.span) == (&mine.path, mine.span)
            && (other.rule != finding.rule || at < index)
    };
    refuses(finding.rule) && findings.iter().enumerate().any(says_it)
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
