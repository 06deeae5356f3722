//! The tool `check`.

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::{Manifests, limited};
use super::tool::{Answer, Call, Rest, Tool, parse};
use super::{input, tool};
use crate::answer::{CheckSummary, Finding};
use crate::error::ToolError;
use crate::page::Paging;
use meshprobe_report::Report;

pub(super) const TOOL: Tool = Tool {
    name: "check",
    title: "Check probes",
    description: "Finds Kubernetes health probes that a service mesh (Istio, Linkerd, Consul, Kuma, Cilium and others) \
                  breaks: probes that will fail, that can never fail, or whose configuration the mesh ignores. Use it \
                  first for questions such as \"why is this pod not ready\", \"why does the liveness probe restart the \
                  container\" or \"is this manifest right\", before you read manifests yourself: it knows what each \
                  release of the mesh does. Each finding has the outcome, the text that the kubelet prints, the \
                  certainty, and the file and line of every fact that decides. No finding about an object in \
                  `not_judged` means nothing. For probes that work, and for all details of one workload, use `predict`; \
                  for a diff with the fix, `propose_fix`.",
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
struct Output {
    summary: CheckSummary,
    /// The findings, sorted by file and line.
    findings: Vec<Finding>,
    #[serde(flatten)]
    rest: Rest,
}

fn call(call: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
    let mut invocation = input.manifests.invocation(call, "check")?;
    invocation.flag("output-format=json");
    invocation.options("select", limited("rules", &input.rules)?);
    if let Some(severity) = input.min_severity {
        invocation.flag(match severity {
            MinSeverity::Error => "min-severity=error",
            MinSeverity::Warning => "min-severity=warning",
            MinSeverity::Note => "min-severity=note",
        });
    }
    let root = invocation.root();
    let output = invocation.run(call);
    let Some(Report::Check(report)) = &output.report else {
        return Err(tool::failure(&output));
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
    let text = tool::text(&summary.text(), &page, &rest);
    let findings = page.items;
    Answer::new(
        &Output {
            summary,
            findings,
            rest,
        },
        text,
    )
}
