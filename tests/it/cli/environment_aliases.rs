//! `--overlay` and `--cluster` accept the folder that is deployed and the name of the deploying object, also if another
//! object deploys the same folder.

use serde_json::Value;

use crate::support::manifest::{ANNOTATED_WEB, INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

fn application(name: &str, path: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n  source: {{repoURL: \
         'https://git.example/shop', path: {path}}}\n  destination: {{server: 'https://{name}', namespace: shop}}\n"
    )
}

/// Returns a tree with an Application for each of two folders.
fn applications() -> Project {
    let overlay = "resources: [../../base]\n";
    Project::with(&[
        ("base/web.yaml", ANNOTATED_WEB),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("envs/prod/kustomization.yaml", overlay),
        ("envs/staging/kustomization.yaml", overlay),
        ("argo/main.yaml", &application("shop-prod", "envs/prod")),
        ("argo/test.yaml", &application("shop-test", "envs/staging")),
    ])
}

/// Returns the overlays of the workloads that are predicted, sorted.
fn overlays(project: &Project, name: &str) -> Vec<String> {
    let run = project.run(&["predict", "--output-format", "json", "--overlay", name]);
    let report: Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap().iter();
    let mut overlays: Vec<String> = workloads
        .map(|workload| workload["overlay"].as_str().unwrap().to_owned())
        .collect();
    overlays.sort();
    overlays
}

const PROD: &str = "envs/prod/kustomization.yaml";

#[test]
fn the_deploying_object_and_its_file_name_the_folder() {
    let project = applications();
    for name in [
        "prod",
        "envs/prod",
        PROD,
        "shop-prod",
        "argo/main",
        "argo/main.yaml",
    ] {
        assert_eq!(overlays(&project, name), [PROD], "{name}");
    }
    // The name of a file alone is not the name of an environment.
    for name in ["main", "shop", "prod-shop"] {
        project.run(&["predict", "--overlay", name]).exits(2);
    }
}

#[test]
fn a_second_deployment_of_the_folder_keeps_the_names() {
    let project = applications();
    project.write("argo/eu.yaml", application("shop-eu", "envs/prod"));
    let both = ["argo/eu.yaml", "argo/main.yaml"];
    for name in ["prod", "envs/prod", "./envs/prod/", PROD] {
        assert_eq!(overlays(&project, name), both, "{name}");
    }
    for name in ["shop-prod", "argo/main", "argo/main.yaml", "main"] {
        assert_eq!(overlays(&project, name), ["argo/main.yaml"], "{name}");
    }
    assert_eq!(overlays(&project, "shop-eu"), ["argo/eu.yaml"]);
    let staging = "envs/staging/kustomization.yaml";
    for name in ["staging", "shop-test"] {
        assert_eq!(overlays(&project, name), [staging], "{name}");
    }
}

#[test]
fn a_name_of_several_objects_selects_all_of_them() {
    let project = applications();
    project.write("argo/test.yaml", application("shop-prod", "envs/staging"));
    assert_eq!(
        overlays(&project, "shop-prod"),
        [PROD, "envs/staging/kustomization.yaml"]
    );
}

/// Files of one folder that deploy an object with the same name are applied to different clusters, also if all objects
/// between them and the workloads deploy to their own cluster.
#[test]
fn the_files_of_roots_are_environments() {
    let application = |name: &str, path: &str| {
        application(name, path)
            .replace(&format!("https://{name}"), "https://kubernetes.default.svc")
    };
    let namespace = |labels: &str| {
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{labels}}}}}\n")
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec:\n  containers:\n  - name: web\n    \
               livenessProbe: {tcpSocket: {port: 8080}}\n";
    let project = Project::new();
    for (cluster, labels) in [("eu1", ""), ("us1", "istio-injection: enabled")] {
        let root = application(&format!("root-{cluster}"), &format!("clusters/{cluster}"));
        project.write(&format!("bootstrap/{cluster}.yaml"), root);
        let web = application("web", &format!("apps/{cluster}"));
        project.write(&format!("clusters/{cluster}/web.yaml"), web);
        project.write(&format!("apps/{cluster}/namespace.yaml"), namespace(labels));
        project.write(&format!("apps/{cluster}/web.yaml"), pod);
    }
    let roots = ["bootstrap/eu1.yaml", "bootstrap/us1.yaml"];
    assert_eq!(overlays(&project, "web").len(), 2);
    for name in ["us1", "root-us1", "bootstrap/us1", "bootstrap/us1.yaml"] {
        let found = overlays(&project, name);
        assert!(
            matches!(found.as_slice(), [one] if one.starts_with(roots[1])),
            "{name}: {found:?}"
        );
    }
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    for (workload, dataplane) in workloads.iter().zip(["none", "sidecar"]) {
        assert_eq!(workload["dataplane"]["value"], dataplane, "{workload}");
        assert_eq!(workload["dataplane"]["certainty"], "known", "{workload}");
    }
}

const OWN: &str = "https://kubernetes.default.svc";

/// Returns an Application that deploys to the cluster of Argo CD.
fn own_application(name: &str, path: &str) -> String {
    application(name, path).replace(&format!("https://{name}"), OWN)
}

/// Returns whether the probe of a workload is reported because of a policy.
fn is_strict(project: &Project) -> bool {
    let run = project.run(&["check", "--output-format", "concise", "."]);
    run.stdout.contains("error[strict-probe-not-rewritten]")
}

/// The cluster of a root is not the remote cluster of an Application.
#[test]
fn a_root_is_separate_from_remote_clusters() {
    let web = own_application("web", "apps/web");
    let roots = join(&[&web, &application("mesh", "apps/mesh")]);
    let project = Project::with(&[
        ("apps/web/ns.yaml", INJECTED),
        ("apps/web/web.yaml", NOT_REWRITTEN),
        ("apps/mesh/strict.yaml", STRICT),
        ("bootstrap/eu1.yaml", &roots),
    ]);
    assert!(!is_strict(&project));
    project.write("bootstrap/us1.yaml", own_application("web", "apps/us1"));
    project.write("apps/us1/ns.yaml", INJECTED);
    project.write("apps/us1/web.yaml", NOT_REWRITTEN);
    assert!(!is_strict(&project));
}

/// An Application of a base that several roots include does not make clusters of them.
#[test]
fn roots_with_a_shared_base_are_one_cluster() {
    let project = Project::with(&[
        ("apps/web/ns.yaml", INJECTED),
        ("apps/web/web.yaml", NOT_REWRITTEN),
        ("apps/mesh/strict.yaml", STRICT),
        ("base/kustomization.yaml", "resources: [common.yaml]\n"),
    ]);
    project.write("base/common.yaml", own_application("common", "apps/common"));
    project.write(
        "apps/common/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
    );
    for name in ["web", "mesh"] {
        let path = |file: &str| format!("parts/{name}/{file}");
        let root = own_application(&format!("root-{name}"), &format!("parts/{name}"));
        project.write(&format!("bootstrap/{name}.yaml"), root);
        let app = own_application(name, &format!("apps/{name}"));
        project.write(&path("app.yaml"), app);
        let kustomization = "resources: [../../base, app.yaml]\n";
        project.write(&path("kustomization.yaml"), kustomization);
    }
    assert!(is_strict(&project));
}
