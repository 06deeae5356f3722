//! No text causes a panic or the loss of a document.

use std::path::Path;
use std::sync::Arc;

use meshprobe::engine::{self, Exit, Outcome};
use meshprobe::finding::{Finding, Label, Severity};
use meshprobe::krm;
use meshprobe::report::{self, TerminalStyle};
use meshprobe::settings::Settings;
use meshprobe::source::{SourceFile, SourceSet};
use meshprobe::yaml::Span;
use proptest::prelude::*;

/// Lines that resemble manifests, and invalid lines.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("apiVersion: apps/v1".to_owned()),
        Just("kind: Deployment".to_owned()),
        Just("kind: ResourceList".to_owned()),
        Just("---".to_owned()),
        Just("...".to_owned()),
        Just("%YAML 1.2".to_owned()),
        Just("{{- if .Values.x }}".to_owned()),
        Just("spec: &a {template: *a, items: [*a]}".to_owned()),
        Just("spec: {template: {spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1}}}]}}}".to_owned()),
        Just("metadata: {name: a, annotations: {x: y, x: z}}".to_owned()),
        "[ \t]{0,4}[a-z]{1,3}: [\\[\\]{}&*!|>'\"%@`#,?-]{0,4}[a-z0-9]{0,5}",
        "\\PC{0,30}",
        "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}\u{feff}]{0,5}",
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("")];
    proptest::collection::vec((line, end), 0..20)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

fn label(text: &str, start: usize, length: usize) -> Label {
    Label {
        path: Arc::from("x.yaml"),
        span: Span::new(
            start % (text.len() + 2),
            (start + length) % (text.len() + 2),
        ),
        message: text.chars().take(length % 10).collect(),
    }
}

proptest! {
    #[test]
    fn documents_cover_the_whole_text(text in text()) {
        let file = SourceFile::new(Arc::from("x.yaml"), Arc::from(text.as_str()));
        let joined: String = file.documents.iter().map(|document| document.segment.slice(&text)).collect();
        prop_assert_eq!(joined, text);
    }

    #[test]
    fn every_command_handles_every_text(text in text()) {
        let set = SourceSet::from_text("x.yaml", &text);
        let settings = Settings::default();
        let outcome = engine::check(&set, &settings);
        prop_assert!(outcome.findings.iter().all(|finding| finding.rule.as_str() != "internal-error"), "{:?}", outcome.findings);
        let rewritten = engine::rewrite(&set, &settings);
        prop_assert!(rewritten.findings.iter().all(|finding| finding.rule.as_str() != "internal-error"));
        for look in [TerminalStyle::PLAIN, TerminalStyle { width: 40, terminal: true, color: true, unicode: true }] {
            let shown = report::full(&set, &outcome.findings, look) + &report::concise(&set, &outcome.findings, look);
            prop_assert!(look.color || !shown.chars().any(|c| c.is_control() && c != '\n'));
        }
        let json = report::json(&report::CheckReport::new(&set, &outcome, None)).unwrap_or_default();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        prop_assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn labels_can_be_at_any_position(text in text(), places in proptest::collection::vec((0..400_usize, 0..40_usize), 1..5), width in 0..100_usize) {
        let set = SourceSet::from_text("x.yaml", &text);
        let mut labels = places.into_iter().map(|(start, length)| label(&text, start, length));
        let primary = labels.next().unwrap_or_else(|| label(&text, 0, 0));
        let mut finding = Finding::new(meshprobe::finding::RuleId::from_static("rule").unwrap(), Severity::Warning, primary, text.clone());
        finding.related = labels.collect();
        let look = TerminalStyle { width, terminal: true, color: false, unicode: true };
        let findings = vec![finding];
        let shown = report::full(&set, &findings, look);
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
        let outcome = Outcome { findings, ..Outcome::default() };
        prop_assert!(report::json(&report::CheckReport::new(&set, &outcome, None)).is_ok());
    }

    #[test]
    fn the_function_never_succeeds_without_output(bytes in prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        text().prop_map(String::into_bytes),
        text().prop_map(|text| format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n{text}").into_bytes()),
    ]) {
        let answer = krm::run(&bytes, Path::new("/nowhere"), None);
        match answer.exit {
            Exit::Failure => prop_assert!(answer.output.is_none() && !answer.messages.is_empty()),
            _ => prop_assert!(answer.output.is_some_and(|output| output.contains("items"))),
        }
    }
}
