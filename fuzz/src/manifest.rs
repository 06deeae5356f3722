//! Manifests that contain a generated text, and properties of their findings.

use meshprobe::engine::{self, Outcome};
use meshprobe::finding::Finding;
use meshprobe::report::{self, TerminalStyle};
use meshprobe::settings::{InjectionAssumption, Settings};
use meshprobe::source::SourceSet;

/// Returns settings under which pods are in the mesh.
pub(crate) fn injected() -> Settings {
    let mut settings = Settings {
        mesh_version: "1.28".parse().ok(),
        ..Settings::default()
    };
    settings.assume.injection = Some(InjectionAssumption::All);
    settings
}

/// Returns a Deployment with these annotations on its pods, and this prober env in the container of its
/// sidecar. All values are quoted as JSON, which is valid YAML.
pub(crate) fn deployment(annotations: &[(&str, &str)], env: Option<&str>) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let annotations: Vec<String> = annotations
        .iter()
        .map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)))
        .collect();
    let sidecar = env.map_or_else(String::new, |env| {
        format!(
            "        - name: istio-proxy\n          image: auto\n          env:\n            - name: ISTIO_KUBE_APP_PROBERS\n              value: {}\n",
            quoted(env)
        )
    });
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web}}
      annotations: {{{}}}
    spec:
      containers:
        - name: web
          image: web
          ports:
            - {{name: http, containerPort: 8080}}
          livenessProbe:
            httpGet: {{path: /app-health/web/livez, port: 15020}}
          readinessProbe:
            tcpSocket: {{port: http}}
          startupProbe:
            grpc: {{port: 9090}}
{sidecar}",
        annotations.join(", ")
    )
}

/// Checks the files, and verifies the findings.
pub(crate) fn check_and_verify(set: &SourceSet, settings: &Settings) -> Outcome {
    let outcome = engine::check(set, settings);
    verify_findings(set, &outcome.findings);
    verify_findings(set, &outcome.suppressed);
    outcome
}

/// Checks the files, verifies the findings, and prints them in every format.
pub(crate) fn check_and_print(set: &SourceSet, settings: &Settings) -> Outcome {
    let outcome = check_and_verify(set, settings);
    for look in [
        TerminalStyle::PLAIN,
        TerminalStyle {
            width: 40,
            terminal: true,
            color: false,
            unicode: true,
        },
    ] {
        let human = report::full(set, &outcome.findings, look);
        let concise = report::concise(set, &outcome.findings, look);
        assert!(
            !(human + &concise)
                .chars()
                .any(|c| c.is_control() && c != '\n'),
            "a control character reaches the terminal"
        );
    }
    let json = report::CheckReport::new(set, &outcome, None);
    let json = report::json(&json).expect("the JSON report fails");
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
    outcome
}

/// Verifies that findings are sorted and inside their files, and that none is an internal error.
pub(crate) fn verify_findings(set: &SourceSet, findings: &[Finding]) {
    for finding in findings {
        assert_ne!(finding.rule.as_str(), "internal-error", "{finding:?}");
        assert!(!finding.message.is_empty());
        for label in std::iter::once(&finding.primary).chain(&finding.related) {
            let Some(file) = set.file(&label.path) else {
                continue;
            };
            let (span, text) = (label.span, &file.text);
            assert!(
                span.start <= span.end && span.end <= text.len(),
                "{label:?} is outside of its file"
            );
            assert!(
                text.is_char_boundary(span.start) && text.is_char_boundary(span.end),
                "{label:?} cuts a character"
            );
        }
    }
    let places: Vec<_> = findings
        .iter()
        .map(|finding| (&finding.primary.path, finding.primary.span.start))
        .collect();
    assert!(places.is_sorted(), "findings are out of order");
}
