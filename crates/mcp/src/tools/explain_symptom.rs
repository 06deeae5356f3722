//! The tool `explain_symptom`.

use meshprobe_rules::symptoms;
use meshprobe_rules::symptoms::Match;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input;
use super::tool::{Answer, Call, Tool, parse};
use crate::error::{ToolError, clean};

/// The longest text in bytes.
const LONGEST: usize = 64 << 10;

/// The most other symptoms in an answer.
const MOST: usize = 5;

pub(super) const TOOL: Tool = Tool {
    name: "explain_symptom",
    title: "Explain an event",
    description: "Finds the page for the text of a failing probe or pod, as the kubelet, `kubectl describe pod` or a log \
                  shows it: the possible causes, how to confirm each, and the fix. Use it first if the user pastes an \
                  event or an error. It knows texts, not manifests: to find the cause that applies, continue with `check` \
                  on the manifests. The page is also the resource `meshprobe://symptoms/<id>`.",
    reads_files: false,
    input: input::input::<Input>,
    output: input::output::<Output>,
    call,
};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
struct Input {
    /// Required: the text, such as the events of the pod, at most 64 KiB.
    text: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Output {
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

fn call(_: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
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
    let content = Output {
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
    Answer::new(&content, out)
}
