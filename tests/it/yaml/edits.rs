//! Edits of whole documents in many layouts, each shown as a diff.
//!
//! `fixtures/yaml/edits/NAME.changes` contains scenarios for `NAME.yaml` (or `NAME.json`), separated by empty lines.
//! Each starts with the unchanged file. A line is one change, values are JSON, and `block` before a string requests a
//! literal block.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use meshprobe::yaml::edit::{apply, plan, splice};
use meshprobe::yaml::{Change, FieldPath, Span, Tree, Value, parse};
use similar::TextDiff;

/// Splits a file at its `---` lines; each document starts with its own.
fn segments(text: &str) -> Vec<Span> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(text.len());
    starts
        .windows(2)
        .map(|pair| Span::new(pair[0], pair[1]))
        .collect()
}

fn value(text: &str) -> Value {
    match text.strip_prefix("block ") {
        Some(text) => Value::Block(serde_json::from_str(text).unwrap()),
        None => from_yaml(serde_yaml::from_str(text).unwrap()),
    }
}

fn from_yaml(value: serde_yaml::Value) -> Value {
    match value {
        serde_yaml::Value::Bool(value) => Value::Bool(value),
        serde_yaml::Value::Number(number) => Value::Int(number.as_i64().unwrap()),
        serde_yaml::Value::String(text) => Value::Str(text),
        serde_yaml::Value::Sequence(items) => {
            Value::Seq(items.into_iter().map(from_yaml).collect())
        }
        serde_yaml::Value::Mapping(entries) => {
            let entries = entries.into_iter();
            Value::Map(
                entries
                    .map(|(key, value)| (key.as_str().unwrap().to_owned(), from_yaml(value)))
                    .collect(),
            )
        }
        _ => Value::Null,
    }
}

/// Reads `a.b[0]["c.d"]`.
fn route(text: &str) -> FieldPath {
    let mut route = FieldPath::root();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let (key, after) = quoted.split_once("\"]").unwrap();
            route = route.child(key.to_owned());
            rest = after;
        } else if let Some(bracket) = rest.strip_prefix('[') {
            let (index, after) = bracket.split_once(']').unwrap();
            route = route.child(index.parse::<usize>().unwrap());
            rest = after;
        } else {
            rest = rest.trim_start_matches('.');
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            route = route.child(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    route
}

fn change(line: &str) -> Change {
    let (verb, rest) = line.split_once(' ').unwrap();
    let (place, given) = rest.split_once(" = ").unwrap_or((rest, "null"));
    let route = route(place);
    match verb {
        "set" => Change::Set {
            route,
            value: value(given),
        },
        "push" => Change::Push {
            route,
            value: value(given),
        },
        "remove" => Change::Remove { route },
        "replace" => {
            let (key, given) = given.split_once(": ").unwrap();
            Change::Replace {
                route,
                key: key.to_owned(),
                value: value(given),
            }
        }
        _ => panic!("unknown change: {line}"),
    }
}

/// Makes carriage returns, tabs, byte order marks, and blanks at line ends visible.
fn visible(text: &str) -> String {
    text.replace('\r', "␍")
        .replace('\t', "→")
        .replace('\u{feff}', "<BOM>")
        .replace(" \n", "·\n")
}

fn run(text: &str, scenario: &str) -> String {
    let mut document = 0;
    let mut changes = Vec::new();
    for line in scenario.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("document ") {
            Some(number) => document = number.parse().unwrap(),
            None => changes.push(change(line)),
        }
    }
    let shared: Arc<str> = Arc::from(text);
    let tree: Tree = parse(&shared, segments(text)[document]).unwrap().unwrap();
    let edits = match apply(&tree, &changes) {
        Ok(edits) => edits,
        Err(error) => {
            let line = text[..error.offset].lines().count().max(1);
            return format!("refused at line {line}: {error}\n");
        }
    };
    let after = splice(text, &edits);
    check_idempotence(&after, document, &changes);
    if serde_json::from_str::<serde_json::Value>(text).is_ok() {
        serde_json::from_str::<serde_json::Value>(&after).expect("the result is not JSON");
    }
    let (before, after) = (visible(text), visible(&after));
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    diff.unified_diff().context_radius(2).to_string()
}

/// Checks that the same settings change nothing the second time; skips pushes and removals.
fn check_idempotence(after: &str, document: usize, changes: &[Change]) {
    let repeatable = changes
        .iter()
        .all(|change| matches!(change, Change::Set { .. } | Change::Replace { .. }));
    if !repeatable {
        return;
    }
    let tree = parse(&Arc::from(after), segments(after)[document])
        .unwrap()
        .unwrap();
    assert_eq!(
        plan(&tree, changes),
        Ok(Vec::new()),
        "not idempotent:\n{after}"
    );
}

#[test]
fn edits_touch_only_what_must_change() {
    insta::glob!("../../../fixtures/yaml/edits", "*.changes", |path| {
        let scenarios = fs::read_to_string(path).unwrap();
        let text = fs::read_to_string(path.with_extension("yaml"))
            .or_else(|_| fs::read_to_string(path.with_extension("json")))
            .unwrap();
        let mut shown = String::new();
        for scenario in scenarios
            .split("\n\n")
            .map(str::trim_end)
            .filter(|s| !s.is_empty())
        {
            writeln!(shown, "{scenario}\n{}", run(&text, scenario)).unwrap();
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true, snapshot_suffix => ""}, {
            insta::assert_snapshot!(name, shown);
        });
    });
}
