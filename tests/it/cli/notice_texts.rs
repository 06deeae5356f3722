//! The advice of notices fits the tree: commands that exist, folders that contain charts, paths that exist.

use super::fixes::WEB;
use crate::support::project::Project;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const TEMPLATE: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Release.Name }}}\n";
const ABOVE: &str = "The commands above would judge the workloads.";

fn flux(path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps}}\nspec: {{path: {path}, \
         sourceRef: {{kind: GitRepository, name: main}}}}\n"
    )
}

fn not_judged(project: &Project) -> String {
    let run = project.run(&["check"]);
    let mut lines = run.stdout.lines();
    let line = lines.find(|line| line.starts_with("Not judged"));
    line.unwrap_or_default().to_owned()
}

#[test]
fn commands_above_are_mentioned_only_if_there_are_some() {
    let template = Project::with(&[("x.yaml", TEMPLATE)]);
    let run = template.run(&["check"]).exits(0);
    assert!(!run.stdout.contains("commands above"), "{}", run.stdout);
    let chart = Project::with(&[
        ("web/Chart.yaml", CHART),
        ("web/templates/web.yaml", TEMPLATE),
    ]);
    chart.run(&["check"]).exits(0).stdout_contains(ABOVE);
    // A report for programs does not show the commands.
    let run = chart.run(&["check", "--output-format", "gitlab"]).exits(0);
    assert!(!run.stderr.contains("commands above"), "{}", run.stderr);
    run.stderr_contains(
        "`--output-format json` lists the commands that would judge the workloads.",
    );
}

#[test]
fn helm_is_recommended_for_folders_with_a_chart() {
    let help = |project: &Project, command: &str| {
        let run = project.run(&[command]);
        let text = format!("{}{}", run.stdout, run.stderr);
        let mut lines = text.lines().filter(|line| line.contains("help: render it"));
        lines.next().unwrap_or_default().trim().to_owned()
    };
    let project = Project::with(&[("templates/web.yaml", TEMPLATE), ("web.yaml", WEB)]);
    let unknown = "help: render it first: `helm template <chart> | meshprobe check --context . -`";
    assert_eq!(help(&project, "check"), unknown);
    project.write("Chart.yaml", CHART);
    let known = "help: render it first: `meshprobe check --helm auto .`";
    assert_eq!(help(&project, "check"), known);
}

#[test]
fn a_run_recommends_one_command_per_chart() {
    let project = Project::with(&[
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/templates/web.yaml", TEMPLATE),
    ]);
    let recommends = |arguments: &[&str], command: &str| {
        let run = project.run(arguments).exits(0);
        let run = run
            .stdout_contains(&format!("help: render it first: `{command}`"))
            .stdout_contains(&format!("is not rendered: `{command}`"));
        assert!(!run.stdout.contains("helm template"), "{}", run.stdout);
    };
    recommends(&["check"], "meshprobe check --helm auto charts/web");
}

#[test]
fn all_commands_recommend_to_render_a_chart_as_it_is_deployed() {
    let project = Project::with(&[
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/templates/web.yaml", TEMPLATE),
        (
            "apps/web.yaml",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  \
             chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: main}}}\n",
        ),
    ]);
    for arguments in [&["check"][..], &["predict"], &["rewrite", "--diff", "."]] {
        let run = project.run(arguments);
        let text = format!("{}{}", run.stdout, run.stderr);
        let help = "help: render it as it is deployed: `meshprobe check --helm auto charts/web`";
        assert!(text.contains(help), "{arguments:?}: {text}");
    }
}

#[test]
fn a_missing_folder_is_named() {
    let project = Project::with(&[
        ("deploy/prod/web.yaml", WEB),
        ("flux.yaml", &flux("./deplyo/prod")),
    ]);
    assert_eq!(
        not_judged(&project),
        "Not judged: flux.yaml:4: Kustomization/apps deploys `./deplyo/prod`, which is not a folder of this repository: \
         correct the path, or check the repository that contains it"
    );
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps}\nspec: {source: \
                       {repoURL: 'https://git.example/r', path: deploy/prdo}}\n";
    project.write("flux.yaml", application);
    assert!(
        not_judged(&project)
            .ends_with(": correct the path, or check the repository that contains it")
    );
    // Without a repository.
    std::fs::remove_dir(project.path(".git")).unwrap();
    assert!(not_judged(&project).contains("which is not a folder of the tree"));
}

#[test]
fn files_without_facts_are_named() {
    let project = Project::with(&[
        ("apps/web.yaml", WEB),
        ("mesh/a.yaml", "apiVersion: v1\nkind: [\n"),
    ]);
    let run = project.run(&["check", "apps"]).exits(0);
    run.stdout_contains(
        "Facts may be missing: 1 file of the repository, outside of the given paths, cannot be read: `mesh/a.yaml`.",
    );
    for name in ["b", "c", "d", "e"] {
        project.write(&format!("mesh/{name}.yaml"), "apiVersion: v1\nkind: [\n");
    }
    let run = project.run(&["check", "apps"]).exits(0);
    run.stdout_contains(
        "cannot be read: `mesh/a.yaml`, `mesh/b.yaml`, `mesh/c.yaml` and 2 more (`--verbose` lists all files).",
    );
}

#[test]
fn all_old_releases_are_refused_and_an_opt_out_is_respected() {
    let project = Project::with(&[("web.yaml", WEB)]);
    let rewrite = |version: &str| {
        let arguments = [
            "rewrite",
            "--diff",
            "--assume",
            "injection=all",
            "--mesh-version",
            version,
            "web.yaml",
        ];
        project.run(&arguments)
    };
    for version in ["1.4", "1.9"] {
        let message = format!("`rewrite` does not support Istio {version}");
        rewrite(version).exits(1).stderr_contains(&message);
    }
    let annotation = "      annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}\n";
    let opted_out = WEB.replace(
        "      labels: {app: web}\n    spec",
        &format!("      labels: {{app: web}}\n{annotation}    spec"),
    );
    assert_ne!(opted_out, WEB);
    project.write("web.yaml", &opted_out);
    for version in ["1.4", "1.9"] {
        rewrite(version).exits(0).stderr_contains("1 opted out");
    }
}

/// `helm` of these tests.
#[cfg(unix)]
mod renderer {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{CHART, Project, TEMPLATE};
    use crate::support::{PROGRAM, Run, command, run};

    /// Runs the program with a `helm` that executes `script`.
    fn with_helm(project: &Project, script: &str, arguments: &[&str]) -> Run {
        project.write("bin/helm", format!("#!/bin/sh\n{script}\n"));
        let helm = project.path("bin/helm");
        fs::set_permissions(&helm, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
        let mut meshprobe = command(Path::new(PROGRAM), &project.path(""));
        run(meshprobe.args(arguments).env("PATH", path), b"")
    }

    #[test]
    fn a_missing_helm_is_named() {
        let project = Project::with(&[
            ("web/Chart.yaml", CHART),
            ("web/templates/web.yaml", TEMPLATE),
        ]);
        let mut meshprobe = command(Path::new(PROGRAM), &project.path(""));
        let path = project.path("bin");
        let run = run(
            meshprobe
                .args(["check", "--helm", "auto"])
                .env("PATH", path),
            b"",
        );
        let run = run.exits(2).stdout_contains(
            "Not judged: web/Chart.yaml:1: the chart in `web` is not rendered: `helm` is not on the PATH: install helm, or \
             add its folder to the PATH",
        );
        assert!(!run.stdout.contains("pass the values"), "{}", run.stdout);
        let failed = with_helm(&project, "exit 1", &["check", "--helm", "auto"]).exits(2);
        failed.stdout_contains("or pass the values that the chart requires");
    }

    #[test]
    fn equal_failures_of_several_clusters_are_one_finding() {
        let project = Project::with(&[
            ("charts/web/Chart.yaml", CHART),
            ("charts/web/templates/web.yaml", TEMPLATE),
            (
                "apps/web.yaml",
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\nspec:\n  \
                 chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: main}}}\n  \
                 values: {cluster: \"${CLUSTER}\"}\n",
            ),
        ]);
        for cluster in ["eu", "us"] {
            let text = super::flux("./apps").replace(
                "spec: {",
                &format!("spec: {{postBuild: {{substitute: {{CLUSTER: {cluster}}}}}, "),
            );
            project.write(&format!("clusters/{cluster}/apps.yaml"), text);
        }
        let arguments = ["check", "--helm", "auto", "--output-format", "concise"];
        let same = with_helm(&project, "echo broken >&2; exit 1", &arguments).exits(2);
        assert_eq!(
            same.stdout.matches("error[not-rendered]").count(),
            1,
            "{}",
            same.stdout
        );
        // Failures that differ are different findings.
        let script = "echo $$ >&2; exit 1";
        let other = with_helm(&project, script, &arguments).exits(2);
        assert_eq!(
            other.stdout.matches("error[not-rendered]").count(),
            2,
            "{}",
            other.stdout
        );
    }

    #[test]
    fn a_chart_with_istio_and_others_has_the_values_of_its_application() {
        let istio = "{name: istiod, version: 1.24.0, repository: 'https://istio-release.storage.googleapis.com/charts'}";
        let chart = |others: &str| {
            format!(
                "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies: [{istio}{others}]\n"
            )
        };
        let project = Project::with(&[
            (
                "platform/Chart.yaml",
                &chart(", {name: web, version: 0.1.0, repository: 'https://charts.example'}"),
            ),
            (
                "app.yaml",
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: platform}\nspec:\n  \
                 destination: {namespace: shop}\n  \
                 source: {repoURL: 'https://git.example/r', path: platform, helm: {values: 'web: {mark: deployed}'}}\n",
            ),
        ]);
        // Prints the values with which helm is called.
        let script = "for file; do case $file in */0.yaml*) cat $(echo $file | tr -d '\"') >&2; esac; done; exit 1";
        let arguments = ["check", "--helm", "auto", "--output-format", "concise"];
        with_helm(&project, script, &arguments)
            .exits(2)
            .stdout_contains("mark: deployed")
            .stdout_contains("not judged: 1 chart Application");
        project
            .run(&["check"])
            .stdout_contains("`meshprobe check --helm auto app.yaml`");
        // An Application that only installs Istio is read for facts.
        project.write("platform/Chart.yaml", chart(""));
        let run = with_helm(&project, script, &arguments).exits(0);
        assert!(!run.stdout.contains("Not judged"), "{}", run.stdout);
    }
}
