//! The tool `explain_rule`.

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input;
use super::tool::{Answer, Call, Tool, parse};
use crate::error::ToolError;
use crate::resources;

pub(super) const TOOL: Tool = Tool {
    name: "explain_rule",
    title: "Explain a rule",
    description: "Returns the page of a rule of `check`, or of a guard of the rewrite: what it checks, why it matters, an \
                  example, what to use instead, whether its fix is safe, and references. Use it to explain a finding, \
                  instead of answering from memory. The page is also the resource `meshprobe://rules/<id>`.",
    reads_files: false,
    input: input::input::<Input>,
    output: input::output::<Output>,
    call,
};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
struct Input {
    /// Required: the id of the rule as in a finding, such as `strict-probe-not-rewritten`.
    rule: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Output {
    rule: String,
    /// The usual severity.
    severity: String,
    /// The page in Markdown.
    page: String,
}

fn call(_: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
    let id = input
        .rule
        .ok_or_else(|| ToolError::new("`rule` is required").help("pass the id of a finding"))?;
    let (notice, page) = resources::rule(&id).map_err(|message| {
        ToolError::new(format!("invalid value for `rule`: {message}"))
            .help("the resources of the server list all rules")
    })?;
    let content = Output {
        rule: notice.id.as_str().to_owned(),
        severity: notice.severity.as_str().to_owned(),
        page: page.clone(),
    };
    Answer::new(&content, page)
}
