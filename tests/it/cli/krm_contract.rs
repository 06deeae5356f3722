//! The contract between orchestrators and a function: no resource is lost, the output is one document,
//! and every message is also a result.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

/// An item that the function does not interpret, in unusual notation.
const ODD: &str = "\
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: cfg, annotations: {a: 'b'}}   # kept
  base: &b {k: v}
  data:
    !!merge <<: *b
    z: \"1\"
    octal: 0777
    folded: >-
      one
      two
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: again}
  base: &b {k: w}
  data:
    !!merge <<: *b
";

const ANNOTATIONS: &str = "    annotations:
      config.kubernetes.io/index: '2'
      config.kubernetes.io/path: 'shop/web.yaml'
      internal.config.kubernetes.io/index: '2'
      internal.config.kubernetes.io/path: 'shop/web.yaml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/previousNames: 'web,x-web'
      internal.config.kubernetes.io/never-heard-of: \"yes\"
      config.k8s.io/id: '7'
      kustomize.config.k8s.io/id: |
        kind: Deployment
        name: web
";

fn list() -> String {
    format!(
        "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
{ODD}- apiVersion: v1
  kind: Namespace
  metadata: {{name: shop, labels: {{istio-injection: enabled}}}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
{ANNOTATIONS}  spec:
    template:
      metadata: {{labels: {{app: web}}}}
      spec:
        containers:
        - name: web # the shop
          livenessProbe: &probe
            !!merge <<: {{periodSeconds: 5}}
            httpGet:
              path: /healthz # deep
              port: 8080
"
    )
}

fn function(stdin: &str) -> Run {
    Project::new().pipe(&["krm"], stdin)
}

fn results(run: &Run) -> Vec<Value> {
    let answer: Value = serde_yaml::from_str(&run.stdout).unwrap();
    let results = answer.get("results").and_then(Value::as_array);
    results.cloned().unwrap_or_default()
}

#[test]
fn a_rewrite_keeps_every_other_byte() {
    for newline in ["\n", "\r\n"] {
        let text = list().replace('\n', newline);
        let answer = function(&text).exits(0).stdout;
        assert!(answer.contains("app-health"), "{answer}");
        assert!(answer.contains(&ODD.replace('\n', newline)));
        assert!(answer.contains(&ANNOTATIONS.replace('\n', newline)));
        for kept in [
            "- name: web # the shop",
            "&probe",
            "!!merge <<: {periodSeconds: 5}",
            "# deep",
        ] {
            assert!(answer.contains(kept), "{kept} in\n{answer}");
        }
        let ends = answer.matches('\n').count();
        assert_eq!(answer.matches(newline).count(), ends, "mixed line ends");
        assert_eq!(function(&answer).exits(0).stdout, answer);
    }
}

#[test]
fn the_output_is_one_document() {
    let refused = list().replace("port: 8080", "port: nowhere");
    for text in [list(), refused] {
        for text in [
            text.clone(),
            format!("---\n{text}"),
            format!("# head\n---\n{text}---\n"),
            format!("{text}...\n"),
        ] {
            let answer = function(&text).stdout;
            let separators = answer.lines().filter(|line| line.starts_with("---"));
            assert!(separators.count() <= 1, "{answer}");
            assert!(!answer.trim_end().ends_with("---"), "{answer}");
            let documents = serde_yaml::Deserializer::from_str(&answer).count();
            assert_eq!(documents, 1, "{answer}");
            assert!(answer.contains("\nitems:"), "{answer}");
        }
    }
}

/// kyaml, which reads what functions write, rejects them too.
#[test]
fn json_input_gives_json_output() {
    let value: Value = serde_json::from_str(
        r#"{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"istio-injection": "enabled"}}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [
                {"name": "web", "readinessProbe": {"tcpSocket": {"port": 1}}}]}}]}"#,
    )
    .unwrap();
    for text in [
        value.to_string(),
        serde_json::to_string_pretty(&value).unwrap(),
    ] {
        let answer = function(&text).exits(0).stdout;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let path = answer.pointer("/items/1/spec/containers/0/readinessProbe/httpGet/path");
        assert_eq!(path.unwrap(), "/app-health/web/readyz");
    }
}

#[test]
fn a_list_without_items_gets_an_empty_list() {
    for items in ["", "items:\n", "items: null\n"] {
        let text = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n{items}");
        let answer = function(&text).exits(0).stdout;
        let answer: Value = serde_yaml::from_str(&answer).unwrap();
        assert_eq!(
            answer.get("items").unwrap(),
            &Value::Array(vec![]),
            "{items:?}"
        );
    }
}

/// kpt also passes its own files and the configurations of functions; `kustomize fn run` passes any
/// YAML of the folder.
#[test]
fn other_items_are_passed_through_and_lists_are_expanded() {
    let text = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: shop}
  pipeline: {mutators: [{exec: meshprobe-krm}]}
- apiVersion: meshprobe.dev/v1alpha1
  kind: MeshProbe
  metadata: {name: fn}
  spec: {failOn: never}
- just: a map
- apiVersion: v1
  kind: List
  metadata: {name: l}
  items:
  - apiVersion: v1
    kind: Namespace
    metadata: {name: shop, labels: {istio-injection: enabled}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: shop}
    spec:
      template:
        metadata:
          labels: {app: web}
        spec:
          containers:
          - name: web
            livenessProbe: {httpGet: {path: /healthz, port: 8080}}
";
    let answer = function(text).exits(0).stdout;
    let (head, _) = text.split_once("- apiVersion: v1\n  kind: List").unwrap();
    assert!(answer.starts_with(head), "{answer}");
    assert!(answer.contains("path: /app-health/web/livez"), "{answer}");

    // The path of a field starts at the object that the result names, not at the list.
    let strict = format!("{text}functionConfig: {{apiVersion: v1, kind: ConfigMap, data: {{actions: check, assume.mtls: STRICT}}}}\n")
        .replace("labels: {app: web}\n", "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}\n");
    let run = function(&strict);
    let found = results(&run);
    let result = found.first().unwrap();
    assert_eq!(result.pointer("/resourceRef/kind").unwrap(), "Deployment");
    let path = result.pointer("/field/path").and_then(Value::as_str);
    assert_eq!(
        path,
        Some("spec.template.metadata.annotations[\"sidecar.istio.io/rewriteAppHTTPProbers\"]")
    );
}

#[test]
fn every_result_is_complete() {
    let strict = "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}}";
    let text = list().replace(
        "labels: {app: web}}",
        &format!("labels: {{app: web}}, {strict}"),
    ) + "functionConfig: {apiVersion: v1, kind: ConfigMap, data: {assume.mtls: STRICT, failOn: warning}}\n";
    let run = function(&text).exits(1);
    let found = results(&run);
    assert!(found.len() >= 2, "{}", run.stdout);
    for result in &found {
        let text = |place: &str| {
            let value = result.pointer(place).and_then(Value::as_str);
            value.unwrap_or_else(|| panic!("{place} in {result}"))
        };
        assert!(!text("/message").is_empty());
        assert!(["error", "warning", "info"].contains(&text("/severity")));
        assert_eq!(text("/resourceRef/apiVersion"), "apps/v1");
        assert_eq!(text("/resourceRef/kind"), "Deployment");
        assert_eq!(text("/resourceRef/namespace"), "shop");
        assert_eq!(text("/resourceRef/name"), "web");
        assert_eq!(text("/file/path"), "shop/web.yaml");
        assert_eq!(result.pointer("/file/index").unwrap(), 2);
        let rule = text("/tags/rule");
        assert_eq!(
            text("/tags/docs"),
            format!(
                "{}/blob/main/docs/rules/{rule}.md",
                env!("CARGO_PKG_REPOSITORY")
            )
        );
        assert!(["safe", "unsafe", "display-only", "no"].contains(&text("/tags/fixable")));
        let tags = result.get("tags").and_then(Value::as_object).unwrap();
        assert!(tags.values().all(Value::is_string), "{result}");
        // Findings of severity warning and above are also printed for people, as plain characters.
        let is_printed = run.stderr.contains(&format!("[{rule}]"));
        assert_eq!(
            is_printed,
            text("/severity") != "info",
            "{rule}: {}",
            run.stderr
        );
    }
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
}

/// The caller interprets an empty output with exit code 0 as "delete everything".
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let project = Project::with(&[("list.yaml", &list())]);
    let input = std::fs::File::open(project.path("list.yaml")).unwrap();
    let output = command(Path::new(PROGRAM), Path::new("/"))
        .arg("krm")
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("cannot write to standard output"),
        "{stderr}"
    );
}

/// A container has no home folder, no `/tmp`, and only its own program.
#[test]
fn the_function_needs_only_its_input() {
    // `command` clears the environment, and `/proc` contains none of our files.
    let mut bare = command(Path::new(PROGRAM), Path::new("/proc"));
    let run = run(bare.arg("krm"), list().as_bytes()).exits(0);
    assert!(run.stdout.contains("app-health"));
    assert_eq!(run.stderr, "");
}

#[test]
fn findings_that_are_not_shown_are_counted() {
    let config = "\
functionConfig:
  apiVersion: meshprobe.dev/v1alpha1
  kind: MeshProbe
  spec:
    actions: [check]
    rules: {strict-probe-not-rewritten: ignore}
";
    let policy = "\
- apiVersion: security.istio.io/v1
  kind: PeerAuthentication
  metadata: {name: default, namespace: shop}
  spec: {mtls: {mode: STRICT}}
";
    let list = |annotation: &str| {
        format!(
            "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
{config}items:
{policy}- apiVersion: v1
  kind: Pod
  metadata:
    name: web
    namespace: shop
    labels: {{sidecar.istio.io/inject: \"true\"}}
    annotations:
      sidecar.istio.io/rewriteAppHTTPProbers: \"false\"
{annotation}  spec:
    containers:
    - name: web
      readinessProbe: {{httpGet: {{path: /r, port: 8080}}}}
"
        )
    };
    let suppressed = "      meshprobe.dev/ignore: 'strict-probe-not-rewritten: known'\n";
    let cases = [
        (list(""), "Not shown: 1 finding ignored by the settings."),
        (
            list(suppressed).replace("    rules: {strict-probe-not-rewritten: ignore}\n", ""),
            "Not shown: 1 finding suppressed.",
        ),
        (
            list("").replace(": ignore}", ": note}"),
            "Severity changed by the settings: 1 finding.",
        ),
    ];
    for (text, sentence) in cases {
        let run = function(&text).exits(0);
        let line = format!("meshprobe: {sentence}\n");
        assert!(run.stderr.contains(&line), "{}\n{}", run.stderr, run.stdout);
        let results = results(&run);
        let counts = results
            .iter()
            .filter_map(|result| result.get("message")?.as_str());
        assert_eq!(
            counts.filter(|text| *text == sentence).count(),
            1,
            "{results:?}"
        );
    }
}
