//! The tool `predict`.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::Manifests;
use super::tool::{Answer, Call, Rest, Tool, parse};
use super::{input, tool};
use crate::answer::{Probe, probes};
use crate::error::ToolError;
use crate::page::Paging;
use meshprobe_report::Report;

pub(super) const TOOL: Tool = Tool {
    name: "predict",
    title: "Predict probes",
    description: "Predicts for every health probe and lifecycle hook of the manifests what a service mesh does to it: \
                  whether the mesh rewrites it, which request the kubelet then sends, the outcome, the text that the \
                  kubelet prints, and the file and line of every fact that decides. Use it to explain how one workload \
                  behaves, also if nothing is wrong; set `workload` to limit the answer. To find faults in many \
                  manifests, use `check`; to see the effect of a change, `what_if`.",
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
    /// Only workloads whose `namespace/Kind/name` contains this text, such as `web` or `shop/Deployment/web`.
    workload: Option<String>,
    /// Only probes that fail, can never fail, or whose outcome is not known.
    only_faults: bool,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Output {
    /// How many of the selected probes have each outcome.
    outcomes: BTreeMap<&'static str, usize>,
    /// The probes, sorted by file and line.
    probes: Vec<Probe>,
    #[serde(flatten)]
    rest: Rest,
}

fn call(call: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
    let mut invocation = input.manifests.invocation(call, "predict")?;
    invocation.flag("output-format=json");
    let root = invocation.root();
    let output = invocation.run(call);
    let Some(Report::Predict(report)) = &output.report else {
        return Err(tool::failure(&output));
    };
    let mut probes = probes(report, input.workload.as_deref());
    probes.retain(|probe| !input.only_faults || probe.is_fault());
    let mut outcomes = BTreeMap::new();
    for probe in &probes {
        *outcomes.entry(probe.outcome()).or_default() += 1;
    }
    let page = input.paging.of("predict", probes)?;
    let rest = Rest::new(root, &page, &report.not_judged, &output);
    let text = tool::text(&first_line(&outcomes), &page, &rest);
    let probes = page.items;
    Answer::new(
        &Output {
            outcomes,
            probes,
            rest,
        },
        text,
    )
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
