//! The tools that return pages.

use meshprobe_rules::symptoms::{self, Match};
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::Call;
use crate::error::{ToolError, clean};
use crate::resources;

/// The longest text in bytes.
const LONGEST: usize = 64 << 10;

/// The most other symptoms in an answer.
const MOST: usize = 5;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ExplainRuleInput {
    /// Required: the id of the rule as in a finding, such as `strict-probe-not-rewritten`.
    rule: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ExplainRuleOutput {
    rule: String,
    /// The usual severity.
    severity: String,
    /// The page in Markdown.
    page: String,
}

pub(super) fn explain_rule(
    _: &Call<'_>,
    input: ExplainRuleInput,
) -> Result<(ExplainRuleOutput, String), ToolError> {
    let id = input
        .rule
        .ok_or_else(|| ToolError::new("`rule` is required").help("pass the id of a finding"))?;
    let (notice, page) = resources::rule(&id).map_err(|message| {
        ToolError::new(format!("invalid value for `rule`: {message}"))
            .help("the resources of the server list all rules")
    })?;
    let content = ExplainRuleOutput {
        rule: notice.id.as_str().to_owned(),
        severity: notice.severity.as_str().to_owned(),
        page: page.clone(),
    };
    Ok((content, page))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ExplainSymptomInput {
    /// Required: the text, such as the events of the pod, at most 64 KiB.
    text: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ExplainSymptomOutput {
    /// The id of the symptom that the text shows most specifically.
    symptom: String,
    /// The line of the text that shows it.
    line: String,
    /// The page in Markdown.
    page: String,
    /// Rules of `check` that report the causes.
    rules: Vec<String>,
    /// Other symptoms in the text, by id.
    others: Vec<String>,
}

pub(super) fn explain_symptom(
    _: &Call<'_>,
    input: ExplainSymptomInput,
) -> Result<(ExplainSymptomOutput, String), ToolError> {
    let text = input
        .text
        .ok_or_else(|| ToolError::new("`text` is required").help("pass the text of the event"))?;
    if text.len() > LONGEST {
        let size = text.len();
        return Err(ToolError::new(format!(
            "`text` has {size} bytes; the limit is {LONGEST}"
        )));
    }
    let found = symptoms::find(&text);
    let Some(Match { symptom, line, .. }) = found.first() else {
        return Err(ToolError::new("no symptom is known for this text").help(
            "pass the event as `kubectl describe pod` shows it, or call `check` on the manifests",
        ));
    };
    let others = found.iter().skip(1).take(MOST);
    let content = ExplainSymptomOutput {
        symptom: symptom.id.to_owned(),
        line: clean(line),
        page: symptom.text(),
        rules: symptom.rules(),
        others: others.map(|other| other.symptom.id.to_owned()).collect(),
    };
    let mut out = content.page.clone();
    if !content.others.is_empty() {
        let others = content.others.join(", ");
        out.push_str(&format!("\nOther symptoms in the text: {others}\n"));
    }
    Ok((content, out))
}
