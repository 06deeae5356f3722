//! `--overlay` and `--cluster` limit findings, counts and predictions to environments.

use serde_json::Value;

use super::platform::{CLUSTERS, platform};
use crate::support::manifest::{ANNOTATED_WEB, INJECTED, NOT_REWRITTEN, OPT_OUT, PROBED, STRICT};
use crate::support::project::Project;

/// Returns the findings of a report, without what depends on the paths of the run, and the number of workloads.
fn found(project: &Project, arguments: &[&str]) -> (Vec<String>, u64) {
    let mut all = vec!["check", "--output-format", "json", "--fail-on", "never"];
    all.extend(arguments);
    let report: Value = serde_json::from_str(&project.run(&all).exits(0).stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let line = |finding: &Value| {
        let parts = ["rule", "path", "line", "severity", "overlays"];
        parts.map(|part| finding[part].to_string()).join(" ")
    };
    let workloads = report["summary"]["workloads"].as_u64().unwrap();
    (findings.map(line).collect(), workloads)
}

#[test]
fn a_cluster_has_the_findings_that_its_folder_has() {
    let project = platform();
    let (all, count) = found(&project, &[]);
    let mut sum = 0;
    for cluster in CLUSTERS {
        let folder = format!("clusters/{cluster}");
        let expected = found(&project, &[&folder]);
        assert!(
            !expected.0.is_empty() && expected.0.len() < all.len(),
            "{cluster}"
        );
        sum += expected.1;
        for option in ["--cluster", "--overlay"] {
            assert_eq!(found(&project, &[option, cluster]), expected, "{cluster}");
        }
        assert_eq!(found(&project, &["--cluster", &folder]), expected);
        let with_dot = format!("./{folder}/");
        assert_eq!(found(&project, &["--cluster", &with_dot]), expected);
    }
    assert_eq!(sum, count);
    let (_, two) = found(&project, &["--cluster", "prod-eu", "--cluster", "staging"]);
    assert_eq!(
        two,
        found(&project, &["clusters/prod-eu", "clusters/staging"]).1
    );
    // What is not judged is counted for the environment as well.
    let summary = |cluster| project.run(&["check", "--cluster", cluster]).stdout;
    assert!(summary("prod-eu").contains("not judged: 1 HelmRelease"));
    assert!(!summary("staging").contains("not judged"));
}

#[test]
fn predictions_are_limited() {
    let project = platform();
    let table = |arguments: &[&str]| {
        let all = [&["predict"][..], arguments].concat();
        project.run(&all).exits(0).stdout
    };
    assert_eq!(
        table(&["--cluster", "staging"]),
        table(&["clusters/staging"])
    );
    assert_ne!(table(&["--cluster", "staging"]), table(&[]));
}

#[test]
fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
    let project = platform();
    let before = project.read("apps/ledger/deployment.yaml");
    for command in [
        &["check"][..],
        &["predict"],
        &["check", "--fix", "--unsafe-fixes"],
    ] {
        let all = [command, &["--cluster", "prod-ue"]].concat();
        let run = project.run(&all).exits(2);
        assert_eq!(
            run.stderr.lines().take(2).collect::<Vec<_>>(),
            [
                "error: unknown environment `prod-ue` for `--cluster`; did you mean `prod-eu`?",
                "help: the environments are `prod-eu`, `prod-us`, `staging`",
            ],
        );
        assert_eq!(run.stdout, "");
    }
    assert_eq!(project.read("apps/ledger/deployment.yaml"), before);
    Project::with(&[("a.yaml", INJECTED)])
        .run(&["check", "--overlay", "x"])
        .exits(2)
        .stderr_contains("help: the files do not contain several overlays or clusters");
}

#[test]
fn folders_are_environments_and_shared_files_belong_to_all() {
    let web = ANNOTATED_WEB.replace("a: b", OPT_OUT);
    let project = Project::with(&[
        ("envs/prod/web.yaml", &web),
        ("envs/prod/strict.yaml", STRICT),
        ("envs/staging/web.yaml", &web),
        ("shared/namespace.yaml", INJECTED),
        ("shared/broken.yaml", "apiVersion: v1\nkind: Pod\nx: [\n"),
    ]);
    let rules = |name: &str| {
        let (findings, workloads) = found(&project, &["--overlay", name]);
        let rule = |finding: &String| finding.split('"').nth(1).unwrap().to_owned();
        (findings.iter().map(rule).collect::<Vec<_>>(), workloads)
    };
    let of_prod = ["strict-probe-not-rewritten", "syntax-error"].map(str::to_owned);
    assert_eq!(rules("prod"), (of_prod.to_vec(), 1));
    assert_eq!(rules("staging"), (vec!["syntax-error".to_owned()], 1));
}

#[test]
fn overlays_that_share_a_folder_are_named_after_their_files() {
    let deploy = |name: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}}}\nspec: \
             {{path: ./apps, targetNamespace: {name}, sourceRef: {{kind: GitRepository, name: main}}}}\n"
        )
    };
    let project = Project::with(&[
        ("apps/web.yaml", ANNOTATED_WEB),
        ("clusters/prod.yaml", &deploy("prod")),
        ("clusters/staging.yaml", &deploy("staging")),
    ]);
    assert_eq!(found(&project, &[]).1, 2);
    assert_eq!(found(&project, &["--cluster", "prod"]).1, 1);
    assert_eq!(found(&project, &["--cluster", "clusters/staging"]).1, 1);
    assert_eq!(
        found(&project, &["--cluster", "clusters/staging.yaml"]).1,
        1
    );
}

/// Returns the explanation of the only probe, for a run that is limited to one cluster.
fn explained(project: &Project, cluster: &str) -> String {
    let all = ["predict", "--explain", "--cluster", cluster, "apps"];
    project.run(&all).exits(0).stdout
}

/// Returns a tree with a pod in no environment, and one file of the clusters `prod` and `staging` each.
fn clusters(prod: &str, staging: &str) -> Project {
    Project::with(&[
        ("apps/web.yaml", PROBED),
        ("clusters/prod/mesh.yaml", prod),
        ("clusters/staging/mesh.yaml", staging),
    ])
}

#[test]
fn facts_of_other_clusters_do_not_apply_to_files_of_no_environment() {
    let disabled = INJECTED.replace("enabled", "disabled");
    let project = clusters(INJECTED, &disabled);
    assert!(explained(&project, "prod").contains("dataplane   sidecar (known)"));
    assert!(explained(&project, "staging").contains("dataplane   none (known)"));
    assert!(explained(&project, "./clusters/staging/").contains("dataplane   none (known)"));

    let operator = |rewrite: bool| {
        format!(
            "{INJECTED}---\napiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {{name: istio}}\n\
             spec: {{values: {{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {rewrite}}}}}}}\n"
        )
    };
    let project = clusters(&operator(false), &operator(true));
    assert!(explained(&project, "prod").contains("rewrite     off (known)"));
    assert!(explained(&project, "staging").contains("rewrite     on (known)"));

    let deny = format!(
        "{INJECTED}---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {{name: deny, \
         namespace: shop}}\nspec: {{action: DENY, rules: [{{}}]}}\n"
    );
    let project = clusters(&deny, INJECTED);
    project.write("apps/web.yaml", NOT_REWRITTEN);
    assert!(explained(&project, "prod").contains("an AuthorizationPolicy denies it"));
    assert!(explained(&project, "staging").contains("outcome     ok"));
}

#[test]
fn environments_without_the_name_in_their_folder_keep_their_facts() {
    let project = clusters(INJECTED, INJECTED);
    project.write("apps/web.yaml", NOT_REWRITTEN);
    project.write("regions/eu/strict.yaml", STRICT);
    project.write("regions/eu/other.yaml", INJECTED.replace("shop", "other"));
    project.write("regions/us/other.yaml", INJECTED.replace("shop", "other"));
    let text = explained(&project, "staging");
    assert!(text.contains("STRICT for namespace `shop`"), "{text}");
}

#[test]
fn a_filter_that_leaves_no_workload_is_an_error() {
    let project = platform();
    for command in ["check", "predict"] {
        let run = project.run(&[command, "--cluster", "prod-us", "apps/invoices"]);
        run.exits(2).stderr_contains(
            "error: no workload of the given files is in `prod-us` of `--cluster`",
        );
    }
}

#[test]
fn errors_name_the_option_that_was_used() {
    let project = platform();
    for command in ["check", "predict"] {
        project
            .run(&[command, "--cluster", "prod-ue"])
            .exits(2)
            .stderr_contains(
                "error: unknown environment `prod-ue` for `--cluster`; did you mean `prod-eu`?",
            );
    }
    project
        .run(&["check", "--cluster", "a", "--overlay", "b"])
        .exits(2)
        .stderr_contains("error: unknown environments for `--overlay` and `--cluster`: `b`, `a`");
    // Both options add to the same list.
    let both = ["--cluster", "prod-eu", "--overlay", "prod-us"];
    let overlays = ["--overlay", "prod-eu", "--overlay", "prod-us"];
    assert_eq!(found(&project, &both), found(&project, &overlays));
}
