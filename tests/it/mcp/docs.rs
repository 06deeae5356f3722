//! `docs/mcp.md` agrees with the server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use crate::support::fixture;

/// The lines around the part of the page that is generated.
const START: &str = "<!-- Generated from the schemas of the tools. -->\n\n";
const END: &str = "<!-- End of the generated part. -->\n";

#[test]
fn the_reference_equals_the_schemas() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let mut client = Client::granting(&fixture("demo"));
    let answer = client.request("tools/list", json!({}));
    let expected = reference(answer["result"]["tools"].as_array().unwrap());
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{START}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, expected, "run with MESHPROBE_UPDATE_DOCS=1");
    }
}

/// Returns the description of each tool, and the parameters in tables: those of all tools that read manifests, and those
/// of each tool.
fn reference(tools: &[Value]) -> String {
    let shared = shared(tools);
    let mut out: String = tools.iter().map(|tool| section(tool, &shared)).collect();
    out.push_str("### Parameters of all tools that read manifests\n\n");
    out.push_str(&table(&shared));
    out
}

/// A parameter: its name and its schema.
type Parameter = (String, Value);

/// Returns the parameters that all tools that read files have.
fn shared(tools: &[Value]) -> Vec<Parameter> {
    let mut lists = tools.iter().map(parameters);
    let mut lists = lists
        .by_ref()
        .filter(|all| all.iter().any(|(name, _)| name == "paths"));
    let mut shared = lists.next().unwrap();
    for others in lists {
        shared.retain(|parameter| others.contains(parameter));
    }
    shared
}

fn parameters(tool: &Value) -> Vec<Parameter> {
    let properties = tool["inputSchema"]["properties"].as_object().unwrap();
    let pairs = properties.iter();
    pairs
        .map(|(name, property)| (name.clone(), property.clone()))
        .collect()
}

fn section(tool: &Value, shared: &[Parameter]) -> String {
    let mut own = parameters(tool);
    own.retain(|parameter| !shared.contains(parameter));
    let (name, description) = (tool["name"].as_str(), tool["description"].as_str());
    let table = table(&own);
    format!(
        "### `{}`\n\n{}\n\n{table}",
        name.unwrap(),
        description.unwrap()
    )
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
