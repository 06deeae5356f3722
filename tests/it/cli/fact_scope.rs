//! Which facts hold for which workload.

#![allow(clippy::indexing_slicing, reason = "the report has what it always has")]

use crate::support::project::Project;

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
";

const STRICT: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
";

const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}
spec:
  containers:
  - name: web
    readinessProbe: {httpGet: {path: /, port: 8080}}
";

fn outcomes(project: &Project) -> String {
    let report = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    let line = |workload: &serde_json::Value| {
        let handler = &workload["handlers"][0];
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        [
            &workload["path"],
            &handler["mtls"],
            &handler["outcome"],
            &handler["certainty"],
        ]
        .map(text)
        .join(" ")
    };
    workloads.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn environments_side_by_side_share_nothing_but_what_lies_above() {
    let project = Project::with(&[
        ("envs/namespace.yaml", NAMESPACE),
        ("envs/prod/web.yaml", WEB),
        ("envs/stage/web.yaml", WEB),
        ("envs/stage/mtls.yaml", STRICT),
    ]);
    insta::assert_snapshot!(outcomes(&project), @r"
    envs/prod/web.yaml PERMISSIVE ok default
    envs/stage/web.yaml STRICT fails known
    ");
}

#[test]
fn the_nearest_namespace_counts() {
    let plain = NAMESPACE.replace("istio-injection: enabled", "team: shop");
    let project = Project::with(&[
        ("infra/namespaces.yaml", &plain),
        ("apps/namespace.yaml", NAMESPACE),
        ("apps/shop/web.yaml", WEB),
        ("infra/mtls.yaml", STRICT),
    ]);
    // Two folders with one Namespace are two environments: the policy of the other says nothing.
    insta::assert_snapshot!(outcomes(&project), @"apps/shop/web.yaml PERMISSIVE ok default");
}

#[test]
fn workloads_without_namespace_share_it_along_their_folders_only() {
    let nameless = |text: &str| {
        text.replace("  namespace: shop\n", "")
            .replace(", namespace: shop", "")
    };
    let project = Project::with(&[
        ("one/web.yaml", &nameless(WEB)),
        ("two/mtls.yaml", &nameless(STRICT)),
    ]);
    insta::assert_snapshot!(outcomes(&project), @"one/web.yaml PERMISSIVE ok assumed");
    let project = Project::with(&[
        ("one/web.yaml", &nameless(WEB)),
        ("one/mtls.yaml", &nameless(STRICT)),
    ]);
    insta::assert_snapshot!(outcomes(&project), @"one/web.yaml STRICT fails assumed");
}

#[test]
fn an_option_fills_the_gap_and_another_wins_over_the_tree() {
    let project = Project::with(&[("web.yaml", WEB)]);
    let run = project.run(&[
        "check",
        "--assume",
        "mtls=STRICT",
        "--output-format",
        "concise",
    ]);
    insta::assert_snapshot!(run.exits(1).stdout);
    let project = Project::with(&[
        ("ns.yaml", NAMESPACE),
        ("web.yaml", WEB),
        ("mtls.yaml", STRICT),
    ]);
    project
        .run(&["check"])
        .exits(1)
        .says("strict-probe-not-rewritten");
    project
        .run(&["check", "--override", "mtls=PERMISSIVE"])
        .exits(0);
    project
        .run(&["check", "--assume", "mtls=PERMISSIVE"])
        .exits(1);
    project.run(&["check", "--mesh", "none"]).exits(0);
}

#[test]
fn clusters_environments_and_releases_are_told_apart() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gitops");
    let told = |arguments: &[&str]| {
        let mut command =
            crate::support::command(std::path::Path::new(crate::support::PROGRAM), &root);
        crate::support::run(command.args(arguments), b"").shown()
    };
    insta::assert_snapshot!("gitops_predict", told(&["predict", "--isolated"]));
    insta::assert_snapshot!(
        "gitops_explain",
        told(&["predict", "--isolated", "--explain"])
    );
    insta::assert_snapshot!(
        "gitops_check",
        told(&["check", "--isolated", "--color", "never"])
    );
}

#[test]
fn an_installation_of_another_environment_says_nothing() {
    let operator = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: istio, namespace: istio-system}\n\
                    spec: {values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}}\n";
    let web = WEB.replace(
        "  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}\n",
        "",
    );
    let project = Project::with(&[
        ("a/web.yaml", &web),
        ("a/ns.yaml", NAMESPACE),
        ("a/mtls.yaml", STRICT),
        ("b/web.yaml", &web),
        ("b/ns.yaml", NAMESPACE),
        ("b/mtls.yaml", STRICT),
        ("b/istio.yaml", operator),
    ]);
    insta::assert_snapshot!(outcomes(&project), @r"
    a/web.yaml - ok default
    b/web.yaml STRICT fails known
    ");
}

#[test]
fn a_flux_kustomization_gives_its_namespace() {
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web}\n\
                spec:\n  path: ./apps/web\n  targetNamespace: shop\n";
    let web = WEB.replace("namespace: shop", "namespace: other");
    let files = [
        ("apps/web/web.yaml", web.as_str()),
        ("clusters/a/ns.yaml", NAMESPACE),
        ("clusters/a/mtls.yaml", STRICT),
        ("clusters/a/web.yaml", flux),
    ];
    let project = Project::with(&files);
    insta::assert_snapshot!(outcomes(&project), @"apps/web/web.yaml STRICT fails known");
    project.run(&["predict"]).exits(0).says("shop/Pod/web");
    project.run(&["rewrite", "--diff", "."]).exits(0);
}
