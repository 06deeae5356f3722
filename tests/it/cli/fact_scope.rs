//! The scope of a fact: the workloads that it applies to.

use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, STRICT};
use crate::support::predictions::{texts, workloads};
use crate::support::project::Project;

fn outcomes(project: &Project) -> String {
    let report = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let fields = [
        "/path",
        "/handlers/0/mtls",
        "/handlers/0/outcome",
        "/handlers/0/certainty",
    ];
    let lines: Vec<String> = workloads(&report)
        .into_iter()
        .map(|workload| texts(&workload, &fields))
        .collect();
    lines.join("\n")
}

#[test]
fn sibling_environments_share_only_the_facts_above_them() {
    let project = Project::with(&[
        ("envs/namespace.yaml", INJECTED),
        ("envs/prod/web.yaml", NOT_REWRITTEN),
        ("envs/stage/web.yaml", NOT_REWRITTEN),
        ("envs/stage/mtls.yaml", STRICT),
    ]);
    insta::assert_snapshot!(outcomes(&project), @r"
    envs/prod/web.yaml PERMISSIVE ok default
    envs/stage/web.yaml STRICT fails known
    ");
}

#[test]
fn two_folders_with_one_namespace_are_one_cluster() {
    let plain = INJECTED.replace("istio-injection: enabled", "team: shop");
    let project = Project::with(&[
        ("infra/namespaces.yaml", &plain),
        ("apps/namespace.yaml", INJECTED),
        ("apps/shop/web.yaml", NOT_REWRITTEN),
        ("infra/mtls.yaml", STRICT),
    ]);
    // Both manifests of the Namespace are applied, and one of them has no label.
    insta::assert_snapshot!(outcomes(&project), @"apps/shop/web.yaml STRICT fails assumed");
}

#[test]
fn workloads_without_namespace_share_it_along_their_folders_only() {
    let nameless = |text: &str| {
        text.replace("  namespace: shop\n", "")
            .replace(", namespace: shop", "")
    };
    let project = Project::with(&[
        ("one/web.yaml", &nameless(NOT_REWRITTEN)),
        ("two/mtls.yaml", &nameless(STRICT)),
    ]);
    insta::assert_snapshot!(outcomes(&project), @"one/web.yaml PERMISSIVE ok assumed");
    let project = Project::with(&[
        ("one/web.yaml", &nameless(NOT_REWRITTEN)),
        ("one/mtls.yaml", &nameless(STRICT)),
    ]);
    insta::assert_snapshot!(outcomes(&project), @"one/web.yaml STRICT fails assumed");
}

#[test]
fn assume_fills_gaps_and_override_takes_precedence() {
    let project = Project::with(&[("web.yaml", NOT_REWRITTEN)]);
    let run = project.run(&[
        "check",
        "--assume",
        "mtls=STRICT",
        "--output-format",
        "concise",
    ]);
    insta::assert_snapshot!(run.exits(1).stdout);
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ]);
    project
        .run(&["check"])
        .exits(1)
        .stdout_contains("strict-probe-not-rewritten");
    project
        .run(&["check", "--override", "mtls=PERMISSIVE"])
        .exits(0);
    project
        .run(&["check", "--assume", "mtls=PERMISSIVE"])
        .exits(1);
    project.run(&["check", "--mesh", "none"]).exits(0);
}

#[test]
fn clusters_environments_and_releases_are_distinguished() {
    let root = crate::support::fixture("gitops");
    let shown = |arguments: &[&str]| {
        let mut command =
            crate::support::command(std::path::Path::new(crate::support::PROGRAM), &root);
        // The other fixtures of this repository are not its facts.
        command.args(arguments).arg("--no-context");
        crate::support::run(&mut command, b"").transcript()
    };
    insta::assert_snapshot!("gitops_predict", shown(&["predict", "--isolated"]));
    insta::assert_snapshot!(
        "gitops_explain",
        shown(&["predict", "--isolated", "--explain"])
    );
    insta::assert_snapshot!(
        "gitops_check",
        shown(&["check", "--isolated", "--color", "never"])
    );
}

#[test]
fn an_installation_of_another_environment_does_not_apply() {
    let values = "values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}";
    let operator = Manifest::operator("istio", values).to_string();
    let web = NOT_REWRITTEN.replace(
        "  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}\n",
        "",
    );
    let project = Project::with(&[
        ("a/web.yaml", &web),
        ("a/ns.yaml", INJECTED),
        ("a/mtls.yaml", STRICT),
        ("b/web.yaml", &web),
        ("b/ns.yaml", INJECTED),
        ("b/mtls.yaml", STRICT),
        ("b/istio.yaml", &operator),
    ]);
    insta::assert_snapshot!(outcomes(&project), @r"
    a/web.yaml - ok default
    b/web.yaml STRICT fails known
    ");
}

#[test]
fn a_flux_kustomization_gives_its_namespace() {
    let flux = Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "web")
        .spec("{path: ./apps/web, targetNamespace: shop}")
        .to_string();
    let web = NOT_REWRITTEN.replace("namespace: shop", "namespace: other");
    let files = [
        ("apps/web/web.yaml", web.as_str()),
        ("clusters/a/ns.yaml", INJECTED),
        ("clusters/a/mtls.yaml", STRICT),
        ("clusters/a/web.yaml", flux.as_str()),
    ];
    let project = Project::with(&files);
    insta::assert_snapshot!(outcomes(&project), @"apps/web/web.yaml STRICT fails known");
    project
        .run(&["predict"])
        .exits(0)
        .stdout_contains("shop/Pod/web");
    project.run(&["rewrite", "--diff", "."]).exits(0);
}
