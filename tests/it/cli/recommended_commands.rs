//! The commands that messages recommend.

use crate::support::project::Project;

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: podinfo, namespace: shop}
spec:
  chart: {spec: {chart: podinfo, version: 6.x, sourceRef: {kind: HelmRepository, name: podinfo}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: podinfo, namespace: shop}
spec: {url: 'https://charts.example'}
";

const GENERATOR: &str = "apiVersion: example.com/v1\nkind: Generator\nmetadata: {name: g}\n";

/// Runs `check` in a folder, and checks that the commands in its output read the facts of the given folders.
#[track_caller]
fn recommends(project: &Project, folder: &str, path: &str, option: &str) {
    let run = project.run_in(folder, &["check", path], "").exits(0);
    let command = format!("meshprobe check {option} -");
    assert!(run.stdout.contains(&command), "{}", run.stdout);
    let count = |text: &str| run.stdout.matches(text).count();
    assert_eq!(
        count("meshprobe check --context"),
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
        (
            "",
            "generators: [g.yaml]\n",
            "kustomize build --enable-alpha-plugins overlay | ",
        ),
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
            ("base/g.yaml", GENERATOR),
        ]);
        let run = project.run(&["check", "overlay"]).exits(0);
        let run = run.stdout_contains(build);
        assert_eq!(
            run.stdout.matches("kustomize build").count(),
            run.stdout.matches(build).count()
        );
    }
}

/// A command with a value that another tool fills in, or with a part that the tree does not contain, cannot be run.
#[test]
fn commands_contain_no_placeholders() {
    let repository = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: podinfo}\nspec: {url: 'https://charts.example/${CHANNEL}'}\n";
    let flux = |spec: &str, more: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: shop}}\nspec: {{{spec}}}\n{more}"
        )
    };
    let argo = |source: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec: {{destination: {{namespace: shop}}, source: {{{source}}}}}\n"
        )
    };
    let source = "sourceRef: {kind: HelmRepository, name: podinfo}";
    let releases = [
        flux(&format!("chart: {{spec: {{chart: podinfo, {source}}}}}"), ""),
        flux(&format!("chart: {{spec: {{chart: podinfo, {source}}}}}"), repository),
        flux("targetNamespace: '${TENANT}', chart: {spec: {chart: charts/web, valuesFiles: [charts/web/no.yaml]}}", ""),
        flux("chartRef: {kind: OCIRepository, name: none}", ""),
        argo("repoURL: 'https://charts.example', chart: web, targetRevision: '${VERSION}'"),
        argo("repoURL: 'https://charts.example', chart: web, helm: {releaseName: '{{ name }}'}"),
        argo("chart: web"),
        "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: web}\nspec: {chart: web, repo: 'https://charts.example', set: {a: '%%A%%'}}\n".to_owned(),
    ];
    let chart = (
        "charts/web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    );
    for release in &releases {
        let project = Project::with(&[("release.yaml", release), chart]);
        let run = project.run(&["check", "release.yaml"]).exits(0);
        assert!(
            run.stdout.contains("pipe the rendering into"),
            "{release}{}",
            run.stdout
        );
        for part in ["URL", "{TENANT}`", "helm template", "The commands above"] {
            assert!(!run.stdout.contains(part), "{release}{}", run.stdout);
        }
    }
}

/// The only container of Istio's gateways is the proxy.
#[test]
fn charts_of_istio_itself_are_not_named() {
    let istio = "https://istio-release.storage.googleapis.com/charts";
    let repository = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: istio}}\nspec: {{url: '{istio}'}}\n"
    );
    let mut files = vec![("repository.yaml".to_owned(), repository)];
    for chart in ["base", "istiod", "cni", "ztunnel", "gateway"] {
        files.extend([
            (format!("flux-{chart}.yaml"), format!("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: x-{chart}, namespace: istio-system}}\nspec: {{chart: {{spec: {{chart: {chart}, version: 1.30.0, sourceRef: {{kind: HelmRepository, name: istio}}}}}}}}\n")),
            (format!("argo-{chart}.yaml"), format!("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: x-{chart}}}\nspec: {{destination: {{namespace: istio-system}}, source: {{repoURL: '{istio}', chart: {chart}, targetRevision: 1.30.0}}}}\n")),
        ]);
    }
    files.push(("k3s.yaml".to_owned(), format!("apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: gateway}}\nspec: {{chart: gateway, repo: '{istio}', version: 1.30.0}}\n")));
    files.push(("umbrella/Chart.yaml".to_owned(), format!("apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n- {{name: istiod, version: 1.30.0, repository: '{istio}'}}\n- {{name: gateway, version: 1.30.0, repository: '{istio}'}}\n")));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let project = Project::with(&files);
    let run = project.run(&["check"]);
    assert!(!run.stdout.contains("Not judged"), "{}", run.stdout);
    // A probe that the values add is one of the user, and another chart may have the same name.
    let values = "spec: {chart: {spec: {chart: gateway, sourceRef: {kind: HelmRepository, name: istio}}}, values: {readinessProbe: {tcpSocket: {port: 1}}}}";
    for (spec, url) in [
        (values, istio),
        (
            "spec: {chart: {spec: {chart: gateway, sourceRef: {kind: HelmRepository, name: istio}}}}",
            "https://charts.example",
        ),
    ] {
        let release = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: x, namespace: shop}}\n{spec}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: istio}}\nspec: {{url: '{url}'}}\n"
        );
        let project = Project::with(&[("release.yaml", &release)]);
        project
            .run(&["check"])
            .exits(0)
            .stdout_contains("Not judged: release.yaml");
    }
}
