//! The tools that run a command on manifests.

use std::collections::BTreeMap;

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::{Call, Manifests, limited};
use crate::answer::{Change, ChangeSummary, CheckSummary, Finding, NotJudged, Probe, Text, probes};
use crate::error::{Output, ToolError, clean};
use crate::page::{Page, Paging};
use meshprobe_report::{NotJudgedEntry, Report, fenced_block};

/// The longest part of a diff that is not divided, in bytes.
const LONGEST_PART: usize = 8000;

/// The most entries of what is not judged, and the most notes, in one answer.
const MOST: usize = 5;

/// What an answer says in addition to its items.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Rest {
    /// The directory that paths in the answer are relative to.
    root: Option<String>,
    /// Objects and files that could not be judged, the first 5: nothing is known about their probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_judged: Vec<NotJudged>,
    /// How many more could not be judged.
    more_not_judged: Option<usize>,
    /// Notes and warnings about the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// If there are more items, the `cursor` of the next call.
    next_cursor: Option<String>,
}

/// Returns the error of a command that has no report.
fn failure(output: &Output) -> ToolError {
    ToolError::of_command(&output.stderr)
}

/// Returns the lines of standard error as notes.
fn notes(output: &Output) -> Vec<String> {
    let lines = output.stderr.lines().filter(|line| !line.trim().is_empty());
    lines.take(MOST).map(clean).collect()
}

impl Rest {
    fn new<T>(
        root: Option<String>,
        page: &Page<T>,
        not_judged: &[NotJudgedEntry],
        output: &Output,
    ) -> Self {
        Self {
            root,
            more_not_judged: not_judged.len().checked_sub(MOST).filter(|more| *more > 0),
            not_judged: not_judged.iter().take(MOST).map(NotJudged::from).collect(),
            notes: notes(output),
            next_cursor: page.next_cursor.clone(),
        }
    }
}

/// Returns the text of an answer: a first line, the items of a page, and the rest.
fn text<T: Text>(first: &str, page: &Page<T>, rest: &Rest) -> String {
    let mut out = format!("{first}\n");
    for item in &page.items {
        out.push('\n');
        item.write(&mut out);
    }
    if !rest.not_judged.is_empty() {
        out.push('\n');
    }
    for entry in &rest.not_judged {
        entry.write(&mut out);
    }
    if let Some(more) = rest.more_not_judged {
        out.push_str(&format!("not judged: {more} more\n"));
    }
    for note in &rest.notes {
        out.push_str(&format!("\n{note}"));
    }
    more(&mut out, page);
    out
}

/// Appends how to get the next items.
fn more<T>(out: &mut String, page: &Page<T>) {
    if let Some(cursor) = &page.next_cursor {
        let (shown, total) = (page.items.len(), page.total);
        out.push_str(&format!(
            "\n{shown} of {total} items shown; call again with the same parameters and cursor `{cursor}`\n"
        ));
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CheckInput {
    #[serde(flatten)]
    manifests: Manifests,
    /// Only these rules, by id. Default: all.
    rules: Vec<String>,
    /// Only findings of this severity or above. Default: `note`, all findings.
    min_severity: Option<MinSeverity>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum MinSeverity {
    Error,
    Warning,
    Note,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct CheckOutput {
    summary: CheckSummary,
    /// The findings, sorted by file and line.
    findings: Vec<Finding>,
    #[serde(flatten)]
    rest: Rest,
}

pub(super) fn check(
    call: &Call<'_>,
    input: CheckInput,
) -> Result<(CheckOutput, String), ToolError> {
    let mut invocation = input.manifests.invocation(call, "check")?;
    invocation.options("select", limited("rules", &input.rules)?);
    if let Some(severity) = input.min_severity {
        invocation.flag(match severity {
            MinSeverity::Error => "min-severity=error",
            MinSeverity::Warning => "min-severity=warning",
            MinSeverity::Note => "min-severity=note",
        });
    }
    invocation.flag("output-format=json");
    let (root, output) = invocation.run(call);
    let Some(Report::Check(report)) = &output.report else {
        return Err(failure(&output));
    };
    let active = report
        .findings
        .iter()
        .filter(|finding| !finding.is_suppressed());
    let page = input
        .paging
        .of("check", active.map(Finding::from).collect())?;
    let rest = Rest::new(root, &page, &report.not_judged, &output);
    let summary = CheckSummary::from(&report.summary);
    let text = text(&summary.text(), &page, &rest);
    let findings = page.items;
    Ok((
        CheckOutput {
            summary,
            findings,
            rest,
        },
        text,
    ))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct PredictInput {
    #[serde(flatten)]
    manifests: Manifests,
    /// Only workloads whose `namespace/Kind/name` contains this text, such as `web` or `shop/Deployment/web`.
    workload: Option<String>,
    /// Only probes that fail, can never fail, or whose outcome is not known.
    only_faults: bool,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct PredictOutput {
    /// How many of the selected probes have each outcome.
    outcomes: BTreeMap<&'static str, usize>,
    /// The probes, sorted by file and line.
    probes: Vec<Probe>,
    #[serde(flatten)]
    rest: Rest,
}

pub(super) fn predict(
    call: &Call<'_>,
    input: PredictInput,
) -> Result<(PredictOutput, String), ToolError> {
    let mut invocation = input.manifests.invocation(call, "predict")?;
    invocation.flag("output-format=json");
    let (root, output) = invocation.run(call);
    let Some(Report::Predict(report)) = &output.report else {
        return Err(failure(&output));
    };
    let mut probes = probes(report, input.workload.as_deref());
    probes.retain(|probe| !input.only_faults || probe.is_fault());
    let mut outcomes = BTreeMap::new();
    for probe in &probes {
        *outcomes.entry(probe.outcome()).or_default() += 1;
    }
    let page = input.paging.of("predict", probes)?;
    let rest = Rest::new(root, &page, &report.not_judged, &output);
    let text = text(&first_line(&outcomes), &page, &rest);
    let probes = page.items;
    Ok((
        PredictOutput {
            outcomes,
            probes,
            rest,
        },
        text,
    ))
}

fn first_line(outcomes: &BTreeMap<&'static str, usize>) -> String {
    if outcomes.is_empty() {
        return "no probe is selected".into();
    }
    let counts: Vec<String> = outcomes
        .iter()
        .map(|(outcome, count)| format!("{outcome}: {count}"))
        .collect();
    format!("probes and hooks by outcome: {}", counts.join(", "))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct WhatIfInput {
    #[serde(flatten)]
    manifests: Manifests,
    /// Facts of the first state, as `KEY=VALUE`; keys as for `assume`, and `mesh-version`. Default: as in the manifests.
    from: Vec<String>,
    /// Facts of the second state, as `KEY=VALUE`; keys as for `from`. Facts take precedence over the manifests.
    to: Vec<String>,
    /// Compare with this revision of git, such as `HEAD` or `main`, instead of changing facts. The second state is that of
    /// `until`, else the files as they are; then the first is the merge base with `HEAD`.
    since: Option<String>,
    /// The revision of git of the second state. Without `since`, the first is the merge base with the default branch.
    until: Option<String>,
    /// Change the facts only for pods of these namespaces. Default: all pods.
    select_namespace: Vec<String>,
    /// Change the facts only for workloads with all of these labels, as `LABEL=VALUE`.
    select_labels: Vec<String>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct WhatIfOutput {
    summary: ChangeSummary,
    /// The probes whose prediction changes, regressions first.
    changes: Vec<Change>,
    #[serde(flatten)]
    rest: Rest,
}

pub(super) fn what_if(
    call: &Call<'_>,
    input: WhatIfInput,
) -> Result<(WhatIfOutput, String), ToolError> {
    let has_facts = !(input.from.is_empty() && input.to.is_empty());
    let has_revisions = input.since.is_some() || input.until.is_some();
    if !has_facts && !has_revisions {
        return Err(ToolError::new("`from`, `to` or `since` is required")
            .help("name the fact that changes, such as `to: [\"mtls=STRICT\"]`, or a revision, such as `since: \"HEAD\"`"));
    }
    if has_facts && has_revisions {
        return Err(
            ToolError::new("`from` and `to` cannot be combined with `since` and `until`")
                .help("set facts of both states with `assume` or `override`"),
        );
    }
    if has_revisions && input.manifests.is_pasted() {
        return Err(ToolError::new("`manifest` has no revisions").help("pass `paths`"));
    }
    let mut invocation = input.manifests.invocation(call, "diff")?;
    invocation.options("from", limited("from", &input.from)?);
    invocation.options("to", limited("to", &input.to)?);
    invocation.options("since", input.since.as_ref());
    invocation.options("until", input.until.as_ref());
    let namespaces = limited("select_namespace", &input.select_namespace)?;
    invocation.options("select-namespace", namespaces);
    invocation.options(
        "select-labels",
        limited("select_labels", &input.select_labels)?,
    );
    invocation.flag("output-format=json");
    let (root, output) = invocation.run(call);
    let Some(Report::Changes(report)) = &output.report else {
        return Err(failure(&output));
    };
    let page = input
        .paging
        .of("what_if", report.changes.iter().map(Change::from).collect())?;
    let rest = Rest::new(root, &page, &report.newly_not_judged, &output);
    let summary = ChangeSummary::from(report.summary);
    let text = text(&summary.text(), &page, &rest);
    Ok((
        WhatIfOutput {
            summary,
            changes: page.items,
            rest,
        },
        text,
    ))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ProposeFixInput {
    #[serde(flatten)]
    manifests: Manifests,
    /// What the diff does. Default: `fix`.
    kind: Kind,
    /// With `kind: fix`, also include fixes that may change the behaviour of running pods.
    unsafe_fixes: bool,
    /// With `kind: fix`, only fixes of these rules, by id. Default: all.
    rules: Vec<String>,
    #[serde(flatten)]
    paging: Paging,
}

/// What a diff does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum Kind {
    /// Fixes findings.
    #[default]
    Fix,
    /// Applies the rewrite of the mesh ahead of deployment.
    Rewrite,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ProposeFixOutput {
    kind: Kind,
    /// The directory that paths in the diff are relative to.
    root: Option<String>,
    /// The unified diff; empty if there is nothing to change. If there is a `next_cursor`, the diff
    /// continues in the next answer: concatenate the parts.
    diff: String,
    /// The number of changes, and what was not changed and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// If the diff continues, the `cursor` of the next call.
    next_cursor: Option<String>,
}

pub(super) fn propose_fix(
    call: &Call<'_>,
    input: ProposeFixInput,
) -> Result<(ProposeFixOutput, String), ToolError> {
    if input.kind == Kind::Rewrite && (input.unsafe_fixes || !input.rules.is_empty()) {
        return Err(ToolError::new(
            "`unsafe_fixes` and `rules` have no meaning with `kind: rewrite`",
        ));
    }
    let command = match input.kind {
        Kind::Fix => "check",
        Kind::Rewrite => "rewrite",
    };
    let mut invocation = input.manifests.invocation(call, command)?;
    invocation.flag("diff");
    if input.unsafe_fixes {
        invocation.flag("unsafe-fixes");
    }
    invocation.options("select", limited("rules", &input.rules)?);
    let (root, output) = invocation.run(call);
    if output.code == 2 && output.stdout.is_empty() {
        return Err(failure(&output));
    }
    let page = input.paging.of("propose_fix", parts(&output.stdout))?;
    let content = ProposeFixOutput {
        kind: input.kind,
        root,
        diff: page.items.concat(),
        notes: notes(&output),
        next_cursor: page.next_cursor.clone(),
    };
    let mut text = match content.diff.is_empty() {
        true => "nothing to change\n".to_owned(),
        false => fenced_block("diff", &content.diff),
    };
    for note in &content.notes {
        text.push_str(&format!("{note}\n"));
    }
    more(&mut text, &page);
    Ok((content, text))
}

/// Splits a diff before each file and hunk, and divides long hunks between lines.
fn parts(diff: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in diff.split_inclusive('\n') {
        let starts = line.starts_with("--- ") || line.starts_with("@@ ");
        match parts.last_mut() {
            Some(part) if !starts && part.len() < LONGEST_PART => part.push_str(line),
            _ => parts.push(line.to_owned()),
        }
    }
    parts
}
