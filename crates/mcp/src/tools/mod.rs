//! The tools of the server, and their reference in Markdown for `docs/mcp.md`.

mod check;
mod explain_rule;
mod explain_symptom;
mod input;
mod predict;
mod propose_fix;
mod tool;
mod what_if;

use serde_json::Value;

pub(super) use tool::{Answer, Call, Tool};

/// All tools, in the order in which clients list them.
pub(crate) const TOOLS: [&Tool; 6] = [
    &check::TOOL,
    &predict::TOOL,
    &explain_rule::TOOL,
    &explain_symptom::TOOL,
    &what_if::TOOL,
    &propose_fix::TOOL,
];

/// Returns the tool with a name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// Returns the description of each tool, and the parameters in tables: those of all tools that read manifests, and those
/// of each tool.
#[must_use]
pub fn reference() -> String {
    let shared = shared();
    let mut out: String = TOOLS
        .into_iter()
        .map(|tool| section(tool, &shared))
        .collect();
    out.push_str("### Parameters of all tools that read manifests\n\n");
    out.push_str(&table(&shared));
    out
}

/// A parameter: its name and its schema.
type Parameter = (String, Value);

/// Returns the parameters that all tools that read files have.
fn shared() -> Vec<Parameter> {
    let mut tools = TOOLS.into_iter().filter(|tool| tool.reads_files);
    let mut shared = tools.next().map(parameters).unwrap_or_default();
    for tool in tools {
        let others = parameters(tool);
        shared.retain(|parameter| others.contains(parameter));
    }
    shared
}

fn parameters(tool: &Tool) -> Vec<Parameter> {
    let schema = (tool.input)();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), property.clone()))
        .collect()
}

fn section(tool: &Tool, shared: &[Parameter]) -> String {
    let mut own = parameters(tool);
    own.retain(|parameter| !shared.contains(parameter));
    let table = table(&own);
    format!("### `{}`\n\n{}\n\n{table}", tool.name, tool.description)
}

fn table(parameters: &[Parameter]) -> String {
    let mut out = "| parameter | type | meaning |\n|---|---|---|\n".to_owned();
    for (name, property) in parameters {
        let meaning = property.get("description").and_then(Value::as_str);
        let meaning = meaning.unwrap_or_default().replace('|', "\\|");
        out.push_str(&format!(
            "| `{name}` | {} | {meaning} |\n",
            type_of(property)
        ));
    }
    out.push('\n');
    out
}

fn type_of(property: &Value) -> String {
    let values = property.get("enum").or_else(|| property.get("oneOf"));
    let names: Vec<String> = values
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|value| value.get("const").unwrap_or(value).as_str())
        .map(|name| format!("`{name}`"))
        .collect();
    if !names.is_empty() {
        return names.join(", ");
    }
    match property.get("type").and_then(Value::as_str) {
        Some("array") => "list of strings".into(),
        Some(kind) => kind.into(),
        None => String::new(),
    }
}
