//! How a finding is suppressed: only ways that suppress the finding of the example are shown.

use std::fs;
use std::path::Path;

use meshprobe::rules::{Example, Rule};
use serde_json::Value;

use super::check;
use crate::support::{Run, findings};

const MORE: &str = "[Suppressions](../configuration.md#suppressions) describes the details, and the list in the configuration.";

/// Returns the section.
pub(super) fn suppress(rule: &Rule, example: &Example) -> String {
    let id = rule.id.as_str();
    let comment = format!(
        "A comment on the reported line, or on a line of its own above it:\n\n```yaml\n# meshprobe: ignore[{id}] reason\n```\n"
    );
    let annotation = format!(
        "An annotation of the object or of its pod template:\n\n```yaml\nmetadata:\n  annotations:\n    \
         meshprobe.dev/ignore: \"{id}: reason\"\n```\n"
    );
    let ways: Vec<String> = [
        (comment_suppresses(rule, example), comment),
        (annotation_suppresses(rule, example), annotation),
    ]
    .into_iter()
    .filter_map(|(works, text)| works.then_some(text))
    .collect();
    if ways.is_empty() {
        return format!(
            "Suppress\nAn entry in the configuration:\n\n```yaml\nspec:\n  ignore:\n    - rule: {id}\n      reason: reason\n```\n"
        );
    }
    format!("Suppress\n{}\n{MORE}", ways.join("\n"))
}

fn comment_suppresses(rule: &Rule, example: &Example) -> bool {
    let run = check(rule, example, &["--output-format", "json"], |folder| {
        let mut arguments = vec!["check", "--isolated", "--select", rule.id.as_str()];
        arguments.extend(example.arguments.iter().map(String::as_str));
        arguments.extend(["--add-ignore", "reason"]);
        crate::support::meshprobe(folder, &arguments, "");
    });
    is_suppressed(&run)
}

fn annotation_suppresses(rule: &Rule, example: &Example) -> bool {
    let found = findings(&check(rule, example, &["--output-format", "json"], |_| {}));
    let run = check(rule, example, &["--output-format", "json"], |folder| {
        for finding in &found {
            annotate(folder, finding, rule.id.as_str());
        }
    });
    is_suppressed(&run)
}

/// Returns whether a run has findings, and all of them are suppressed.
fn is_suppressed(run: &Run) -> bool {
    let found = findings(run);
    let suppressed = |finding: &Value| finding.get("suppressed").is_some_and(|by| !by.is_null());
    !found.is_empty() && found.iter().all(suppressed)
}

/// Writes the annotation to the object of a finding, in its block of metadata.
fn annotate(folder: &Path, finding: &Value, rule: &str) {
    let text = |pointer: &str| {
        let value = finding.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let (path, kind, name) = (text("/path"), text("/object/kind"), text("/object/name"));
    let Ok(present) = fs::read_to_string(folder.join(path)) else {
        return;
    };
    if present.contains("meshprobe.dev/ignore") {
        return;
    }
    let annotation = format!("    meshprobe.dev/ignore: \"{rule}: reason\"\n");
    let documents = present.split("---\n").map(|document| {
        let has = |line: String| document.lines().any(|present| present == line);
        if !has(format!("kind: {kind}")) || !has(format!("  name: {name}")) {
            return document.to_owned();
        }
        let (_, metadata) = document.split_once("metadata:\n").unwrap_or_default();
        let in_metadata = metadata.lines().take_while(|line| line.starts_with(' '));
        if in_metadata.clone().any(|line| line == "  annotations:") {
            document.replacen(
                "  annotations:\n",
                &format!("  annotations:\n{annotation}"),
                1,
            )
        } else {
            let added = format!("metadata:\n  annotations:\n{annotation}");
            document.replacen("metadata:\n", &added, 1)
        }
    });
    let written = documents.collect::<Vec<_>>().join("---\n");
    fs::write(folder.join(path), written).unwrap();
}
