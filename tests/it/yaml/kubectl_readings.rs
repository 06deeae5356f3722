//! Compares our reading of documents with those of kubectl and kustomize.
//!
//! `tests/kubectl_yaml` contains their parsers. A document of ordinary characters that kubectl reads is read as the same
//! value, or reported as ambiguous. White space that YAML 1.2 forbids is a syntax error, except in quoted scalars.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use meshprobe::source::SourceFile;
use meshprobe::yaml;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde::Deserialize;
use serde_json::Value;

use super::kubectl_texts::{outdented, texts};
use crate::support;
use crate::support::project::Project;

/// Syntax errors in documents that kubectl reads: comments that touch a token, tabs at the start of a line, a BOM within a
/// document, and the header of a block scalar in the column of its key.
const STRICTER: [&str; 4] = [
    "comments must be separated from other tokens by whitespace",
    "tab cannot be used as indentation",
    "a BOM must not appear inside a document",
    "simple key expected ':'",
];

/// Regression inputs that kubectl reads as another value: a `?` within a text, and a line break of YAML 1.1.
const READ_DIFFERENTLY: [&str; 3] = ["&x?a\nb", "{ ?\"title\": x }", "a\u{85}b"];

/// A process of the Go program.
struct Oracle {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kubectl: Option<Vec<Value>>,
    kubectl_error: Option<String>,
    build_error: Option<String>,
}

impl Oracle {
    /// Starts the program. Returns `None`, with a message, if it is not installed.
    fn start() -> Option<Self> {
        let mut child = Command::new(support::kubectl_yaml()?)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        })
    }

    fn read(&mut self, text: &str) -> Answer {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        self.stdin.write_all(&length).unwrap();
        self.stdin.write_all(text.as_bytes()).unwrap();
        self.stdin.flush().unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Results of comparing the readings of texts.
#[derive(Debug, Default)]
struct Counts {
    texts: usize,
    refused_by_kubectl: usize,
    same: usize,
    ambiguous: usize,
    /// Texts without content for us, from which kubectl reads no manifest either.
    hidden: usize,
    /// Texts that only we refuse, because of their white space, and those of `READ_DIFFERENTLY`.
    stricter: usize,
    differences: Vec<String>,
}

impl Counts {
    fn compare(&mut self, oracle: &mut Oracle, text: &str) {
        self.texts += 1;
        // kubectl ends every line with a line break, including the last one.
        let text = format!("{}\n", text.strip_suffix('\n').unwrap_or(text));
        let answer = oracle.read(&text);
        let ours = our_reading(&text);
        if answer.kubectl_error.is_some() {
            self.refused_by_kubectl += 1;
            return;
        }
        let kubectl = answer.kubectl.unwrap_or_default();
        match ours {
            Ok((values, _)) if same(&values, &kubectl) => self.same += 1,
            Ok((_, true)) => self.ambiguous += 1,
            // A comment that hides something other than a manifest is not reported.
            Ok((values, false)) if values.is_empty() && !kubectl.iter().any(is_manifest) => {
                self.hidden += 1;
            }
            Ok((_, false)) if READ_DIFFERENTLY.contains(&text.trim_end()) => self.stricter += 1,
            Err(error) if STRICTER.iter().any(|known| error.contains(known)) => self.stricter += 1,
            Ok((values, false)) => {
                let values = Value::Array(values);
                let kubectl = Value::Array(kubectl);
                self.differences.push(format!(
                    "{text}\n--- ours\n{values}\n--- kubectl\n{kubectl}"
                ));
            }
            Err(error) => self
                .differences
                .push(format!("{text}\n--- only our parser refuses it: {error}")),
        }
    }
}

/// Returns the documents of a text, and whether one of them is reported as ambiguous.
fn our_reading(text: &str) -> Result<(Vec<Value>, bool), String> {
    let file = SourceFile::new("x.yaml".into(), Arc::from(text));
    let mut values = Vec::new();
    let mut ambiguous = false;
    for document in &file.documents {
        let tree = yaml::parse(&file.text, document.segment).map_err(|error| error.message)?;
        let Some(tree) = tree else { continue };
        ambiguous |= !yaml::ambiguities(&tree).is_empty() || !tree.duplicate_keys().is_empty();
        let value: Value = tree
            .root()
            .map_or(Ok(Value::Null), yaml::from_node)
            .map_err(|error| error.message)?;
        if !value.is_null() {
            values.push(value);
        }
    }
    Ok((values, ambiguous))
}

fn is_manifest(value: &Value) -> bool {
    value.get("apiVersion").is_some() && value.get("kind").is_some()
}

fn same(left: &[Value], right: &[Value]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| same_value(left, right))
}

fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => same(left, right),
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right.get(key).is_some_and(|right| same_value(value, right))
                })
        }
        _ => left == right,
    }
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn a_file_that_kustomize_builds_is_not_reported_as_refused() {
    let Some(mut oracle) = Oracle::start() else {
        return;
    };
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let parts = [
        "null\n", "~\n", "[]\n", "{}\n", "# c\n", "", "a\n", "\"\"\n", "3\n", "- a\n", "a: b\n",
        object,
    ];
    let mut built = 0;
    for first in parts {
        for second in parts {
            let text = format!("{first}---\n{second}");
            let project = Project::with(&[
                (
                    "kustomization.yaml",
                    "resources: [resource.yaml, pod.yaml]\n",
                ),
                ("pod.yaml", POD),
                ("resource.yaml", &text),
            ]);
            let refuses = project.run(&["check"]).stdout.contains("kustomize refuses");
            let builds = oracle.read(&text).build_error.is_none();
            assert!(!(builds && refuses), "{text}");
            built += usize::from(builds);
        }
    }
    assert!(built > 20, "{built}");
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {sidecar.istio.io/inject: 'true'}}\nspec: \
                   {containers: [{name: web, livenessProbe: {httpGet: {path: /, port: 80}}}]}\n";

fn fixtures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    let files = files.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    files.filter(|text| text.len() < 1 << 18).collect()
}

#[test]
#[ignore = "slow: `cargo test -- --include-ignored` and .ci/test run it"]
fn a_text_that_kubectl_reads_is_read_as_the_same_value() {
    let Some(mut oracle) = Oracle::start() else {
        return;
    };
    let mut files = Counts::default();
    for text in fixtures() {
        files.compare(&mut oracle, &text);
    }
    let mut generated = Counts::default();
    let count = std::env::var("MESHPROBE_KUBECTL_TEXTS").ok();
    let count = count.map_or(2_000, |count| count.parse().unwrap());
    let mut runner = TestRunner::deterministic();
    for (strategy, count) in [(texts().boxed(), count), (outdented().boxed(), count / 2)] {
        for _ in 0..count {
            let text = strategy.new_tree(&mut runner).unwrap().current();
            generated.compare(&mut oracle, &text);
        }
    }
    let all = [("fixtures", &files), ("generated", &generated)];
    for (name, counts) in all {
        println!(
            "{name}: {} texts, {} refused by kubectl, {} read alike, {} ambiguous, {} without a manifest, {} stricter, {} different",
            counts.texts,
            counts.refused_by_kubectl,
            counts.same,
            counts.ambiguous,
            counts.hidden,
            counts.stricter,
            counts.differences.len()
        );
        for difference in counts.differences.iter().take(20) {
            println!("{difference}\n======");
        }
    }
    assert!(files.same > 500 && files.stricter < 20);
    assert!(
        generated.same * 10 > generated.texts
            && (generated.hidden + generated.stricter) * 100 < generated.texts
    );
    assert!(all.iter().all(|(_, counts)| counts.differences.is_empty()));
}
