//! The tool `what_if`.

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::{Manifests, limited};
use super::tool::{Answer, Call, Rest, Tool, parse};
use super::{input, tool};
use crate::answer::{Change, ChangeSummary};
use crate::error::ToolError;
use crate::page::Paging;
use meshprobe_report::Report;

pub(super) const TOOL: Tool = Tool {
    name: "what_if",
    title: "Compare two assumptions or revisions",
    description: "Predicts which probes change if a fact about the mesh changes, and how: for example `to: \
                  [\"mtls=STRICT\"]` before mutual TLS is enforced, `from: [\"mesh-version=1.30\"], to: \
                  [\"mesh-version=1.31\"]` before an upgrade, or `to: [\"dataplane=ambient\"]` with `select_namespace` \
                  before a namespace is migrated. Use it for questions such as \"what breaks if\" and \"can we upgrade\". \
                  Facts that are not named come from the manifests. With `since` instead, it compares revisions of git: \
                  `since: \"HEAD\"` judges the edits that are not committed, `since: \"main\"` a branch, `since` and \
                  `until` two revisions. Each change has the line that causes it in `because`.",
    reads_files: true,
    input: input::input::<Input>,
    output: input::output::<Output>,
    call,
};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
struct Input {
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
struct Output {
    summary: ChangeSummary,
    /// The probes whose prediction changes, regressions first.
    changes: Vec<Change>,
    #[serde(flatten)]
    rest: Rest,
}

fn call(call: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
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
    invocation.flag("output-format=json");
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
    let root = invocation.root();
    let output = invocation.run(call);
    let Some(Report::Changes(report)) = &output.report else {
        return Err(tool::failure(&output));
    };
    let page = input
        .paging
        .of("what_if", report.changes.iter().map(Change::from).collect())?;
    let rest = Rest::new(root, &page, &report.newly_not_judged, &output);
    let summary = ChangeSummary::from(report.summary);
    let text = tool::text(&summary.text(), &page, &rest);
    Answer::new(
        &Output {
            summary,
            changes: page.items,
            rest,
        },
        text,
    )
}
