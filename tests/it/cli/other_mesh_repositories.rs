//! Charts and values of Istio that an object takes from another repository are not read from this one.

use crate::support::manifest::{ANNOTATED_WEB, INJECTED};
use crate::support::project::Project;

const OWN: &str = "https://git.example/team/fleet";
const OTHER: &str = "https://git.example/team/charts";
const REWRITE_OFF: &str = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}";

/// Returns a clone of [`OWN`] with a chart that installs Istio, and a file that deploys it.
fn fleet(mesh: &str) -> Project {
    Project::with(&[
        (
            ".git/config",
            &format!("[remote \"origin\"]\n\turl = {OWN}\n"),
        ),
        ("apps/web.yaml", ANNOTATED_WEB),
        ("apps/namespace.yaml", INJECTED),
        (
            "charts/mesh/Chart.yaml",
            "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies: [{name: istiod, version: 1.28.0}]\n",
        ),
        ("mesh.yaml", mesh),
    ])
}

/// Returns whether the values of the mesh have switched the rewrite off.
fn is_rewrite_off(mesh: &str) -> bool {
    let run = fleet(mesh).run(&["predict", "--explain", "apps"]).exits(0);
    assert!(run.stdout.contains("rewrite     "), "{}", run.stdout);
    run.stdout.contains("rewrite     off")
}

#[test]
fn the_chart_of_an_application_is_in_its_repository() {
    let application = |url: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: mesh}}\nspec:\n  \
             destination: {{namespace: istio-system}}\n  source:\n    repoURL: {url}\n    path: charts/mesh\n    \
             helm: {{valuesObject: {{istiod: {{{REWRITE_OFF}}}}}}}\n"
        )
    };
    assert!(is_rewrite_off(&application(OWN)));
    assert!(!is_rewrite_off(&application(OTHER)));
}

#[test]
fn the_values_of_an_application_are_in_the_repository_of_their_source() {
    let application = |url: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: istiod}}\nspec:\n  \
             destination: {{namespace: istio-system}}\n  sources:\n  \
             - {{repoURL: 'https://istio-release.storage.googleapis.com/charts', chart: istiod, targetRevision: 1.28.0, \
             helm: {{valueFiles: ['$config/mesh/settings.yaml']}}}}\n  - {{repoURL: '{url}', ref: config}}\n"
        )
    };
    let is_read = |url: &str| {
        let project = fleet(&application(url));
        project.write("mesh/settings.yaml", REWRITE_OFF);
        let run = project.run(&["predict", "--explain", "apps"]).exits(0);
        run.stdout.contains("rewrite     off (known)")
    };
    assert!(is_read(OWN));
    assert!(!is_read(OTHER));
}

#[test]
fn the_chart_of_a_release_is_in_the_repository_of_its_source() {
    let release = |url: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: source, namespace: istio-system}}\n\
             spec: {{url: '{url}'}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
             metadata: {{name: platform, namespace: istio-system}}\nspec:\n  chart: {{spec: {{chart: ./charts/mesh, \
             sourceRef: {{kind: GitRepository, name: source}}}}}}\n  values: {{istiod: {{{REWRITE_OFF}}}}}\n"
        )
    };
    assert!(is_rewrite_off(&release(OWN)));
    assert!(!is_rewrite_off(&release(OTHER)));
}
