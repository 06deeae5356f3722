//! Uncertain facts are reported with their cause and with the option that settles them.

use crate::support::findings;
use crate::support::manifest::{INJECTED, Manifest, OPT_OUT, STRICT_MESH};
use crate::support::project::Project;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: w, namespace: shop}
spec: {containers: [{name: c, image: x, livenessProbe: {httpGet: {port: 80}}}]}
";

fn explained(files: &[(&str, &str)], options: &[&str]) -> String {
    let project = Project::with(files);
    let arguments = [&["predict", "--explain"], options].concat();
    project.run(&arguments).exits(0).stdout
}

/// What the user assumes lowers the severity, so it is listed.
#[test]
fn findings_list_what_the_user_assumes() {
    let project = Project::with(&[("ns.yaml", INJECTED), ("w.yaml", POD)]);
    let arguments = [
        "check",
        "--assume",
        "mtls=STRICT",
        "--override",
        "rewrite=false",
    ];
    let run = project.run(&arguments).exits(1);
    run.stdout_contains("  assumed: mTLS is STRICT (--assume)\n");
    let json = project.run(&[&arguments[..], &["--output-format=json"]].concat());
    let findings = findings(&json.exits(1));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["certainty"], "assumed");
    assert_eq!(
        findings[0]["assumptions"],
        serde_json::json!(["mTLS is STRICT (--assume)"])
    );
}

/// Runs `check` and `predict` with an option, and checks that both list the fact as an assumption of the user.
fn assert_listed(project: &Project, option: &str, assumption: &str) {
    let (key, value) = option.split_once('=').unwrap();
    let assume = format!("{key}={value}");
    let facts = ["--assume", &assume, "--override", "rewrite=false"];
    let check = [
        &["check", "--output-format=json", "--fail-on=never"],
        &facts[..],
    ]
    .concat();
    let found = findings(&project.run(&check).exits(0));
    let found = found.iter().find(|finding| finding["outcome"] == "fails");
    let found = found.unwrap_or_else(|| panic!("{option}"));
    assert_eq!(found["certainty"], "assumed", "{option}");
    let listed = found["assumptions"].as_array().unwrap();
    assert!(listed.contains(&assumption.into()), "{option}: {listed:?}");
    let predict = [&["predict", "--output-format=json"], &facts[..]].concat();
    let predicted: serde_json::Value =
        serde_json::from_str(&project.run(&predict).exits(0).stdout).unwrap();
    let listed = &predicted["workloads"][0]["handlers"][0]["assumptions"];
    let listed = listed.as_array().unwrap();
    assert!(listed.contains(&assumption.into()), "{option}: {listed:?}");
}

/// A finding that depends on injection, or on the revisions of the mesh, names what the user assumes about these.
#[test]
fn findings_list_what_the_user_assumes_about_injection() {
    let strict = ("mtls.yaml", STRICT_MESH);
    let absent = Project::with(&[strict, ("w.yaml", POD)]);
    let message = "namespace `shop` is injected (--assume)";
    assert_listed(&absent, "injection=all", message);
    let canary = Manifest::namespace("shop").labels("istio.io/rev: canary");
    let canary = Project::with(&[("ns.yaml", &canary.to_string()), strict, ("w.yaml", POD)]);
    assert_listed(
        &canary,
        "revision=canary",
        "the mesh serves canary (--assume)",
    );
    let plane = Manifest::operator("istio", "revision: other").to_string();
    canary.write("istio.yaml", plane);
    assert_listed(
        &canary,
        "revision=canary",
        "the mesh serves canary (--assume)",
    );
}

/// The revision of a pod is served if the user says so, also without a manifest of its Namespace.
#[test]
fn a_revision_that_the_user_assumes_is_evidence_of_injection() {
    let pod = POD.replace(
        "namespace: shop}",
        "namespace: shop, labels: {istio.io/rev: canary}}",
    );
    let project = Project::with(&[("mtls.yaml", STRICT_MESH), ("w.yaml", &pod)]);
    let facts = ["--assume", "revision=canary", "--override", "rewrite=false"];
    let run = project.run(&[&["predict", "--explain"], &facts[..]].concat());
    run.exits(0)
        .stdout_contains("the mesh serves canary (--assume)")
        .stdout_contains("fails");
}

/// Labels that no revision of the user's serves do not prove that the pod is outside of the mesh.
#[test]
fn revisions_that_the_user_assumes_lower_the_certainty_of_others() {
    let namespace = Manifest::namespace("shop").labels("istio.io/rev: canary");
    let files = [("ns.yaml", &*namespace.to_string()), ("w.yaml", POD)];
    let explained = explained(&files, &["--assume", "revision=stable"]);
    assert!(
        explained.contains("the mesh serves stable (--assume)"),
        "{explained}"
    );
}

#[test]
fn installations_that_differ_are_settled_by_an_override() {
    let install = |name: &str, spec: &str| Manifest::operator(name, spec).to_string();
    let first = "meshConfig: {rootNamespace: a, defaultConfig: {statusPort: 15030}}, values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}, global: {proxy: {statusPort: 15030}}}, components: {cni: {enabled: true}}";
    let (first, second) = (install("one", first), install("two", "tag: 1.28.1"));
    let files = [
        ("i1.yaml", &*first),
        ("i2.yaml", &*second),
        ("ns.yaml", INJECTED),
        ("w.yaml", POD),
    ];
    let open = explained(&files, &[]);
    assert!(open.contains("[--override rewrite=true|false]"), "{open}");
    assert!(!open.contains("[--assume rewrite"), "{open}");
    assert!(!open.contains("[--assume status-port"), "{open}");
    let settled = explained(&files, &["--override", "rewrite=true"]);
    assert!(
        settled.contains("the rewrite is on (--override)"),
        "{settled}"
    );
}

#[test]
fn an_embedded_text_that_is_not_yaml_is_reported() {
    let application = "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: istiod, namespace: argocd}
spec:
  source:
    chart: istiod
    repoURL: https://istio-release.storage.googleapis.com/charts
    targetRevision: 1.28.0
    helm:
      values: |
        sidecarInjectorWebhook:
          rewriteAppHTTPProbe: [
";
    let mesh = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |
    rootNamespace: [
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio-sidecar-injector, namespace: istio-system}
data:
  config: '{'
  values: '{\"global\": ['
";
    let flux = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: istiod, namespace: istio-system}
spec:
  chart: {spec: {chart: istiod, version: 1.28.0, sourceRef: {kind: HelmRepository, name: istio}}}
  valuesFrom: [{kind: ConfigMap, name: values}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: istio-system}
data:
  values.yaml: 'meshConfig: ['
";
    let explanations = [
        ("argo.yaml", application),
        ("mesh.yaml", mesh),
        ("flux.yaml", flux),
    ]
    .map(|file| {
        let project = Project::with(&[file]);
        let arguments = [
            "check",
            "--min-severity",
            "note",
            "--output-format",
            "concise",
        ];
        let run = project.run(&arguments).exits(1);
        project
            .run(&["predict"])
            .exits(1)
            .stderr_contains("is not YAML");
        run.stdout
    });
    insta::assert_snapshot!(explanations.join("---\n"));
}

fn webhooks(more: &str, selector: &str) -> String {
    let webhooks = format!(
        "webhooks:\n- name: namespace.sidecar-injector.istio.io\n  \
         namespaceSelector: {selector}\n{more}"
    );
    let api = "admissionregistration.k8s.io/v1";
    Manifest::new(
        api,
        "MutatingWebhookConfiguration",
        "istio-sidecar-injector",
    )
    .labels("istio.io/rev: default")
    .field(&webhooks)
    .to_string()
}

#[test]
fn webhooks_that_do_not_select_the_pod_are_reported() {
    let hooks = webhooks("", "{matchLabels: {team: other}}");
    let explanation = explained(
        &[("h.yaml", &hooks), ("ns.yaml", INJECTED), ("w.yaml", POD)],
        &[],
    );
    assert!(
        !explanation.contains("serves `default`, not `default`"),
        "{explanation}"
    );
    insta::assert_snapshot!(explanation);
}

#[test]
fn further_conditions_of_a_webhook_are_assumed() {
    let conditions = "  matchConditions: [{name: x, expression: 'false'}]\n";
    let gt = "{matchExpressions: [{key: team, operator: Gt, values: ['1']}]}";
    let hooks = [webhooks(conditions, "{}"), webhooks("", gt)];
    let explanations = hooks.map(|hooks| {
        let files = [("h.yaml", &*hooks), ("ns.yaml", INJECTED), ("w.yaml", POD)];
        explained(&files, &[])
    });
    insta::assert_snapshot!(explanations.join("---\n"));
}

#[test]
fn a_served_revision_label_is_evidence_of_injection() {
    let plane = Manifest::operator("x", "revision: stable").to_string();
    let named = |name: &str| {
        POD.replace(
            "namespace: shop",
            &format!("namespace: shop, labels: {{istio.io/rev: {name}}}"),
        )
    };
    let explanations = ["stable", "other"]
        .map(|name| explained(&[("i.yaml", &plane), ("w.yaml", &named(name))], &[]));
    insta::assert_snapshot!(explanations.join("---\n"));
}

#[test]
fn unsupported_releases_are_replaced_with_a_note_or_rejected() {
    let project = Project::with(&[("ns.yaml", INJECTED), ("w.yaml", POD)]);
    let run = |version: &str| project.run(&["predict", "--mesh-version", version]);
    assert_eq!(run("1.31").exits(0).stderr, "");
    run("1.99").exits(0).stderr_contains(
        "note: Istio 1.99 is newer than 1.31, the newest release that was compared",
    );
    project
        .run(&["check", "--mesh-version", "1.99"])
        .stdout_contains("note: Istio 1.99 is newer than 1.31");
    project
        .run(&["predict", "--mesh-version", "1.4", "."])
        .stderr_contains(
            "note: Istio 1.4 is older than 1.10, the oldest release that meshprobe models",
        );
    let modelled = project.run(&["predict", "--mesh-version", "1.10", "."]);
    assert!(!modelled.stderr.contains("older"), "{}", modelled.stderr);
    run("2.0")
        .exits(2)
        .stderr_contains("`2.0` is not a release of Istio; expected 1.0 to 1.31");
    let settings =
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {mesh: {version: '2.0'}}\n";
    project.write(".meshprobe.yaml", settings);
    project
        .run(&["predict"])
        .exits(2)
        .stderr_contains("expected 1.0 to 1.31");
}

#[test]
fn the_summary_names_the_missing_facts() {
    let custom = "action: CUSTOM, provider: {name: x}, rules: [{}]";
    let policy = Manifest::authorization_policy("x", custom).within("shop");
    let policy = policy.to_string();
    let off = POD.replace(
        "namespace: shop",
        &format!("namespace: shop, annotations: {{{OPT_OUT}}}"),
    );
    let mode = Manifest::peer_authentication("shop", "'${MODE}'").to_string();
    let port = POD.replace("port: 80", "port: '${PORT}'");
    let none = POD.replace("shop", "other");
    let cases: [&[(&str, &str)]; 4] = [
        &[("ns.yaml", INJECTED), ("p.yaml", &policy), ("w.yaml", &off)],
        &[("ns.yaml", INJECTED), ("p.yaml", &mode), ("w.yaml", &off)],
        &[("ns.yaml", INJECTED), ("w.yaml", &port)],
        &[("w.yaml", &none)],
    ];
    let summaries = cases.map(|files| {
        let run = Project::with(files).run(&["check"]);
        let lines = run.stdout.lines().chain(run.stderr.lines());
        let lines: Vec<&str> = lines
            .filter(|line| line.contains("without a verdict:"))
            .collect();
        lines.join("\n")
    });
    insta::assert_snapshot!(summaries.join("\n"));
}

/// A namespace that names a revision, with the control plane in another repository, is the usual layout.
#[test]
fn an_assumption_does_not_hide_a_certain_failure() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio.io/rev: prod-1-18}}\n";
    let strict = "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {name: default, namespace: shop}\n\
                  spec: {mtls: {mode: STRICT}}\n";
    let native = "\
apiVersion: v1
kind: Pod
metadata: {name: w, namespace: shop}
spec:
  initContainers:
    - {name: i, image: x, restartPolicy: Always, ports: [{containerPort: 8081}], startupProbe: {httpGet: {port: 8081}}}
  containers: [{name: c, image: x}]
";
    let project = Project::with(&[
        ("ns.yaml", namespace),
        ("mtls.yaml", strict),
        ("w.yaml", native),
    ]);
    project
        .run(&[
            "check",
            "--mesh-version",
            "1.18",
            "--output-format",
            "concise",
        ])
        .exits(1)
        .stdout_contains("warning[init-probe-needs-1-19]");
}

/// Every error, and every warning about a failure, is at least a warning if a fact is assumed.
#[test]
fn failures_stay_warnings() {
    use meshprobe::finding::Severity;
    for rule in meshprobe::rules::all() {
        let is_failure = rule.is_failure || rule.severity == Severity::Error;
        assert_eq!(
            rule.assumed_severity() >= Severity::Warning,
            is_failure,
            "{}",
            rule.id
        );
    }
}
