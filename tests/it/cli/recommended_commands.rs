//! The commands that messages recommend.

use crate::support::project::Project;

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: podinfo, namespace: shop}
spec:
  chart: {spec: {chart: podinfo, version: 6.x, sourceRef: {kind: HelmRepository, name: podinfo}}}
";

/// Runs `check` in a folder, and checks that the commands in its output read the facts of the given folders.
#[track_caller]
fn recommends(project: &Project, folder: &str, path: &str, option: &str) {
    let run = project.run_in(folder, &["check", path], "").exits(0);
    let command = format!(" | meshprobe check {option} -");
    assert!(run.stdout.contains(&command), "{}", run.stdout);
    let count = |text: &str| run.stdout.matches(text).count();
    assert_eq!(
        count("| meshprobe check "),
        count(&command),
        "{}",
        run.stdout
    );
}

#[test]
fn commands_read_the_facts_of_the_whole_repository() {
    let template = "kind: Pod\nmetadata: {name: {{ .x }}}\n";
    let project = Project::with(&[
        ("releases/shop.yaml", RELEASE),
        ("apps/web/web.yaml", template),
    ]);
    recommends(&project, "", ".", "--context .");
    recommends(&project, "releases", ".", "--context ..");
    recommends(&project, "apps/web", ".", "--context ../..");
    recommends(&project, "apps/web", "../../releases", "--context ../..");
}

#[test]
fn commands_do_not_read_neighbouring_repositories() {
    let project = Project::with(&[
        ("shop/.git/HEAD", ""),
        ("shop/releases/shop.yaml", RELEASE),
        ("it's/.git/HEAD", ""),
        ("it's/shop.yaml", RELEASE),
    ]);
    recommends(&project, "", "shop/releases", "--context shop");
    recommends(&project, "it's", "../shop", "--context ../shop");
    recommends(&project, "", "it's", r"--context 'it'\''s'");
}

#[test]
fn commands_for_files_without_workloads_read_the_whole_repository() {
    let project = Project::with(&[(
        "maps/a.yaml",
        "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n",
    )]);
    recommends(&project, "maps", ".", "--context ..");
    recommends(&project, "maps", "a.yaml", "--context ..");
}

#[test]
fn builds_with_charts_enable_helm() {
    let charts = "helmCharts: [{name: web, releaseName: web}]\n";
    for (overlay, base, build) in [
        (charts, "", "kustomize build --enable-helm overlay | "),
        ("", charts, "kustomize build --enable-helm overlay | "),
        ("", "generators: [g.yaml]\n", "kustomize build overlay | "),
    ] {
        let project = Project::with(&[
            (
                "base/kustomization.yaml",
                &format!("namePrefix: a-\n{base}"),
            ),
            (
                "overlay/kustomization.yaml",
                &format!("resources: [../base]\n{overlay}"),
            ),
        ]);
        let run = project.run(&["check", "overlay"]).exits(0);
        let run = run.stdout_contains(build);
        assert_eq!(
            run.stdout.matches("kustomize build").count(),
            run.stdout.matches(build).count()
        );
    }
}
