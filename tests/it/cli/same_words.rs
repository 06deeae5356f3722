//! `check` and `predict` use the same words for the same probe: its outcome, its port and the text of the kubelet.
//! Functions and assistants get settings in their own words.

use std::collections::BTreeMap;
use std::path::Path;

use meshprobe::finding::Assumption;
use meshprobe_report::Reader::{Assistant, Function};
use serde_json::Value;

use crate::support::predictions::workloads;
use crate::support::{Run, case_folders, findings, meshprobe};

/// The predictions of a run, by object, container and field.
type ByProbe = BTreeMap<(String, String, String), Vec<Value>>;

fn run(folder: &Path, command: &str, options: &[&str]) -> Run {
    let arguments = [&[command, "--isolated"], options, &["."]].concat();
    meshprobe(folder, &arguments, "")
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn by_probe(run: &Run) -> ByProbe {
    let mut by_probe = ByProbe::new();
    for workload in workloads(run) {
        for handler in workload["handlers"].as_array().unwrap() {
            let key = (
                text(&workload, "/object/name"),
                text(handler, "/container"),
                text(handler, "/field"),
            );
            by_probe.entry(key).or_default().push(handler.clone());
        }
    }
    by_probe
}

/// Returns the predictions for the probe that a finding is about.
fn predicted<'p>(by_probe: &'p ByProbe, finding: &Value) -> Option<&'p Vec<Value>> {
    let object = text(finding, "/object/name");
    let (container, field) = (text(finding, "/container"), text(finding, "/field"));
    let mut probes = by_probe.iter();
    let found = probes.find(|((of, within, path), _)| {
        *of == object && *within == container && field.starts_with(path.as_str())
    });
    found.map(|(_, handlers)| handlers)
}

#[test]
fn outcomes_and_texts_of_the_kubelet_are_equal() {
    let mut compared = 0;
    for folder in case_folders("rules") {
        let json = ["--output-format", "json"];
        let options = [&json[..], &["--fail-on", "never"]].concat();
        let checked = run(&folder, "check", &options);
        let by_probe = by_probe(&run(&folder, "predict", &json));
        for finding in findings(&checked) {
            // A finding about another value of a fact is not about the predicted outcome.
            let is_alternative = text(&finding, "/message").starts_with("if ");
            let Some(handlers) = predicted(&by_probe, &finding).filter(|_| !is_alternative) else {
                continue;
            };
            for pointer in ["/outcome", "/kubelet"] {
                let word = text(&finding, pointer);
                let mut words = handlers.iter().map(|handler| text(handler, pointer));
                assert!(
                    word.is_empty() || words.any(|other| other == word),
                    "{}: {pointer} `{word}` of {finding} is not predicted",
                    folder.display()
                );
                compared += usize::from(!word.is_empty());
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Returns the texts in backticks after the word `port`.
fn ports(message: &str) -> Vec<&str> {
    let parts = message.split("port `").skip(1);
    parts.filter_map(|rest| rest.split('`').next()).collect()
}

/// A port in a message is written like the port in the column `PROBE`: a quoted number in quotes, a name without.
#[test]
fn ports_are_written_in_the_same_way() {
    let mut compared = Vec::new();
    for rule in [
        "probe-port-quoted-number",
        "vm-port-name",
        "probe-port-of-other-container",
    ] {
        for folder in case_folders("rules") {
            if !folder.ends_with(rule) {
                continue;
            }
            let options = ["--output-format", "json", "--fail-on", "never"];
            let checked = findings(&run(&folder, "check", &options));
            let table = run(&folder, "predict", &[]).stdout;
            let of_rule = checked.iter().filter(|finding| finding["rule"] == rule);
            for finding in of_rule {
                for port in ports(&text(finding, "/message")) {
                    let shown = format!(":{port}");
                    let is_same =
                        |word: &str| word == shown || word.starts_with(&format!("{shown}/"));
                    assert!(
                        table.split_whitespace().any(is_same),
                        "{shown} is not in\n{table}"
                    );
                    compared.push(port.to_owned());
                }
            }
        }
    }
    compared.sort();
    compared.dedup();
    assert_eq!(compared, ["\"70000\"", "\"8080\"", "http", "metrics"]);
}

#[test]
fn settings_are_written_in_the_words_of_the_reader() {
    for (options, keys, arguments) in [
        (
            "add it (`--context`), or use `--assume injection=all --assume revision=x`",
            "add it (`context`), or use `assume: {injection: all, revision: x}`",
            "add it (`context`), or use `assume: [\"injection=all\", \"revision=x\"]`",
        ),
        (
            "set the release with `--mesh-version`",
            "set the release with `mesh.version`",
            "set the release with `mesh_version`",
        ),
        (
            "use `--form container`, or `--allow release-not-proven` after a test",
            "use `form: container`",
            "",
        ),
        (
            "rewrite the output, or use `--override injection=all`",
            "rewrite the output",
            "rewrite the output, or use `override: [\"injection=all\"]`",
        ),
        (
            "use `--mesh kuma --mesh-version 2.10`",
            "use `mesh.kind: kuma, mesh.version: 2.10`",
            "use `mesh: \"kuma\", mesh_version: \"2.10\"`",
        ),
        ("correct the port", "correct the port", "correct the port"),
        ("use `--allow knative`", "", ""),
        (
            "undo it: `meshprobe rewrite --undo --context . -`",
            "",
            "undo it: `meshprobe rewrite --undo --context . -`",
        ),
    ] {
        assert_eq!(Function.help(options).unwrap_or_default(), keys);
        assert_eq!(Assistant.help(options).unwrap_or_default(), arguments);
    }
    let assumption = |option: &'static str| Assumption {
        fact: "it is so".to_owned(),
        option: Some(option.into()),
    };
    assert_eq!(
        Function.assumption(&assumption("--override mtls=MODE")),
        "it is so"
    );
    assert_eq!(
        Assistant.assumption(&assumption("--assume rewrite=true|false")),
        "it is so [assume: [\"rewrite=true|false\"]]"
    );
    assert_eq!(
        Function.message("mTLS is STRICT (--assume)"),
        "mTLS is STRICT (assume)"
    );
}
