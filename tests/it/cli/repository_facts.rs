//! Facts from files of the repository that are not among the given paths, and what such paths deploy.

use std::fs;

use serde_json::Value;

use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, findings, run};

const RULE: &str = "strict-probe-not-rewritten";

/// Returns a repository whose mesh and workload are in different folders.
fn shop() -> Project {
    Project::with(&[
        ("infra/mtls.yaml", STRICT),
        ("infra/namespace.yaml", INJECTED),
        ("apps/web.yaml", NOT_REWRITTEN),
    ])
}

fn rules(run: &Run) -> Vec<String> {
    let text = |finding: &Value, key: &str| {
        let text = finding.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    // Whether a namespace without a manifest is injected is not the subject of these tests.
    let is_reported = |finding: &&Value| {
        finding.get("suppressed").is_some_and(Value::is_null)
            && text(finding, "rule") != "namespace-unknown"
    };
    findings(run)
        .iter()
        .filter(is_reported)
        .map(|finding| format!("{} {}", text(finding, "path"), text(finding, "rule")))
        .collect()
}

/// Returns the findings as `PATH RULE`.
fn check(project: &Project, arguments: &[&str]) -> Vec<String> {
    rules(&checked(project, arguments))
}

fn checked(project: &Project, arguments: &[&str]) -> Run {
    let mut all = vec!["check", "--fail-on=never", "--output-format=json"];
    all.extend(arguments);
    project.run(&all)
}

fn in_web() -> Vec<String> {
    vec![format!("apps/web.yaml {RULE}")]
}

fn flux(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 1h\n  path: {path}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: repo}}\n"
    )
}

fn argo(name: &str, source: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  destination: {{namespace: shop, server: 'https://kubernetes.default.svc'}}\n  project: default\n  {source}\n"
    )
}

#[test]
fn facts_come_from_the_whole_repository() {
    let project = shop();
    assert_eq!(check(&project, &["apps"]), in_web());
    assert_eq!(check(&project, &["apps/web.yaml"]), in_web());
    assert_eq!(check(&project, &["infra"]), [""; 0]);
    assert_eq!(check(&project, &["--no-context", "apps"]), [""; 0]);
    let named = ["--no-context", "--context", "infra", "apps"];
    assert_eq!(check(&project, &named), in_web());
    let predicted = project.run(&["predict", "apps"]).exits(0);
    predicted.stdout_contains("requires mutual TLS");
}

#[test]
fn a_worktree_is_a_repository() {
    let project = shop();
    fs::remove_dir(project.path(".git")).unwrap();
    project.write(".git", "gitdir: /nowhere\n");
    assert_eq!(check(&project, &["apps"]), in_web());
}

#[test]
fn without_a_repository_the_configuration_is_the_root() {
    let project = shop();
    fs::remove_dir(project.path(".git")).unwrap();
    assert_eq!(check(&project, &["apps"]), [""; 0]);
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\n",
    );
    assert_eq!(check(&project, &["apps"]), in_web());
    let elsewhere = Project::new();
    let place = project.path("apps");
    let found = check(&elsewhere, &[place.to_str().unwrap()]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        check(&elsewhere, &["--isolated", place.to_str().unwrap()]),
        [""; 0]
    );
}

#[test]
fn a_configuration_can_declare_a_root() {
    const ROOT: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  root: true\n";
    let project = shop();
    project.write("tests/trees/one/web.yaml", NOT_REWRITTEN);
    project.write("tests/trees/one/.meshprobe.yaml", ROOT);
    // Facts of the repository do not apply to the tree.
    assert_eq!(check(&project, &["tests/trees/one"]), [""; 0]);
    let permissive = STRICT.replace("STRICT", "DISABLE");
    project.write("tests/trees/one/mtls.yaml", permissive);
    // Facts of the tree do not apply to the repository.
    assert_eq!(check(&project, &["apps"]), in_web());
    fs::remove_file(project.path("tests/trees/one/mtls.yaml")).unwrap();
    project.write(
        "tests/trees/one/.meshprobe.yaml",
        ROOT.replace("true", "false"),
    );
    let found = check(&project, &["tests/trees/one"]);
    assert_eq!(found, [format!("tests/trees/one/web.yaml {RULE}")]);
    let broken = ROOT.replace("true", "maybe");
    project.write(".meshprobe.yaml", broken);
    project
        .run(&["check", "apps"])
        .exits(2)
        .stderr_contains("`true` or `false`");
}

#[test]
fn what_cannot_be_read_elsewhere_is_counted() {
    let project = shop();
    project.write(
        "infra/broken.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {\n",
    );
    project.write("notes.yaml", "a: [\n");
    assert_eq!(check(&project, &["apps"]), in_web());
    project
        .run(&["check", "apps"])
        .exits(1)
        .stdout_contains("Facts may be missing: 1 file of the repository, outside of the given paths, cannot be read");
    let report: Value = serde_json::from_str(&checked(&project, &["apps"]).stdout).unwrap();
    let context = report.pointer("/summary/context").unwrap();
    assert_eq!(context, &serde_json::json!({"files": 4, "unread": 1}));
    let named = check(&project, &["infra/broken.yaml"]);
    assert_eq!(named, ["infra/broken.yaml syntax-error"]);
}

#[test]
fn excluded_and_ignored_files_state_no_facts() {
    let project = shop();
    assert_eq!(check(&project, &["--exclude", "infra", "apps"]), [""; 0]);
    project.write(".gitignore", "infra/mtls.yaml\n");
    assert_eq!(check(&project, &["apps"]), [""; 0]);
    assert_eq!(check(&project, &["--no-ignore", "apps"]), in_web());
}

#[test]
fn only_the_given_files_are_fixed() {
    let project = Project::with(&[
        (
            "apps/a.yaml",
            &NOT_REWRITTEN
                .replace("web", "a")
                .replace("rewriteAppHTTPProbers", "rewriteAppHTTPProber"),
        ),
        (
            "apps/b.yaml",
            &NOT_REWRITTEN
                .replace("web", "b")
                .replace("rewriteAppHTTPProbers", "rewriteAppHTTPProber"),
        ),
        ("infra/namespace.yaml", INJECTED),
    ]);
    let before = project.read("apps/b.yaml");
    project.run(&["check", "--fix", "--unsafe-fixes", "apps/a.yaml"]);
    assert!(
        project
            .read("apps/a.yaml")
            .contains("rewriteAppHTTPProbers")
    );
    assert_eq!(project.read("apps/b.yaml"), before);
}

#[test]
fn standard_input_has_no_context() {
    let project = shop();
    let run = project.pipe(
        &["check", "--fail-on=never", "--output-format=json", "-"],
        NOT_REWRITTEN,
    );
    assert_eq!(rules(&run), [""; 0]);
    let arguments = [
        "check",
        "--fail-on=never",
        "--output-format=json",
        "--context",
        "infra",
        "-",
    ];
    let run = project.pipe(&arguments, NOT_REWRITTEN);
    assert_eq!(rules(&run), [format!("stdin {RULE}")]);
}

#[test]
fn suppressions_elsewhere_suppress_what_is_deployed() {
    let project = shop();
    project.write("clusters/prod.yaml", flux("apps", "./apps"));
    assert_eq!(check(&project, &["clusters"]), in_web());
    let suppressed = NOT_REWRITTEN.replace(
        "    readinessProbe",
        &format!("    # meshprobe: ignore[{RULE}] measured\n    readinessProbe"),
    );
    project.write("apps/web.yaml", suppressed);
    assert_eq!(check(&project, &["clusters"]), [""; 0]);
    // Unused suppressions are only reported for the given paths.
    project.write("infra/mtls.yaml", STRICT.replace("STRICT", "PERMISSIVE"));
    assert_eq!(check(&project, &["clusters"]), [""; 0]);
    assert_eq!(
        check(&project, &["apps"]),
        ["apps/web.yaml unused-suppression"]
    );
}

#[test]
fn an_entry_of_ignore_is_used_if_it_suppresses_a_finding_anywhere() {
    let project = shop();
    project.write(
        ".meshprobe.yaml",
        format!("apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  ignore:\n  - {{rule: {RULE}, reason: measured}}\n"),
    );
    for path in ["apps", "infra", "."] {
        assert_eq!(check(&project, &[path]), [""; 0], "{path}");
    }
}

#[test]
fn a_repository_in_the_home_directory_is_not_read() {
    let project = shop();
    let home = project.path("");
    let mut program = command(PROGRAM.as_ref(), &home);
    program.env("HOME", &home).args(["check", "apps"]);
    run(&mut program, b"")
        .exits(0)
        .stderr_contains("home directory");
}

/// Checks `clusters` with the whole repository as context, without it, and without a repository.
fn check_clusters(project: &Project, wanted: &[&str]) {
    let infra = ["--context", "infra", "clusters"];
    assert_eq!(check(project, &["clusters"]), wanted);
    let alone = [&["--no-context"][..], &infra].concat();
    assert_eq!(check(project, &alone), wanted, "--no-context");
    fs::remove_dir(project.path(".git")).unwrap();
    assert_eq!(check(project, &infra), wanted, "no repository");
    fs::create_dir(project.path(".git")).unwrap();
}

#[test]
fn a_flux_kustomization_pulls_in_what_it_deploys() {
    let project = shop();
    project.write("clusters/prod/apps.yaml", flux("apps", "./apps"));
    project.write("unrelated/web.yaml", NOT_REWRITTEN.replace("web", "other"));
    check_clusters(&project, &[&in_web()[0]]);
    let run = project.run(&["check", "clusters"]).exits(1);
    run.stdout_contains("1 workload");
}

#[test]
fn an_application_pulls_in_what_it_deploys() {
    for source in [
        "source: {repoURL: 'https://git.example.com/r.git', path: apps}",
        "sources: [{repoURL: 'https://git.example.com/r.git', path: apps}]",
        "sourceHydrator: {drySource: {repoURL: 'https://git.example.com/r.git', path: apps, targetRevision: HEAD}, syncSource: {targetBranch: live, path: apps}}",
    ] {
        let project = shop();
        project.write("clusters/prod/apps.yaml", argo("apps", source));
        check_clusters(&project, &[&in_web()[0]]);
    }
}

#[test]
fn an_application_set_pulls_in_what_it_deploys() {
    let project = shop();
    project.write("teams/shop/web.yaml", NOT_REWRITTEN);
    fs::remove_dir_all(project.path("apps")).unwrap();
    project.write(
        "clusters/prod/teams.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: teams, namespace: argocd}\nspec:\n  generators:\n  - git:\n      repoURL: https://git.example.com/r.git\n      directories: [{path: teams/*}]\n  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n      destination: {namespace: shop, server: 'https://kubernetes.default.svc'}\n      project: default\n      source: {repoURL: 'https://git.example.com/r.git', path: '{{path}}'}\n",
    );
    check_clusters(&project, &[&format!("teams/shop/web.yaml {RULE}")]);
}

#[test]
fn an_umbrella_of_applications_pulls_in_what_they_deploy() {
    let project = shop();
    let source =
        |path: &str| format!("source: {{repoURL: 'https://git.example.com/r.git', path: {path}}}");
    project.write("clusters/prod/root.yaml", argo("root", &source("umbrella")));
    project.write("umbrella/web.yaml", argo("web", &source("apps")));
    check_clusters(&project, &[&in_web()[0]]);
}

#[test]
fn a_kustomization_of_kustomizations_pulls_in_its_bases() {
    let project = shop();
    project.write("apps/kustomization.yaml", "resources: [web.yaml]\n");
    project.write("layers/web/kustomization.yaml", "resources: [../../apps]\n");
    project.write(
        "clusters/prod/kustomization.yaml",
        "resources: [../../layers/web]\n",
    );
    check_clusters(&project, &[&in_web()[0]]);
    // A kustomization that another one includes is not rendered on its own.
    assert_eq!(check(&project, &["layers"]), in_web());
    assert_eq!(
        check(&project, &["layers/web/kustomization.yaml"]),
        in_web()
    );
}

#[test]
fn a_cluster_is_judged_by_its_own_facts() {
    let project = shop();
    project.write("clusters/prod/apps.yaml", flux("apps", "./apps"));
    project.write("clusters/prod/mtls.yaml", STRICT);
    project.write("clusters/test/apps.yaml", flux("apps", "./apps"));
    project.write(
        "clusters/test/mtls.yaml",
        STRICT.replace("STRICT", "PERMISSIVE"),
    );
    fs::remove_file(project.path("infra/mtls.yaml")).unwrap();
    assert_eq!(check(&project, &["clusters/prod"]), in_web());
    assert_eq!(check(&project, &["clusters/test"]), [""; 0]);
}

#[test]
fn a_deployed_kustomization_with_unknown_objects_is_not_judged() {
    let project = Project::with(&[
        ("clusters/prod/apps.yaml", &flux("apps", "./apps")),
        (
            "apps/kustomization.yaml",
            "resources: [https://git.example.com/platform/apps]\n",
        ),
        (
            "other/kustomization.yaml",
            "resources: [https://git.example.com/platform/other]\n",
        ),
    ]);
    let run = checked(&project, &["clusters"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let not_judged = report["not_judged"].as_array().unwrap();
    let of_kustomizations = not_judged
        .iter()
        .filter(|entry| entry["reason"] == "kustomization");
    let paths: Vec<&Value> = of_kustomizations.map(|entry| &entry["path"]).collect();
    assert_eq!(paths, ["apps/kustomization.yaml"], "{}", run.stdout);
}

#[test]
fn a_file_that_a_given_path_deploys_and_that_cannot_be_read_is_a_finding() {
    let project = shop();
    project.write("clusters/prod/apps.yaml", flux("apps", "./apps"));
    project.write(
        "apps/broken.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: \"x\n",
    );
    let broken = "apps/broken.yaml syntax-error";
    assert!(check(&project, &["clusters"]).contains(&broken.to_owned()));
    assert!(check(&project, &["apps"]).contains(&broken.to_owned()));
    assert!(!check(&project, &["infra"]).contains(&broken.to_owned()));
}

#[test]
fn a_deployed_folder_that_does_not_exist_is_not_judged() {
    let project = shop();
    let source = "source: {repoURL: 'https://git.example.com/repo', path: apps/gone}";
    project.write("clusters/prod/apps.yaml", flux("apps", "./deploy-typo"));
    project.write("clusters/prod/argo.yaml", argo("gone", source));
    let report: Value = serde_json::from_str(&checked(&project, &["clusters"]).stdout).unwrap();
    let not_judged = report["not_judged"].as_array().unwrap();
    let messages: Vec<&str> = not_judged
        .iter()
        .filter(|entry| entry["reason"] == "deployed-folder")
        .map(|entry| entry["message"].as_str().unwrap())
        .collect();
    let not_in_tree = "which is not a folder of this repository";
    assert_eq!(
        messages,
        [
            format!("Kustomization/apps deploys `./deploy-typo`, {not_in_tree}"),
            format!("Application/gone deploys `apps/gone`, {not_in_tree}"),
        ]
    );
    let run = project.run(&["check", "--output-format=sarif", "clusters"]);
    run.stderr_contains("not judged: 2 deployed folders");
}

#[test]
fn a_prediction_without_workloads_says_so() {
    let project = shop();
    let nothing = "Nothing was predicted: the files do not contain workloads.";
    project.run(&["predict", "infra"]).stderr_contains(nothing);
    let run = project.run(&["predict", "apps"]);
    assert!(!run.stderr.contains(nothing), "{}", run.stderr);
}
