//! Folders that Flux and Argo CD deploy from other repositories are not followed into this one.

use std::fs;

use serde_json::Value;

use crate::support::manifest::{INJECTED, STRICT};
use crate::support::project::Project;

/// The annotation makes the probe fail under strict mutual TLS.
const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}}
spec:
  containers:
    - {name: web, image: a, ports: [{containerPort: 80}], readinessProbe: {httpGet: {path: /, port: 80}}}
";

fn flux(name: &str, path: &str, source: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{path: {path}, sourceRef: {source}}}\n---\n"
    )
}

fn git(name: &str, url: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{url: '{url}'}}\n---\n"
    )
}

fn oci(name: &str, url: &str) -> String {
    git(name, url).replace("GitRepository", "OCIRepository")
}

fn application(url: &str, path: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web, namespace: argocd}}\nspec:\n  \
         destination: {{namespace: shop}}\n  source: {{repoURL: '{url}', path: {path}}}\n"
    )
}

fn fleet(cluster: &str) -> Project {
    Project::with(&[
        ("apps/web.yaml", WEB),
        ("mesh/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
        ("clusters/prod/apps.yaml", cluster),
    ])
}

fn remote(project: &Project, url: &str) {
    let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {url}\n");
    project.write(".git/config", config);
}

/// Returns the paths of the findings for the cluster, and the messages and the help about deployed folders.
fn check_in(project: &Project, folder: &str, arguments: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut all = vec!["check", "--output-format=json", "--fail-on=never"];
    all.extend(arguments);
    let run = project.run_in(folder, &all, "");
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let list = |key: &str| report[key].as_array().unwrap().clone();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let findings = list("findings").into_iter();
    let findings = findings.filter(|finding| finding["rule"] == "strict-probe-not-rewritten");
    let missing = list("not_judged").into_iter();
    let missing = missing.filter(|entry| entry["reason"] == "deployed-folder");
    (
        findings.map(|finding| text(&finding, "path")).collect(),
        missing
            .map(|entry| format!("{}: {}", text(&entry, "message"), text(&entry, "help")))
            .collect(),
    )
}

fn check(project: &Project) -> (Vec<String>, Vec<String>) {
    check_in(project, "", &["clusters"])
}

fn is_followed(project: &Project) -> bool {
    let (findings, missing) = check(project);
    assert_ne!(findings.is_empty(), missing.is_empty(), "{missing:?}");
    !findings.is_empty()
}

const APPS: &str = "{kind: GitRepository, name: apps}";
const CLONE: &str = "clone it, and add the clone to the run: `meshprobe check --context CLONE .`";

#[test]
fn a_source_with_another_url_than_the_remote_is_not_followed() {
    let url = "https://git.example/org/apps";
    let project = fleet(&(flux("web", "./apps", APPS) + &git("apps", url)));
    assert!(is_followed(&project), "no URL is known");
    remote(&project, "git@git.example:org/fleet.git");
    let (findings, missing) = check(&project);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(
        missing,
        [format!(
            "Kustomization/web deploys `./apps` of GitRepository `apps` (`{url}`), which is another repository: {CLONE}"
        )]
    );
    for own in [
        "git@git.example:org/apps.git",
        "ssh://git@git.example:2222/org/apps",
        "https://token:x@git.example/Org/Apps.git/",
        // A fork, a mirror, and a clone of a folder.
        "https://git.example/someone/apps",
        "https://mirror.example/apps.git",
        "/srv/fleet",
    ] {
        remote(&project, own);
        assert!(is_followed(&project), "{own}");
    }
}

#[test]
fn the_source_of_the_bootstrap_shows_the_url_of_the_repository() {
    let bootstrap = flux(
        "flux-system",
        "./clusters/prod",
        "{kind: GitRepository, name: flux-system}",
    );
    let own = git("flux-system", "ssh://git@git.example/org/fleet");
    for (url, wanted) in [
        ("https://git.example/org/fleet.git", true),
        ("https://git.example/org/apps", false),
        ("https://git.example/other/fleet", false),
        ("https://${host}/org/apps", true),
    ] {
        let objects = flux("web", "./apps", APPS) + &git("apps", url);
        let project = fleet(&objects);
        project.write(
            "clusters/prod/flux-system/gotk-sync.yaml",
            format!("{bootstrap}{own}"),
        );
        assert_eq!(is_followed(&project), wanted, "{url}");
        project.write(
            "clusters/prod/flux-system/kustomization.yaml",
            "resources: [gotk-sync.yaml]\n",
        );
        project.write(
            "clusters/prod/kustomization.yaml",
            "resources: [flux-system, apps.yaml]\n",
        );
        assert_eq!(is_followed(&project), wanted, "rendered: {url}");
        // The clone of a fork.
        remote(&project, "https://git.example/someone/fleet");
        assert_eq!(is_followed(&project), wanted, "fork: {url}");
    }
}

#[test]
fn a_cluster_has_its_own_sources() {
    let objects = |url: &str| flux("web", "./apps", APPS) + &git("apps", url);
    let project = fleet(&objects("https://git.example/org/apps"));
    remote(&project, "https://git.example/org/fleet");
    project.write(
        "clusters/test/apps.yaml",
        objects("https://git.example/org/fleet"),
    );
    let paths = |cluster: &str| check_in(&project, "", &[cluster]);
    let (findings, missing) = paths("clusters/prod");
    assert_eq!((findings.len(), missing.len()), (0, 1));
    let (findings, missing) = paths("clusters/test");
    assert_eq!((findings.len(), missing.len()), (1, 0));
}

#[test]
fn an_artifact_and_the_root_of_another_repository_are_named() {
    let artifact = "{kind: OCIRepository, name: apps}";
    let url = "oci://ghcr.io/else/manifests/apps";
    let download = "download it, and check its folder: `meshprobe check --context . FOLDER`";
    let project = fleet(&(flux("web", "./", artifact) + &oci("apps", url)));
    assert_eq!(
        check(&project).1,
        [format!(
            "Kustomization/web deploys `./` of OCIRepository `apps` (`{url}`), which is not known to be this repository: {download}"
        )]
    );
    project.write(
        "clusters/prod/apps.yaml",
        flux("web", "./apps", artifact) + &oci("apps", url),
    );
    assert!(is_followed(&project));
    remote(&project, "https://github.com/org/fleet");
    assert_eq!(
        check(&project).1,
        [format!(
            "Kustomization/web deploys `./apps` of OCIRepository `apps` (`{url}`), which is another repository: {download}"
        )]
    );
    remote(&project, "https://github.com/else/fleet");
    assert!(is_followed(&project));
    let root = flux("web", "./", APPS) + &git("apps", "https://git.example/org/apps");
    project.write("clusters/prod/apps.yaml", root);
    assert!(!is_followed(&project));
}

#[test]
fn an_application_of_another_repository_is_not_followed() {
    let url = "https://git.example/org/apps.git";
    let project = fleet(&application(url, "apps"));
    assert!(is_followed(&project));
    remote(&project, "git@git.example:org/apps");
    assert!(is_followed(&project));
    remote(&project, "git@git.example:org/fleet");
    assert_eq!(
        check(&project).1,
        [format!(
            "Application/web deploys `apps` of `{url}`, which is another repository: {CLONE}"
        )]
    );
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n  generators:\n  \
               - git: {repoURL: 'https://git.example/org/apps', directories: [{path: '*'}]}\n  template:\n    \
               metadata: {name: '{{path.basename}}'}\n    spec:\n      destination: {namespace: shop}\n      \
               source: {repoURL: 'https://git.example/org/apps', path: '{{path}}'}\n";
    project.write("clusters/prod/apps.yaml", set);
    assert!(!is_followed(&project));
    remote(&project, "git@git.example:org/apps");
    assert!(is_followed(&project));
}

#[test]
fn a_clone_of_the_other_repository_is_followed() {
    let objects = flux("web", "./apps", APPS) + &git("apps", "https://git.example/org/apps");
    let project = Project::new();
    fs::remove_dir(project.path(".git")).unwrap();
    let config =
        |name: &str| format!("[remote \"origin\"]\n\turl = https://git.example/org/{name}\n");
    for (path, text) in [
        ("fleet/.git/config", config("fleet").as_str()),
        ("fleet/clusters/prod/apps.yaml", &objects),
        ("fleet/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
        ("clone/.git/config", &config("apps")),
        ("clone/apps/web.yaml", WEB),
    ] {
        project.write(path, text);
    }
    let (findings, missing) = check_in(&project, "fleet", &["."]);
    assert_eq!((findings.len(), missing.len()), (0, 1), "{missing:?}");
    let (findings, missing) = check_in(&project, "fleet", &["--context", "../clone", "."]);
    assert_eq!(findings, ["../clone/apps/web.yaml"]);
    assert_eq!(missing, [""; 0]);
}
