//! The KRM function.

use std::path::Path;

use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a # keep me
    annotations:
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'd/a.yaml'
      kustomize.config.k8s.io/id: |
        kind: ConfigMap
        name: a
  base: &b {k: v}
  data:
    !!merge <<: *b
    z: \"1\"
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: function-input}, data: {}}
";

fn function(stdin: &str) -> Run {
    Project::new().pipe(&["krm"], stdin)
}

fn with_config(spec: &str) -> String {
    let (items, _) = LIST.split_once("functionConfig").unwrap();
    format!(
        "{items}functionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec: {spec}\n"
    )
}

#[test]
fn a_list_without_probes_is_returned_unchanged() {
    for text in [
        LIST.to_owned(),
        LIST.replace('\n', "\r\n"),
        format!("---\n{LIST}"),
        LIST.trim_end().to_owned(),
    ] {
        let run = function(&text).exits(0);
        assert_eq!(run.stdout, text);
        assert_eq!(run.stderr, "");
    }
    let empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    assert_eq!(function(empty).exits(0).stdout, empty);
}

#[cfg(unix)]
#[test]
fn the_function_runs_as_meshprobe_krm_and_without_arguments() {
    let project = Project::new();
    assert_eq!(project.pipe(&[], LIST).exits(0).stdout, LIST);
    let other = project.path("meshprobe-krm");
    // A link, not a copy: a file that was just written may still be busy when it is run.
    std::os::unix::fs::symlink(PROGRAM, &other).unwrap();
    let run = run(
        command(&other, Path::new("/")).arg("ignored"),
        LIST.as_bytes(),
    );
    assert_eq!(run.exits(0).stdout, LIST);
}

#[test]
fn the_output_is_one_document() {
    let run = function(&format!("{LIST}---\n# end\n")).exits(0);
    assert_eq!(run.stdout, LIST);
}

#[test]
fn invalid_input_is_reported_and_nothing_is_printed() {
    for (stdin, message) in [
        ("", "standard input is empty"),
        ("foo: [\n", "stdin:1:6: the input is not YAML"),
        ("apiVersion: v1\nkind: Pod\n", "not a single ResourceList"),
        ("a: 1\n", "not a single ResourceList"),
        (
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: foo\n",
            "stdin:3:8: `items` is not a list",
        ),
        (
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {a: b}\n",
            "`items` is not a list",
        ),
    ] {
        let run = function(stdin).exits(2).stderr_contains(message);
        assert_eq!(run.stdout, "");
    }
    let run = function(&format!("{LIST}---\n{LIST}"))
        .exits(2)
        .stderr_contains("not a single ResourceList");
    assert_eq!(run.stdout, "");
}

#[test]
fn invalid_configuration_is_reported_with_its_position() {
    let run = function(&with_config("{msh: {}}")).exits(2);
    insta::assert_snapshot!(run.transcript(), @r"
    --- exit 2
    --- stderr
    error: stdin:21:10: functionConfig: unknown key `msh`; did you mean `mesh`?
    ");
}

#[test]
fn validators_get_no_items_and_only_from_kustomize_build() {
    let run = function(&with_config("{emit: none}")).exits(0);
    assert_eq!(
        run.stdout,
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
    );
    let foreign = with_config("{emit: none}").replace("kustomize.config.k8s.io/id", "other.io/id");
    let run = function(&foreign)
        .exits(2)
        .stderr_contains("delete every resource");
    assert_eq!(run.stdout, "");
    function(&with_config("{emit: none, actions: [rewrite]}"))
        .exits(2)
        .stderr_contains("no effect");
}

const SHOP: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    name: shop
    labels:
      istio-injection: enabled
- apiVersion: security.istio.io/v1
  kind: PeerAuthentication
  metadata:
    name: default
    namespace: shop
  spec:
    mtls:
      mode: STRICT
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
    annotations:
      config.kubernetes.io/index: '2'
      config.kubernetes.io/path: 'shop/web.yaml'
  spec:
    template:
      metadata:
        labels:
          app: web
        annotations:
          sidecar.istio.io/rewriteAppHTTPProbers: 'OPTION'
      spec:
        containers:
        - name: web
          livenessProbe:
            httpGet:
              path: /healthz # deep
              port: 8080
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
  data: {failOn: error}
";

#[test]
fn probes_are_rewritten_in_place_and_the_second_call_changes_nothing() {
    let list = SHOP.replace(
        "        annotations:\n          sidecar.istio.io/rewriteAppHTTPProbers: 'OPTION'\n",
        "",
    );
    let run = function(&list).exits(0);
    insta::assert_snapshot!(run.transcript());
    assert_eq!(function(&run.stdout).exits(0).stdout, run.stdout);
    let only_check = list.replace("failOn: error", "actions: check");
    assert_eq!(function(&only_check).exits(0).stdout, only_check);
}

#[test]
fn findings_are_results_and_lines_and_the_exit_code() {
    let list = SHOP.replace("OPTION", "false");
    insta::assert_snapshot!(function(&list).exits(1).transcript());
    let lenient = list.replace("failOn: error", "failOn: never");
    function(&lenient).exits(0).stdout_contains("results:\n");
}

/// The error has the same id in `check` and in `rewrite`.
#[test]
fn a_guard_that_is_also_a_rule_is_reported_once() {
    let list = SHOP
        .replace("path: /healthz", "path: /app-health/web/livez")
        .replace("port: 8080", "port: 15020")
        .replace("OPTION", "true");
    let run = function(&list).exits(1);
    let count = run.stderr.matches("[rewritten-without-entry]").count();
    assert_eq!(count, 1, "{}", run.stderr);
}

#[test]
fn a_legacy_plugin_gets_a_file_and_a_stream() {
    let project = Project::with(&[(
        "config.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: m}\nspec: {failOn: never, mesh: {version: \"1.28\"}}\n",
    )]);
    let items = SHOP
        .split_once("items:\n")
        .and_then(|(_, rest)| rest.split_once("functionConfig"))
        .map(|(items, _)| items.replace("'OPTION'", "\"true\""))
        .unwrap();
    let stream: String = items
        .split("\n- ")
        .map(|item| {
            let lines = item.trim_start_matches("- ").lines();
            let outdented = lines.map(|line| line.strip_prefix("  ").unwrap_or(line));
            outdented.collect::<Vec<_>>().join("\n") + "\n"
        })
        .collect::<Vec<_>>()
        .join("---\n");
    let run = project
        .pipe(&["krm", "config.yaml"], &stream)
        .exits(0)
        .stdout_contains("proxyMetadata");
    assert!(!run.stdout.contains("results:"));
    let again = project.pipe(&["krm", "config.yaml"], &run.stdout).exits(0);
    assert_eq!(again.stdout, run.stdout);

    // With arguments for a function the output format is the caller's decision: a list is returned as a list.
    let list = project.pipe(&["krm", "config.yaml"], LIST).exits(0);
    assert_eq!(list.stdout, LIST);
}

const HEAD: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\n";

#[test]
fn a_legacy_plugin_never_returns_fewer_resources() {
    let project = Project::with(&[
        ("ok.yaml", &format!("{HEAD}spec: {{failOn: never}}\n")),
        ("none.yaml", &format!("{HEAD}spec: {{emit: none}}\n")),
        ("typo.yaml", &format!("{HEAD}spec:\n  fialOn: never\n")),
    ]);
    for (config, stdin, message) in [
        ("ok.yaml", "", "contains no resources"),
        ("ok.yaml", "kind: [\n", "stdin:1:7: the input is not YAML"),
        (
            "none.yaml",
            "apiVersion: v1\nkind: Pod\n",
            "deletes every resource",
        ),
        (
            "typo.yaml",
            "apiVersion: v1\nkind: Pod\n",
            "typo.yaml:4:3: unknown key `fialOn`",
        ),
        (
            "gone.yaml",
            "apiVersion: v1\nkind: Pod\n",
            "the configuration file `gone.yaml` does not exist",
        ),
    ] {
        let run = project
            .pipe(&["krm", config], stdin)
            .exits(2)
            .stderr_contains(message);
        assert_eq!(run.stdout, "", "{config}");
    }
}

const MESH: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: pay, labels: {istio-injection: enabled}}}
";

fn pod(name: &str, annotations: &str, probes: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: {name}\n    namespace: pay\n    annotations:\n      a: b\n{annotations}  spec:\n    containers:\n    - name: c\n{probes}"
    )
}

const NOWHERE: &str = "      livenessProbe: {httpGet: {path: /, port: nowhere}}\n";

#[test]
fn items_can_use_one_anchor_name_for_different_values() {
    let probes = |path: &str| {
        format!(
            "      env: [{{name: A, value: &p {path}}}, {{name: B, value: *p}}]\n      livenessProbe: {{httpGet: {{path: {path}, port: 8080}}}}\n"
        )
    };
    let (a, b) = (pod("a", "", &probes("/a")), pod("b", "", &probes("/b")));
    let run = function(&format!("{MESH}{a}{b}")).exits(0);
    assert_eq!(run.stdout.matches("path: /app-health/c/livez").count(), 2);
    assert_eq!(run.stdout.matches("value: *p").count(), 2);
    assert_eq!(function(&run.stdout).exits(0).stdout, run.stdout);
}

#[test]
fn the_index_of_a_build_is_not_the_index_in_a_file() {
    let index = "      internal.config.kubernetes.io/index: '3'\n";
    let origin = "      config.kubernetes.io/origin: |\n        path: ../base/all.yaml\n";
    let built = pod("a", &format!("{index}{origin}"), NOWHERE);
    let built = function(&format!("{MESH}{built}")).exits(1).stdout;
    assert!(built.contains("path: ../base/all.yaml\n  tags"), "{built}");
    let path = "      internal.config.kubernetes.io/path: d/all.yaml\n";
    let read = pod("a", &format!("{index}{path}"), NOWHERE);
    function(&format!("{MESH}{read}"))
        .exits(1)
        .stdout_contains("index: 3");
}

#[test]
fn results_of_other_functions_are_kept() {
    let list = format!("{MESH}{}", pod("a", "", NOWHERE));
    for results in [
        "results:\n- message: old # mine\n  severity: info\n",
        "results: [{message: old, severity: info}]\n",
    ] {
        let text = function(&format!("{list}{results}")).exits(1).stdout;
        let (old, new) = (
            text.find("message: old"),
            text.find("rule: port-unresolved"),
        );
        assert!(old.is_some() && old < new, "{text}");
    }
    for results in ["results:\n", "results: []\n"] {
        function(&format!("{list}{results}"))
            .exits(1)
            .stdout_contains("rule: port-unresolved");
    }
}

/// The build of an overlay whose Namespace selects a revision.
const REVISION: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: orders
  labels: {istio.io/rev: 1-30-2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orders, namespace: orders}
spec:
  selector: {matchLabels: {app: orders}}
  template:
    metadata:
      labels: {app: orders}
    spec:
      containers:
      - name: orders
        image: registry.example/orders:1
        livenessProbe: {grpc: {port: 9090}}
";

fn list_of(documents: &str, spec: &str) -> String {
    let items: String = documents
        .split("---\n")
        .map(|item| format!("- {}\n", item.trim_end().replace('\n', "\n  ")))
        .collect();
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  apiVersion: \
         meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec: {spec}\n"
    )
}

/// What `predict` takes as given, `rewrite` takes as given, too, with a note.
#[test]
fn a_revision_of_a_stream_is_taken_as_given() {
    let assumption = "a control plane serves revision `1-30-2`, which Namespace `orders` selects";
    let run = Project::new().pipe(&["rewrite", "-"], REVISION).exits(0);
    let run = run.stdout_contains("/app-health/orders/livez");
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("note[injection-unproven]"), "{message}");
    assert!(message.contains(assumption), "{message}");
    let run = function(&list_of(REVISION, "{}")).exits(0);
    let run = run
        .stdout_contains("/app-health/orders/livez")
        .stdout_contains(assumption)
        .stdout_contains("[assume: {revision: 1-30-2}]");
    assert_eq!(run.stderr, "");
    // The pod may select it, and the settings may refuse what is not proven.
    let of_pod = REVISION
        .replace("  labels: {istio.io/rev: 1-30-2}\n", "")
        .replace(
            "{app: orders}\n    spec",
            "{app: orders, istio.io/rev: 1-30-2}\n    spec",
        );
    assert_ne!(of_pod, REVISION);
    let run = Project::new().pipe(&["rewrite", "-"], &of_pod).exits(0);
    run.stdout_contains("/app-health/orders/livez");
    let strict = list_of(REVISION, "{rules: {injection-unproven: error}}");
    function(&strict).exits(1).stderr_contains(assumption);
    // Files of a tree are rewritten for good.
    let project = Project::with(&[("build.yaml", REVISION)]);
    project.run(&["rewrite", "--write", "."]).exits(1);
}

/// kustomize shows only standard error, and a function has no options.
#[test]
fn the_help_of_a_refusal_names_keys_of_the_configuration() {
    let (namespace, workload) = REVISION.split_once("---\n").unwrap();
    let with = |annotation: &str| {
        workload.replace(
            "labels: {app: orders}\n    spec",
            &format!("labels: {{app: orders}}\n      annotations: {{{annotation}}}\n    spec"),
        )
    };
    let injected = namespace.replace("istio.io/rev: 1-30-2", "istio-injection: enabled");
    let both = |workload: &str| format!("{injected}---\n{workload}");
    for (documents, rule, help) in [
        (
            workload.to_owned(),
            "injection-unproven",
            "  help: add the Namespace manifest to the run (`context`), or use `assume: {injection: all}`\n",
        ),
        (
            both(&with("inject.istio.io/templates: own")),
            "unknown-template",
            "  help: see https://",
        ),
    ] {
        let run = function(&list_of(&documents, "{}")).exits(1);
        let run = run.stderr_contains(rule).stderr_contains(help);
        assert!(!run.stderr.contains("--"), "{}", run.stderr);
        assert!(!run.stdout.contains("`--"), "{}", run.stdout);
    }
}
