//! The JSON format, version 1. The names and meanings of fields do not change within a version.

use serde::Serialize;

use crate::engine::{Outcome, Summary};
use crate::finding::{Environment, Finding, Fix, Label, ObjectRef};
use crate::source::SourceSet;

use super::escape::json_safe;
use super::not_judged_entry::{NotJudgedEntry, not_judged_entries};
use super::source_location::{SourceLocation, source_location};
use super::statistics::RuleCount;

/// Returns the result of `check`. Suppressed findings are included and marked.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn json(
    set: &SourceSet,
    outcome: &Outcome,
    statistics: Option<Vec<RuleCount>>,
) -> serde_json::Result<String> {
    let report = Report {
        version: 1,
        findings: outcome
            .all()
            .into_iter()
            .map(|finding| entry(set, finding))
            .collect(),
        not_judged: not_judged_entries(set, &outcome.not_judged),
        statistics,
        summary: &outcome.summary,
        tool: Tool {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        },
    };
    let mut text = serde_json::to_string_pretty(&report)?;
    text.push('\n');
    Ok(json_safe(&text))
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    findings: Vec<Entry<'a>>,
    not_judged: Vec<NotJudgedEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Vec<RuleCount>>,
    summary: &'a Summary,
    tool: Tool,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Entry<'a> {
    rule: &'a str,
    severity: &'static str,
    certainty: &'static str,
    message: &'a str,
    path: String,
    document: usize,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedPlace>,
    object: Option<Object<'a>>,
    container: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlays: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    environments: Vec<EnvironmentEntry<'a>>,
    field: Option<&'a str>,
    outcome: Option<&'a str>,
    kubelet: Option<&'a str>,
    related: Vec<Related<'a>>,
    assumptions: &'a [String],
    help: Option<&'a str>,
    fix: Option<FixEntry<'a>>,
    suppressed: Option<Suppressed<'a>>,
}

/// An environment that deploys the object of a finding.
#[derive(Serialize)]
struct EnvironmentEntry<'a> {
    name: &'a str,
    path: &'a str,
    affected: bool,
    outcome: Option<&'static str>,
    certainty: &'static str,
}

#[derive(Serialize)]
struct Suppressed<'a> {
    by: &'static str,
    reason: &'a str,
    path: &'a str,
    line: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    api_version: &'a str,
    kind: &'a str,
    namespace: Option<&'a str>,
    name: &'a str,
}

/// The location in the rendered file, if a tool has rendered it.
#[derive(Serialize)]
struct RenderedPlace {
    path: String,
    line: Option<usize>,
}

#[derive(Serialize)]
struct Related<'a> {
    path: String,
    line: Option<usize>,
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedPlace>,
    message: &'a str,
}

#[derive(Serialize)]
struct FixEntry<'a> {
    applicability: &'static str,
    reason: Option<&'a str>,
    title: &'a str,
    edits: Vec<EditEntry<'a>>,
}

#[derive(Serialize)]
struct EditEntry<'a> {
    path: &'a str,
    start: usize,
    end: usize,
    text: &'a str,
}

fn entry<'a>(set: &SourceSet, finding: &'a Finding) -> Entry<'a> {
    let location = source_location(set, &finding.primary);
    let place = location.place;
    Entry {
        rule: finding.rule.as_str(),
        severity: finding.severity.as_str(),
        certainty: finding.certainty.as_str(),
        message: &finding.message,
        path: location.path.to_string(),
        document: finding.document,
        line: place.map(|place| place.start.line),
        column: place.map(|place| place.start.column),
        end_line: place.map(|place| place.end.line),
        end_column: place.map(|place| place.end.column),
        rendered: rendered(&location),
        object: finding.object.as_ref().map(object_entry),
        container: finding.container.as_deref(),
        overlays: finding.overlays.iter().map(|path| &**path).collect(),
        environments: finding
            .environments
            .iter()
            .map(|environment| environment_entry(finding, environment))
            .collect(),
        field: finding.field.as_deref(),
        outcome: finding.outcome,
        kubelet: finding.kubelet.as_deref(),
        related: finding
            .related
            .iter()
            .map(|label| related(set, label))
            .collect(),
        assumptions: &finding.assumptions,
        help: finding.help.as_deref(),
        fix: finding.fix.as_ref().map(fix_entry),
        suppressed: finding.suppressed.as_ref().map(|suppression| Suppressed {
            by: suppression.by.as_str(),
            reason: &suppression.reason,
            path: &suppression.path,
            line: suppression.line,
        }),
    }
}

fn environment_entry<'a>(finding: &Finding, environment: &'a Environment) -> EnvironmentEntry<'a> {
    EnvironmentEntry {
        name: &environment.name,
        path: &environment.path,
        affected: environment.differs.is_none(),
        outcome: environment
            .differs
            .map_or(finding.outcome, |differs| Some(differs.id)),
        certainty: environment.certainty.as_str(),
    }
}

fn object_entry(object: &ObjectRef) -> Object<'_> {
    Object {
        api_version: &object.api_version,
        kind: &object.kind,
        namespace: object.namespace.as_deref(),
        name: &object.name,
    }
}

fn related<'a>(set: &SourceSet, label: &'a Label) -> Related<'a> {
    let location = source_location(set, label);
    Related {
        path: location.path.to_string(),
        line: location.place.map(|place| place.start.line),
        column: location.place.map(|place| place.start.column),
        rendered: rendered(&location),
        message: &label.message,
    }
}

fn rendered(location: &SourceLocation) -> Option<RenderedPlace> {
    let (path, place) = location.rendered.as_ref()?;
    Some(RenderedPlace {
        path: path.to_string(),
        line: place.map(|place| place.start.line),
    })
}

fn fix_entry(fix: &Fix) -> FixEntry<'_> {
    FixEntry {
        applicability: fix.applicability.as_str(),
        reason: fix.applicability.reason(),
        title: &fix.title,
        edits: fix
            .edits
            .iter()
            .map(|edit| EditEntry {
                path: &edit.path,
                start: edit.span.start,
                end: edit.span.end,
                text: &edit.text,
            })
            .collect(),
    }
}
