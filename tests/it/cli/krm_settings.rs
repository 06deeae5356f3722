//! The configuration of the KRM function: the effect of each key, and the values that are rejected.

use crate::support::Run;
use crate::support::manifest::STRICT_MESH;
use crate::support::project::Project;

const ITEMS: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    name: shop
    labels: {istio-injection: enabled}
- apiVersion: security.istio.io/v1
  kind: PeerAuthentication
  metadata: {name: default, namespace: shop}
  spec: {mtls: {mode: STRICT}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
  spec:
    template:
      metadata:
        labels: {app: web}
      spec:
        containers:
        - name: web
          livenessProbe:
            httpGet:
              path: /healthz
              port: 8080
";

/// Opts out of the rewrite, so that the probe fails.
const OPT_OUT: &str = "\n        annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}";

/// A probe that names an undeclared port, which prevents the rewrite.
fn items_with_undeclared_port() -> String {
    ITEMS.replace("port: 8080", "port: nowhere")
}

fn failing_items() -> String {
    let labels = "labels: {app: web}";
    ITEMS.replace(labels, &format!("{labels}{OPT_OUT}"))
}

fn run(items: &str, spec: &str) -> Run {
    let config = format!(
        "functionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  metadata: {{name: x}}\n  spec: {spec}\n"
    );
    Project::new().pipe(&["krm"], format!("{items}{config}"))
}

fn run_map(items: &str, data: &str) -> Run {
    let config = format!(
        "functionConfig: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: function-input}}, data: {data}}}\n"
    );
    Project::new().pipe(&["krm"], format!("{items}{config}"))
}

fn assert_rejected(run: Run, message: &str) {
    let run = run.exits(2).stderr_contains(message);
    assert_eq!(run.stdout, "", "a rejected call prints nothing");
}

#[test]
fn fail_on_decides_the_exit_code() {
    let assumed = "assume: {rewrite: \"false\"}";
    for (items, spec, code) in [
        (failing_items(), "{}", 1),
        (failing_items(), "{failOn: error}", 1),
        (failing_items(), "{failOn: warning}", 1),
        (failing_items(), "{failOn: never}", 0),
        // A finding with an assumption is a warning: below the default fail level of a function.
        (ITEMS.to_owned(), &format!("{{{assumed}}}"), 0),
        (
            ITEMS.to_owned(),
            &format!("{{{assumed}, failOn: warning}}"),
            1,
        ),
        (ITEMS.to_owned(), "{failOn: warning}", 0),
        (
            ITEMS.to_owned(),
            "{failOn: note, mesh: {version: \"1.28\"}}",
            0,
        ),
        // The choice of the form for an unknown release is a note.
        (ITEMS.to_owned(), "{failOn: note}", 1),
        // A switched-off rewrite is a note.
        (failing_items(), "{actions: [rewrite], failOn: note}", 1),
        (failing_items(), "{actions: [rewrite]}", 0),
    ] {
        let run = run(&items, spec).exits(code);
        // Even a failing call returns all resources: kpt shows its results.
        assert!(run.stdout.starts_with("apiVersion"), "{spec}");
    }
}

#[test]
fn a_refused_rewrite_reaches_the_fail_level() {
    for spec in ["{}", "{actions: [rewrite]}"] {
        let run = run(&items_with_undeclared_port(), spec)
            .exits(1)
            .stdout_contains("rule: port-unresolved");
        assert!(!run.stdout.contains("app-health"), "{}", run.stdout);
    }
    run(&items_with_undeclared_port(), "{actions: [rewrite]}")
        .stderr_contains("error[port-unresolved]");
    run(&items_with_undeclared_port(), "{failOn: never}")
        .exits(0)
        .stdout_contains("rule: port-unresolved");
    // A guard is an error in every configuration, unless the user lowers its level.
    run(
        &items_with_undeclared_port(),
        "{actions: [rewrite], rules: {port-unresolved: note}}",
    )
    .exits(0);
}

#[test]
fn findings_that_the_same_call_fixes_are_notes() {
    let bad = failing_items().replace("\"false\"", "\"0.0\"");
    run(&bad, "{actions: [check]}")
        .exits(1)
        .stderr_contains("error[annotation-bad-boolean]");
    let both = run(&bad, "{}").exits(0);
    insta::assert_snapshot!(both.transcript());
}

#[test]
fn the_actions_select_check_and_rewrite() {
    assert_rejected(run(ITEMS, "{actions: []}"), "`actions`: must not be empty");
    assert_rejected(
        run_map(ITEMS, "{actions: ' , '}"),
        "`actions`: must not be empty",
    );
    let checked = run(&failing_items(), "{actions: [check], failOn: never}").exits(0);
    let checked = checked.stdout_contains("strict-probe-not-rewritten").stdout;
    assert!(!checked.contains("app-health"), "{checked}");
    let rewritten = run(ITEMS, "{actions: [rewrite]}").exits(0);
    assert!(rewritten.stdout.contains("path: /app-health/web/livez"));
    assert!(!rewritten.stdout.contains("strict-probe-not-rewritten"));
}

#[test]
fn the_form_of_the_rewrite_can_be_set() {
    run(ITEMS, "{}")
        .stdout_contains("name: istio-proxy")
        .stdout_contains("rule: form-chosen");
    run(ITEMS, "{mesh: {version: \"1.28\"}}").stdout_contains("proxy.istio.io/config");
    run(ITEMS, "{form: annotation}").stdout_contains("proxy.istio.io/config");
    let container = run(ITEMS, "{form: container}").exits(0);
    assert!(container.stdout.contains("name: istio-proxy"));
    assert!(container.stdout.contains("rewriteAppHTTPProbers"));
    let container_only = run(ITEMS, "{form: container-only}").exits(0);
    assert!(container_only.stdout.contains("name: istio-proxy"));
    assert!(!container_only.stdout.contains("rewriteAppHTTPProbers"));
}

#[test]
fn mesh_and_facts_are_set_as_on_the_command_line() {
    run(ITEMS, "{mesh: {kind: none}}").exits(0);
    let none = run(ITEMS, "{mesh: {kind: none}}").stdout;
    assert!(!none.contains("app-health"));
    run(ITEMS, "{mesh: {version: \"1.9\"}}")
        .exits(1)
        .stdout_contains("rule: release-too-old");
    run(ITEMS, "{assume: {status-port: 15099}}").stdout_contains("port: 15099");
    // Without the namespace there is no evidence of injection.
    let (_, workload) = ITEMS.split_once("- apiVersion: apps/v1").unwrap();
    let (head, _) = ITEMS.split_once("- apiVersion: v1").unwrap();
    let alone = format!("{head}- apiVersion: apps/v1{workload}");
    let unproven = run(&alone, "{}").stdout;
    assert!(!unproven.contains("app-health"), "{unproven}");
    run(&alone, "{assume: {injection: all}}").stdout_contains("app-health");
}

#[test]
fn levels_and_suppressions_apply() {
    let id = "strict-probe-not-rewritten";
    run(&failing_items(), &format!("{{rules: {{{id}: note}}}}"))
        .exits(0)
        .stdout_contains("severity: info");
    let spec = format!("{{ignore: [{{rule: {id}, reason: moves away in June}}]}}");
    let suppressed = run(&failing_items(), &spec).exits(0);
    let counted = "meshprobe: Not shown: 1 finding suppressed.\n";
    assert_eq!(suppressed.stderr, counted);
    assert!(!suppressed.stdout.contains(&format!("rule: {id}\n")));
}

#[test]
fn context_is_read_for_facts() {
    let project = Project::with(&[("infra/mtls.yaml", STRICT_MESH)]);
    let lenient = failing_items().replace("mode: STRICT", "mode: UNSET");
    let with = |context: &str| {
        format!(
            "{lenient}functionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec: {{context: [{context}]}}\n"
        )
    };
    project.pipe(&["krm"], with("")).exits(0);
    let run = project.pipe(&["krm"], with("infra")).exits(1);
    assert!(!run.stdout.contains("istio-system"), "{}", run.stdout);
    let run = project.pipe(&["krm"], with("nowhere")).exits(2);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "error: cannot read `nowhere` for `context`\n");
}

#[test]
fn mistakes_are_rejected_with_a_suggestion() {
    for (spec, message) in [
        (
            "{action: [check]}",
            "unknown key `action`; did you mean `actions`?",
        ),
        ("{fialOn: error}", "did you mean `failOn`?"),
        (
            "{failOn: eror}",
            "unknown level `eror`; did you mean `error`?",
        ),
        ("{emit: item}", "did you mean `items`?"),
        ("{form: annotaton}", "did you mean `annotation`?"),
        (
            "{actions: [chek]}",
            "unknown action `chek`; did you mean `check`?",
        ),
        (
            "{actions: check}",
            "`actions`: invalid type: string \"check\", expected a sequence",
        ),
        ("{mesh: {kinds: istio}}", "did you mean `kind`?"),
        (
            "{mesh: istio}",
            "`mesh`: invalid type: string \"istio\", expected a mapping",
        ),
        ("{assume: {mtsl: STRICT}}", "did you mean `mtls`?"),
        (
            "{rules: {sintax-error: note}}",
            "did you mean `syntax-error`?",
        ),
        (
            "{ignore: [{rule: syntax-error}]}",
            "`ignore[0]`: missing field `reason`",
        ),
        (
            "{form: annotation, form: container}",
            "duplicate key `form`",
        ),
        (
            "{scopes: [{paths: [a]}]}",
            "items of a function have no path",
        ),
        ("{root: true}", "only allowed in the configuration file"),
        (
            "{ignore: [{rule: syntax-error, reason: x, path: a}]}",
            "items of a function have no path",
        ),
        // kustomize passes 1.30 as 1.3.
        (
            "{mesh: {version: 1.30}}",
            "expected a string; write \"1.30\" in quotes",
        ),
        ("{assume: {node-version: 1.30}}", "write \"1.30\" in quotes"),
        ("[]", "`spec`: invalid type: sequence, expected a mapping"),
    ] {
        assert_rejected(run(ITEMS, spec), message);
    }
}

#[test]
fn a_config_map_is_validated_like_a_mesh_probe_object() {
    let rewritten = run_map(
        ITEMS,
        "{mesh.kind: istio, mesh.version: \"1.28\", form: container, actions: \"check, rewrite\", failOn: warning, assume.mtls: STRICT, rules.opt-out: ignore}",
    );
    rewritten.exits(0).stdout_contains("name: istio-proxy");
    run_map(&failing_items(), "{actions: check}").exits(1);
    run_map(&failing_items(), "{actions: check, failOn: never}").exits(0);
    run_map(ITEMS, "{}").exits(0).stdout_contains("app-health");
    // With this form kustomize passes `-- mesh.version=1.30`.
    run_map(ITEMS, "{mesh.version: 1.30}").exits(0);
    run_map(ITEMS, "{mesh.version: 1.09}").exits(1);
    for (data, message) in [
        ("{mesh.versoin: \"1.28\"}", "did you mean `mesh.version`?"),
        (
            "{mesh: istio}",
            "`mesh` cannot be set as a string; use `mesh.KEY`",
        ),
        (
            "{assume: all}",
            "`assume` cannot be set as a string; use `assume.KEY`",
        ),
        (
            "{rules: \"\"}",
            "`rules` cannot be set as a string; use `rules.KEY`",
        ),
        (
            "{scopes: \"\"}",
            "`scopes` cannot be set in a ConfigMap; use an object of kind `MeshProbe`",
        ),
        ("{failon: error}", "did you mean `failOn`?"),
        ("{form.x: annotation}", "did you mean `form`?"),
        (
            "{actions: \"check rewrite\"}",
            "unknown action `check rewrite`",
        ),
        ("{actions: [check]}", "expected a string for `actions`"),
        ("{assume.injection: al}", "did you mean `all`?"),
        ("[]", "expected a mapping for `data`"),
    ] {
        assert_rejected(run_map(ITEMS, data), message);
    }
    let dta = "functionConfig: {apiVersion: v1, kind: ConfigMap, dta: {actions: check}}\n";
    let run = Project::new().pipe(&["krm"], format!("{ITEMS}{dta}"));
    assert_rejected(run, "unknown key `dta`; did you mean `data`?");
}

#[test]
fn a_configuration_of_another_kind_is_rejected() {
    for (config, message) in [
        (
            "{apiVersion: meshprobe.dev/v1alpha1, kind: Secret}",
            "expected `kind: MeshProbe`",
        ),
        (
            "{apiVersion: meshprobe.dev/v2, kind: MeshProbe}",
            "expected `apiVersion: meshprobe.dev/v1alpha1`",
        ),
        (
            "{apiVersion: meshprobe.dev/v1alpha1, kind: MeshProbe, sepc: {}}",
            "did you mean `spec`?",
        ),
        ("[]", "expected an object of kind `MeshProbe`"),
    ] {
        let run = Project::new().pipe(&["krm"], format!("{ITEMS}functionConfig: {config}\n"));
        assert_rejected(run, message);
    }
    // Annotations of the orchestrator on the configuration are ignored.
    let annotated = "functionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  metadata:\n    name: x\n    annotations: {config.kubernetes.io/local-config: 'true', config.kubernetes.io/function: \"exec: {path: x}\"}\n";
    Project::new()
        .pipe(&["krm"], format!("{ITEMS}{annotated}"))
        .exits(0);
    // The configuration is optional.
    Project::new()
        .pipe(&["krm"], ITEMS)
        .exits(0)
        .stdout_contains("app-health");
}

/// `kustomize build` marks every item; an item without the mark is a file of the user.
#[test]
fn the_output_is_empty_only_if_all_items_come_from_a_build() {
    let id = "annotations: {kustomize.config.k8s.io/id: \"kind: x\"}";
    let marked = "metadata: {name: a, annotations: {kustomize.config.k8s.io/id: 'kind: x'}}";
    let list = |items: &str| {
        format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:{items}\n")
    };
    let item = |metadata: &str| format!("\n- {{apiVersion: v1, kind: ConfigMap, {metadata}}}");
    let both = item(marked) + &item("metadata: {name: b}");
    assert_rejected(run(&list(&both), "{emit: none}"), "delete every resource");
    assert_rejected(
        run(&list(&item("metadata: {name: b}")), "{emit: none}"),
        "delete every resource",
    );
    for items in [item(marked), " []".to_owned()] {
        let answer = run(&list(&items), "{emit: none}").exits(0).stdout;
        assert!(answer.contains("items: []"), "{answer}");
    }
    assert_rejected(
        run_map(&list(&both), "{emit: none}"),
        "delete every resource",
    );
    // Findings are reported nevertheless, and fail the call.
    let web = failing_items()
        .replace(
            "    name: web\n    namespace",
            &format!("    {id}\n    name: web\n    namespace"),
        )
        .replace("    name: shop\n", &format!("    name: shop\n    {id}\n"))
        .replace(
            "metadata: {name: default",
            &format!("metadata: {{{id}, name: default"),
        );
    let checked = run(&web, "{emit: none}")
        .exits(1)
        .stdout_contains("items: []");
    assert!(
        checked.stdout.contains("rule: strict-probe-not-rewritten"),
        "{}",
        checked.stdout
    );
    assert!(
        !checked.stdout.contains("kind: Deployment\n  spec"),
        "{}",
        checked.stdout
    );
}

#[test]
fn a_release_that_may_have_lost_a_digit_is_rejected_in_a_config_map() {
    for bare in [
        "{mesh.version: 1.3}",
        "{mesh.kind: kuma, mesh.version: 2.1}",
    ] {
        assert_rejected(run_map(ITEMS, bare), "write the release in quotes");
    }
    for whole in [
        "{mesh.version: 1.30}",
        "{mesh.version: 1.28}",
        "{mesh.version: '1.30'}",
        "{mesh.kind: osm, mesh.version: 1.2}",
    ] {
        run_map(ITEMS, whole).exits(0);
    }
}

#[test]
fn a_guard_is_ignored_only_by_its_level() {
    assert_rejected(
        run(
            &items_with_undeclared_port(),
            "{ignore: [{rule: port-unresolved, reason: later}]}",
        ),
        "use `rules: {port-unresolved: ignore}`",
    );
    run(
        &items_with_undeclared_port(),
        "{ignore: [{rule: named-port-unresolved, reason: later}], rules: {port-unresolved: ignore}}",
    )
    .exits(0);
}

#[test]
fn an_impossible_release_is_rejected() {
    let message = "`2.5` is not a release of Istio";
    assert_rejected(run(ITEMS, "{mesh: {version: \"2.5\"}}"), message);
    assert_rejected(run_map(ITEMS, "{mesh.version: '2.5'}"), message);
    run(ITEMS, "{mesh: {kind: kuma, version: \"2.5\"}}").exits(0);
}
