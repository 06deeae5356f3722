//! Every text that a prediction can contain leads to a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use crate::rules::fixture::fixtures;
use crate::support::rust_code::code;
use crate::support::{fixture, meshprobe, predictions};
use meshprobe::symptoms::{self, Specificity};

/// Returns the texts of the kubelet in the findings of all fixtures of rules, and in the predictions for the measured
/// workloads.
fn predicted_texts() -> &'static BTreeSet<String> {
    static TEXTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let text = |value: &Value| value["kubelet"].as_str().map(str::to_owned);
        let findings = fixtures().iter().flat_map(|fixture| fixture.findings());
        let mut texts: BTreeSet<String> = findings.filter_map(|finding| text(&finding)).collect();
        // The text for an undeclared port name depends on the release of Kubernetes.
        let names = [
            "predict",
            "--isolated",
            "--output-format",
            "json",
            "--assume",
            "node-version=1.37",
        ];
        let names = [&names[..], &["base.yaml", "workloads.off.yaml"]].concat();
        let run = meshprobe(&fixture("live"), &names, "");
        texts.extend(predictions::handlers(&run).iter().filter_map(text));
        for policy in fs::read_dir(fixture("live/policies")).unwrap() {
            let policy = policy.unwrap().path();
            let policy = policy.to_str().unwrap();
            for workloads in ["workloads.off.yaml", "workloads.on.yaml"] {
                let arguments = ["predict", "--isolated", "--output-format", "json"];
                let arguments = [&arguments[..], &["base.yaml", workloads, policy]].concat();
                let run = meshprobe(&fixture("live"), &arguments, "");
                texts.extend(predictions::handlers(&run).iter().filter_map(text));
            }
        }
        texts
    });
    &TEXTS
}

#[test]
fn other_refusals_of_the_api_server_lead_to_no_page() {
    for text in [
        "The Service \"web\" is invalid: spec.ports[0].nodePort: Invalid value: 99999: provided port is not in the valid range",
        "The Service \"web\" is invalid: spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535, inclusive",
        "The ConfigMap \"web\" is invalid: []: Too long: must have at most 1048576 bytes",
        "Deployment.apps \"web\" is invalid: spec.selector: Invalid value: {}: field is immutable",
    ] {
        assert!(symptoms::find(text).is_empty(), "{text}");
    }
}

#[test]
fn errors_of_a_registry_and_longer_numbers_lead_to_no_page() {
    for text in [
        "Failed to pull image \"a/b\": rpc error: code = Unavailable desc = read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer",
        "Back-off pulling image \"a/b\": connection refused",
        "HTTP probe failed with statuscode: 5030",
    ] {
        let found = symptoms::find(text);
        let errors = found
            .iter()
            .filter(|found| found.specificity >= Specificity::Error);
        let ids: Vec<&str> = errors.map(|found| found.symptom.id).collect();
        assert!(
            ids.is_empty() || ids == ["statuscode-other"],
            "{text}: {ids:?}"
        );
    }
    let pod = "Failed to pull image \"a\": connection reset by peer\nHTTP probe failed with statuscode: 503";
    assert_eq!(symptoms::find(pod)[0].symptom.id, "statuscode-503");
}

/// The words of an error that another program prints.
const OF_ERRORS: &str = r"(?-u:\b)(cannot|denied|error|failed|invalid|must be|not found|refused|required|unauthorized|unknown|unmarshal)(?-u:\b)";

/// Returns the errors of other programs that the prose of a page quotes.
fn quoted_errors(page: &str) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)```.*?```").unwrap());
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"`([^`]+)`|\("([^"`]+)"\)"#).unwrap());
    static ERROR: LazyLock<Regex> = LazyLock::new(|| Regex::new(OF_ERRORS).unwrap());
    let prose = BLOCK.replace_all(page, "");
    let quoted = QUOTED.captures_iter(&prose);
    let texts = quoted.filter_map(|found| found.get(1).or_else(|| found.get(2)));
    let texts = texts.map(|text| {
        text.as_str()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    });
    let is_command = |text: &String| {
        ["meshprobe ", "kubectl ", "istioctl ", "--"]
            .iter()
            .any(|start| text.starts_with(start))
    };
    let is_error = |text: &String| text.split(' ').count() >= 3 && ERROR.is_match(text);
    texts
        .filter(|text| is_error(text) && !is_command(text))
        .collect()
}

#[test]
fn the_errors_that_pages_of_rules_quote_lead_to_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let page = fs::read_to_string(&path).unwrap();
        for text in quoted_errors(&page) {
            count += 1;
            if symptoms::find(&text).is_empty() {
                wrong.push(format!("{}: {text}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 8, "{count} quoted errors");
}

#[test]
fn every_predicted_text_leads_to_a_page() {
    let texts = predicted_texts();
    let mut wrong = Vec::new();
    let mut pages = BTreeSet::new();
    for text in texts {
        match symptoms::find(text).first() {
            Some(best) if best.specificity >= Specificity::Error => {
                pages.insert(best.symptom.id);
            }
            _ => wrong.push(text),
        }
    }
    println!("{} texts lead to {} pages", texts.len(), pages.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(texts.len() > 80, "{} texts", texts.len());
    assert!(pages.len() >= 15, "{pages:?}");
}

/// A new text in the model needs a fixture, so that the test above sees it.
#[test]
fn the_fixtures_contain_every_text_of_the_model() {
    let mut missing = Vec::new();
    let mut compared = 0;
    for file in [
        "crates/predict/src/predict/istio/kubelet.rs",
        "crates/predict/src/predict/go_url.rs",
    ] {
        for literal in texts_in(file) {
            let pattern = placeholders_as_wildcards(&literal);
            compared += 1;
            if !predicted_texts().iter().any(|text| pattern.is_match(text)) {
                missing.push(format!("{file}: {literal}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(compared >= 20, "{compared} texts");
}

/// Returns the string literals of a file that are texts of the kubelet, which contain a colon or a word of an event.
fn texts_in(file: &str) -> Vec<String> {
    static LITERAL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\[\s\S])*)""#).unwrap());
    static CONTINUED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\\\n\s*").unwrap());
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let lines: Vec<String> = code(&text).into_iter().map(|(_, line)| line).collect();
    let text = lines.join("\n");
    LITERAL
        .captures_iter(&text)
        .map(|found| CONTINUED.replace_all(&found[1], "").replace("\\\"", "\""))
        .filter(|literal| {
            let is_message = literal.contains(": ") || literal.contains(" not found");
            // The messages of meshprobe about a path quote it.
            is_message && !literal.contains('`')
        })
        .collect()
}

fn placeholders_as_wildcards(literal: &str) -> Regex {
    static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{[^{}]*\}").unwrap());
    let parts: Vec<String> = PLACEHOLDER.split(literal).map(regex::escape).collect();
    Regex::new(&parts.join(".*")).unwrap()
}

/// The patterns are compared with lines in normal form.
#[test]
fn patterns_are_in_normal_form() {
    for symptom in symptoms::all() {
        for pattern in symptom.patterns {
            for fragment in pattern.fragments {
                assert_eq!(*fragment, symptoms::normal_line(fragment), "{}", symptom.id);
            }
        }
    }
}

proptest! {
    /// Other lines of a pasted text never hide an error, and no text causes a panic.
    #[test]
    fn an_event_between_other_lines_is_found(
        before in "([ -~\u{1b}“é\t]{0,60}\n){0,4}",
        after in "(\n[ -~\u{1b}“é\t]{0,60}){0,4}",
        blanks in "[ \t]{0,8}",
    ) {
        let event = "Warning  Unhealthy  Readiness probe failed: RBAC: access denied";
        let text = format!("{before}{blanks}{event}{after}");
        let found = symptoms::find(&text);
        prop_assert!(found.iter().any(|found| found.symptom.id == "rbac-access-denied"), "{text:?}");
    }
}

/// A large text without line breaks, with many starts of patterns, takes time in proportion to its size.
#[test]
fn a_large_text_is_searched() {
    let text = format!(
        "{} {}",
        "probe errored ".repeat(20_000),
        "[1.1.1.1:2->".repeat(10_000)
    );
    assert!(symptoms::find(&text).is_empty());
    let lines = "probe errored\n".repeat(2_000);
    assert!(symptoms::find(&lines).is_empty());
}
