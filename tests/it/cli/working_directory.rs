//! The result for a file depends neither on the working directory nor on the form of its path.

use crate::support::manifest::{Manifest, STRICT_MESH, join};
use crate::support::project::Project;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: w, namespace: shop}
spec: {containers: [{name: c, image: x, livenessProbe: {httpGet: {port: 80}}}]}
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: c, image: x, livenessProbe: {httpGet: {port: 80}}}]}
";

fn namespace(name: &str, injection: &str) -> String {
    let label = format!("istio-injection: {injection}");
    Manifest::namespace(name).labels(&label).to_string()
}

/// Checks that the table of `predict` is the same from every directory, and returns it.
#[track_caller]
fn same_table(project: &Project, invocations: &[(&str, &[&str])]) -> String {
    let tables = invocations.iter().map(|(directory, paths)| {
        let arguments = [&["predict", "--isolated"], *paths].concat();
        let run = project.run_in(directory, &arguments, "").exits(0);
        // The rows are sorted by the displayed paths.
        let mut rows: Vec<&str> = run.stdout.lines().collect();
        rows.sort_unstable();
        (format!("in {directory:?}: {paths:?}"), rows.join("\n"))
    });
    let tables: Vec<(String, String)> = tables.collect();
    for (invocation, table) in &tables {
        assert_eq!(
            Some(table),
            tables.first().map(|(_, first)| first),
            "{invocation}"
        );
    }
    tables.into_iter().next().unwrap().1
}

#[test]
fn a_namespace_of_another_environment_does_not_apply_in_a_subfolder() {
    let project = Project::with(&[
        ("prod/ns.yaml", &namespace("shop", "enabled")),
        ("stage/ns.yaml", &namespace("shop", "disabled")),
        ("prod/app/w.yaml", POD),
        ("stage/app/w.yaml", POD),
    ]);
    let root = project.path("");
    let stage = project.path("stage/app/w.yaml");
    std::fs::create_dir(project.path("x")).unwrap();
    let invocations: [(&str, &[&str]); 6] = [
        ("", &["--context", ".", "stage/app/w.yaml"]),
        ("stage/app", &["--context", "../..", "w.yaml"]),
        ("stage/app", &["--context", "../../x/..", "w.yaml"]),
        ("stage", &["--context", "../prod", "--context", ".", "app"]),
        ("prod", &["--context", "..", "../prod/../stage/app"]),
        (
            "prod/app",
            &["--context", root.to_str().unwrap(), stage.to_str().unwrap()],
        ),
    ];
    insta::assert_snapshot!(same_table(&project, &invocations));
}

#[test]
fn both_manifests_of_a_namespace_apply_to_a_third_folder() {
    let other = namespace("shop", "disabled").replace("shop,", "shop, annotations: {x: y},");
    let pod = POD.replace("name: w,", "name: v,");
    let project = Project::with(&[
        ("a/x/ns.yaml", &namespace("shop", "enabled")),
        ("b/y/ns.yaml", &other),
        ("c/w.yaml", &pod),
    ]);
    let invocations: [(&str, &[&str]); 3] = [
        ("", &["--context", ".", "c"]),
        ("a/x", &["--context", "../..", "../../c"]),
        ("b/y", &["--context", "../..", "../../c"]),
    ];
    let table = same_table(&project, &invocations);
    assert!(table.contains("  ok  "), "{table}");
}

#[test]
fn displayed_paths_are_relative_to_the_working_directory() {
    let project = Project::with(&[
        ("stage/ns.yaml", &namespace("shop", "disabled")),
        ("stage/app/w.yaml", POD),
    ]);
    let arguments = ["predict", "--explain", "--context", "../..", "w.yaml"];
    let run = project.run_in("stage/app", &arguments, "").exits(0);
    run.stdout_contains("(../ns.yaml:3)");
}

#[test]
fn an_overlay_next_to_the_working_directory_is_found() {
    let project = Project::with(&[
        ("ns.yaml", &namespace("na", "enabled")),
        (
            "ov/a/kustomization.yaml",
            "resources: [../../base/]\nnamespace: na\n",
        ),
        ("base/kustomization.yaml", "resources: [dep.yaml]\n"),
        ("base/dep.yaml", DEPLOYMENT),
    ]);
    let invocations: [(&str, &[&str]); 3] = [
        ("", &["--context", "ov", "--context", "ns.yaml", "base"]),
        (
            "base",
            &["--context", "../ov", "--context", "../ns.yaml", "."],
        ),
        (
            "ov",
            &["--context", ".", "--context", "..", "../base/dep.yaml"],
        ),
    ];
    insta::assert_snapshot!(same_table(&project, &invocations));
}

/// A repository with two clusters that Flux fills from one folder; only one of them is injected.
fn fleet(path: &str) -> Project {
    let flux = |namespace: &str| {
        let spec = format!(
            "  path: {path}
  targetNamespace: {namespace}
  sourceRef: {{kind: GitRepository, name: x}}"
        );
        Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps")
            .within("flux-system")
            .spec(&spec)
            .to_string()
    };
    Project::with(&[
        ("clusters/prod/apps.yaml", &flux("shop-prod")),
        ("clusters/prod/ns.yaml", &namespace("shop-prod", "enabled")),
        ("clusters/stage/apps.yaml", &flux("shop-stage")),
        (
            "clusters/stage/ns.yaml",
            &namespace("shop-stage", "disabled"),
        ),
        ("apps/shop/dep.yaml", DEPLOYMENT),
    ])
}

const FLEET: [(&str, &[&str]); 5] = [
    ("", &["--context", "clusters", "apps"]),
    ("apps", &["--context", "../clusters", "shop"]),
    ("apps/shop", &["--context", "../..", "."]),
    ("clusters", &[".", "../apps"]),
    ("clusters/prod", &["--context", "..", "../../apps"]),
];

#[test]
fn flux_deploys_from_the_root_of_the_repository() {
    insta::assert_snapshot!(same_table(&fleet("./apps/shop/"), &FLEET));
    let bare = fleet("apps/shop");
    std::fs::remove_dir(bare.path(".git")).unwrap();
    assert_eq!(
        same_table(&bare, &FLEET),
        same_table(&fleet("./apps/shop/"), &FLEET)
    );
}

#[test]
fn argo_deploys_from_the_root_of_the_repository() {
    let application = |folder: &str| {
        let source = format!("source: {{path: {folder}, repoURL: x}}");
        Manifest::new("argoproj.io/v1alpha1", "Application", "shop")
            .spec(&format!("  {source}\n  destination: {{namespace: shop}}"))
            .to_string()
    };
    for folder in ["apps/shop", "."] {
        let project = Project::with(&[
            ("argo/shop.yaml", &application(folder)),
            ("argo/ns.yaml", &namespace("shop", "enabled")),
            ("apps/shop/dep.yaml", DEPLOYMENT),
        ]);
        let invocations: [(&str, &[&str]); 3] = [
            ("", &["--context", ".", "apps/shop"]),
            ("apps/shop", &["--context", "../..", "."]),
            ("argo", &["--context", "..", "../apps"]),
        ];
        let table = same_table(&project, &invocations);
        assert!(table.contains("shop/Deployment/w"), "{table}");
        assert!(table.contains("the agent performs the check"), "{table}");
    }
}

#[test]
fn value_files_that_argo_names_are_found_from_a_subfolder() {
    let project = Project::with(&[
        (
            "infra/istiod.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\n\
             metadata: {name: istiod, namespace: argocd}\nspec:\n  sources:\n  - chart: istiod\n    \
             repoURL: https://istio-release.storage.googleapis.com/charts\n    \
             targetRevision: 1.28.0\n    helm: {valueFiles: [$values/infra/values/istiod.yaml]}\n  \
             - {repoURL: x, ref: values}\n",
        ),
        (
            "infra/values/istiod.yaml",
            "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}\n",
        ),
        ("ns.yaml", &namespace("shop", "enabled")),
        ("w.yaml", POD),
    ]);
    let invocations: [(&str, &[&str]); 2] = [
        ("", &["--context", ".", "w.yaml"]),
        ("infra/values", &["--context", "../..", "../../w.yaml"]),
    ];
    let table = same_table(&project, &invocations);
    assert!(table.contains("the sidecar forwards it"), "{table}");
}

#[test]
fn the_guard_of_the_rewrite_applies_in_every_directory() {
    let project = fleet("apps/shop");
    let invocations: [(&str, &[&str]); 3] = [
        ("", &["--context", "clusters", "apps"]),
        ("apps", &["--context", "..", "shop"]),
        (
            "clusters/stage",
            &["--context", "..", "../../apps/shop/dep.yaml"],
        ),
    ];
    for (directory, paths) in invocations {
        let arguments = [&["rewrite", "--assume", "injection=all", "--diff"], paths].concat();
        let run = project.run_in(directory, &arguments, "");
        assert_eq!(run.stdout, "", "{directory}: {}", run.stderr);
        run.stderr_contains("kustomize-overlay")
            .stderr_contains("1 refused.");
    }
}

#[test]
fn a_folder_next_to_the_environments_is_shared() {
    let off = "values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}";
    let operator = Manifest::operator("x", off).to_string();
    let infra = join(&[&operator, STRICT_MESH]);
    let apps = format!("{}---\n{POD}", namespace("shop", "enabled"));
    let project = Project::with(&[
        ("infra/io.yaml", &infra),
        ("prod/w.yaml", &apps),
        ("stage/w.yaml", &apps),
        (
            ".meshprobe.yaml",
            "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {context: [infra]}\n",
        ),
    ]);
    let all = project.run(&["predict", "."]).exits(0).stdout;
    let line = |table: &str| table.lines().nth(1).unwrap().to_owned();
    for (directory, path) in [("", "prod"), ("prod", "."), ("stage", "../prod")] {
        let run = project.run_in(directory, &["predict", path], "").exits(0);
        assert_eq!(line(&run.stdout), line(&all), "{directory} {path}");
    }
    insta::assert_snapshot!(all);
}
