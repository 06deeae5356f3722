//! Generates the pages of the reference: the options from the help, the configuration and the JSON formats from their
//! schemas. `MESHPROBE_UPDATE_DOCS=1` writes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::support::meshprobe;

const OPTIONS: &str = "\
# Options

This page is generated from `meshprobe --help`. The [exit codes](exit-codes.md) and the [configuration](configuration.md)
have pages of their own. `meshprobe completions SHELL` prints completions, and `meshprobe man` the manual page.
";

const KEYS: &str = "\
# Keys of the configuration

This page is generated from the [schema](schema/meshprobe.schema.json) of `.meshprobe.yaml` and of the KRM function.
[Configuration](configuration.md) has examples, and describes which value takes precedence. Editors complete and check the
file if its first line is:

```yaml
# yaml-language-server: $schema=https://raw.githubusercontent.com/meshprobe/meshprobe/main/docs/schema/meshprobe.schema.json
```

| key | values | default | |
|---|---|---|---|
";

const JSON: &str = "\
# JSON formats

This page is generated from the schemas of the JSON that `check`, `predict`, `diff`, `rule` and `explain` print with
`--output-format json`. [Stability](stability.md#stable-interfaces) describes what may change.
";

/// The schemas of the JSON formats: the file, and the command.
const FORMATS: [(&str, &str); 5] = [
    ("check-v1.json", "meshprobe check"),
    ("predict-v1.json", "meshprobe predict"),
    ("diff-v1.json", "meshprobe diff"),
    ("rules-v1.json", "meshprobe rule"),
    ("explain-v1.json", "meshprobe explain"),
];

fn help_of(command: &[&str]) -> String {
    let run = meshprobe(Path::new("/"), &[command, &["--help"]].concat(), "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

/// Returns the names of the commands in the help of the program.
fn commands(help: &str) -> Vec<&str> {
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names.collect()
}

fn options() -> String {
    let program = help_of(&[]);
    let mut page = format!("{OPTIONS}\n```text\n{}\n```\n", program.trim_end());
    for command in commands(&program) {
        let help = help_of(&[command]);
        write!(
            page,
            "\n## {command}\n\n```text\n{}\n```\n",
            help.trim_end()
        )
        .unwrap();
    }
    page
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn code(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    cell(&format!("`{text}`"))
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Returns the values that a schema accepts: a list, a type, or the definition that it refers to.
fn values(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return code(constant);
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return distinct(list.iter().map(code)).join(", ");
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return target.rsplit('/').next().unwrap().to_owned();
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(list) = schema.get(several).and_then(Value::as_array) {
            return distinct(list.iter().map(values)).join(" or ");
        }
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return String::new(),
    };
    let names = names
        .into_iter()
        .map(|name| match (name, schema.get("items")) {
            ("array", Some(items)) => format!("list of {}", values(items)),
            _ => name.to_owned(),
        });
    names.collect::<Vec<_>>().join(" or ")
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    cell(text.unwrap_or_default())
}

fn key_rows(prefix: &str, schema: &Value, page: &mut String) {
    for (name, value) in properties(schema).into_iter().flatten() {
        let key = format!("{prefix}{name}");
        let default = value.get("default").map(code).unwrap_or_default();
        let (values, text) = (values(value), description(value));
        writeln!(page, "| `{key}` | {values} | {default} | {text} |").unwrap();
        key_rows(&format!("{key}."), value, page);
        if let Some(items) = value.get("items") {
            key_rows(&format!("{key}[]."), items, page);
        }
    }
}

fn keys() -> String {
    let schema = meshprobe::settings::schema(meshprobe::engine::rule_names());
    let mut page = KEYS.to_owned();
    key_rows("", &serde_json::to_value(schema).unwrap(), &mut page);
    page
}

fn field_rows(prefix: &str, schema: &Value, page: &mut String) {
    for (name, value) in properties(schema).into_iter().flatten() {
        let key = format!("{prefix}{name}");
        let (values, text) = (values(value), description(value));
        writeln!(page, "| `{key}` | {values} | {text} |").unwrap();
        field_rows(&format!("{key}."), value, page);
    }
}

fn field_table(schema: &Value) -> String {
    let mut page = "| field | type | |\n|---|---|---|\n".to_owned();
    field_rows("", schema, &mut page);
    page
}

fn formats() -> String {
    let mut page = JSON.to_owned();
    for (file, command) in FORMATS {
        let text = fs::read_to_string(docs().join("schema").join(file)).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let about = description(&schema);
        let table = field_table(&schema);
        write!(
            page,
            "\n## {command}\n\n[Schema](schema/{file}). {about}\n\n{table}"
        )
        .unwrap();
        let definitions = schema.get("definitions").and_then(Value::as_object);
        for (name, definition) in definitions.into_iter().flatten() {
            let about = description(definition);
            let about = if about.is_empty() {
                about
            } else {
                format!("{about}\n\n")
            };
            let body = if properties(definition).is_some() {
                field_table(definition)
            } else {
                format!("{}\n", values(definition))
            };
            write!(page, "\n### {command}: `{name}`\n\n{about}{body}").unwrap();
        }
    }
    page
}

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

#[test]
fn the_reference_follows_from_the_help_and_the_schemas() {
    for (name, text) in [
        ("options.md", options()),
        ("configuration-keys.md", keys()),
        ("json.md", formats()),
    ] {
        let file = docs().join(name);
        if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let published = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            published == text,
            "docs/{name} is out of date: run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it docs::reference`"
        );
    }
}
