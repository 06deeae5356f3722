//! Argo CD and Flux objects of one folder that deploy to several clusters.

use std::collections::BTreeSet;

use crate::support::findings;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT_MESH};
use crate::support::project::Project;

const EU: &str = "server: https://eu.example.com";
const US: &str = "server: https://us.example.com";

fn permissive() -> String {
    STRICT_MESH.replace("STRICT", "PERMISSIVE")
}

fn application(name: &str, path: &str, destination: &str) -> String {
    format!(
        "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}, namespace: argocd}}
spec:
  source: {{repoURL: https://git.example.com/x.git, path: {path}}}
  destination: {{{destination}, namespace: shop}}
"
    )
}

fn flux(name: &str, path: &str, config: &str) -> String {
    format!(
        "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  path: {path}
  sourceRef: {{kind: GitRepository, name: flux-system}}
  {config}
"
    )
}

/// Returns a base with two overlays, and the platforms of two clusters.
fn folders() -> Project {
    Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", NOT_REWRITTEN),
        ("envs/eu/kustomization.yaml", "resources: [../../base]\n"),
        ("envs/us/kustomization.yaml", "resources: [../../base]\n"),
        ("platform/eu/namespace.yaml", INJECTED),
        ("platform/us/namespace.yaml", INJECTED),
        ("platform/eu/mtls.yaml", &permissive()),
        ("platform/us/mtls.yaml", STRICT_MESH),
    ])
}

/// Returns the folders, which Applications of one folder deploy to two destinations.
fn applications(eu: &str, us: &str) -> Project {
    let project = folders();
    for (name, destination) in [("eu", eu), ("us", us)] {
        for part in ["envs", "platform"] {
            let path = format!("argocd/{part}-{name}.yaml");
            let folder = format!("{part}/{name}");
            project.write(
                &path,
                application(&format!("{part}-{name}"), &folder, destination),
            );
        }
    }
    project
}

/// Returns the findings about mutual TLS: the severity, and the environments with their outcome.
fn strict_probes(project: &Project, arguments: &[&str]) -> Vec<String> {
    let fixed = ["check", "--fail-on=never", "--output-format=json"];
    let run = project.run(&[&fixed[..], arguments].concat());
    let found = findings(&run);
    let found = found
        .iter()
        .filter(|finding| finding["rule"] == "strict-probe-not-rewritten");
    let line = |finding: &serde_json::Value| {
        let environments = finding["environments"].as_array();
        let names = environments.into_iter().flatten().map(|environment| {
            let name = environment["name"].as_str().unwrap();
            format!("{name}={}", environment["outcome"].as_str().unwrap())
        });
        let names: BTreeSet<String> = names.collect();
        let names: Vec<String> = names.into_iter().collect();
        let severity = finding["severity"].as_str().unwrap();
        format!("{severity} {}", names.join(" "))
            .trim_end()
            .to_owned()
    };
    found.map(line).collect()
}

/// Asserts the finding of `us` in runs for the whole repository, for a path and for a cluster.
fn assert_fails_in_us(project: &Project, expected: &str) {
    for arguments in [&[][..], &["envs/us"], &["base"], &["--cluster", "us"]] {
        assert_eq!(
            strict_probes(project, arguments),
            [expected],
            "{arguments:?}"
        );
    }
    for arguments in [&["envs/eu"][..], &["--cluster", "eu"]] {
        assert!(
            strict_probes(project, arguments).is_empty(),
            "{arguments:?}"
        );
    }
}

#[test]
fn policies_of_another_destination_do_not_apply() {
    let project = applications(EU, US);
    assert_fails_in_us(&project, "error eu=ok us=fails");
    let explained = project.run(&["predict", "--explain", "--cluster", "us"]);
    assert!(
        !explained.stdout.contains("platform/eu"),
        "{}",
        explained.stdout
    );
    project.write("platform/us/mtls.yaml", permissive());
    assert!(strict_probes(&project, &[]).is_empty());
}

#[test]
fn namespaces_of_another_destination_do_not_apply() {
    let project = applications(EU, US);
    project.write("platform/eu/mtls.yaml", STRICT_MESH);
    let disabled = INJECTED.replace("enabled", "disabled");
    project.write("platform/eu/namespace.yaml", disabled);
    assert_fails_in_us(&project, "error eu=not-in-mesh us=fails");
}

#[test]
fn control_planes_of_another_destination_do_not_apply() {
    let project = applications(EU, US);
    let operator = |rewrite: bool| {
        format!(
            "\
apiVersion: install.istio.io/v1alpha1
kind: IstioOperator
metadata: {{name: istio, namespace: istio-system}}
spec: {{values: {{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {rewrite}}}}}}}
"
        )
    };
    project.write("base/web.yaml", PROBED);
    project.write("platform/eu/mtls.yaml", STRICT_MESH);
    project.write("platform/eu/istio.yaml", operator(true));
    project.write("platform/us/istio.yaml", operator(false));
    assert_fails_in_us(&project, "error eu=ok us=fails");
    let run = project.run(&["check", "--fail-on=never"]);
    assert!(
        !run.stdout.contains("mesh-config-conflict"),
        "{}",
        run.stdout
    );
}

#[test]
fn application_sets_deploy_to_the_cluster_of_each_element() {
    let set = |part: &str| {
        format!(
            "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: {part}, namespace: argocd}}
spec:
  goTemplate: true
  generators:
  - list:
      elements:
      - {{cluster: eu, url: https://eu.example.com}}
      - {{cluster: us, url: https://us.example.com}}
  template:
    metadata: {{name: '{part}-{{{{.cluster}}}}'}}
    spec:
      source: {{repoURL: https://git.example.com/x.git, path: '{part}/{{{{.cluster}}}}'}}
      destination: {{server: '{{{{.url}}}}', namespace: shop}}
"
        )
    };
    let project = folders();
    project.write(
        "argocd/sets.yaml",
        [set("envs"), set("platform")].join("---\n"),
    );
    assert_fails_in_us(&project, "error eu=ok us=fails");
}

#[test]
fn one_folder_is_checked_in_each_cluster() {
    let objects = |kind: &dyn Fn(&str, &str, &str) -> String, eu: &str, us: &str| {
        [
            kind("eu-web", "base", eu),
            kind("eu-platform", "platform/eu", eu),
            kind("us-web", "base", us),
            kind("us-platform", "platform/us", us),
        ]
        .join("---\n")
    };
    let secret = |name: &str| format!("kubeConfig: {{secretRef: {{name: {name}}}}}");
    let map = |name: &str| format!("kubeConfig: {{configMapRef: {{name: {name}}}}}");
    for (objects, is_known) in [
        (objects(&flux, &secret("eu"), &secret("us")), true),
        (objects(&flux, &map("eu"), &map("us")), true),
        // The cluster of Flux itself.
        (objects(&flux, &secret("eu"), "prune: true"), true),
        (objects(&application, EU, US), true),
        (objects(&application, "name: eu", "name: us"), true),
        (objects(&flux, &secret("eu"), &secret("eu")), false),
        (objects(&flux, &secret("eu"), &secret("${CLUSTER}")), false),
    ] {
        let project = folders();
        project.write("clusters/all.yaml", &objects);
        std::fs::remove_dir_all(project.path("envs")).unwrap();
        for arguments in [&[][..], &["base"], &["clusters"]] {
            let expected: &[&str] = match is_known {
                true => &["error eu-web=ok us-web=fails"],
                false => &[],
            };
            let found = strict_probes(&project, arguments);
            let errors: Vec<&String> = found
                .iter()
                .filter(|line| line.starts_with("error"))
                .collect();
            assert_eq!(errors, expected, "{objects}");
        }
        project.write("platform/us/mtls.yaml", permissive());
        assert!(strict_probes(&project, &[]).is_empty(), "{objects}");
    }
}

#[test]
fn destinations_are_compared_as_far_as_they_are_known() {
    let own = "server: https://kubernetes.default.svc";
    for (eu, us) in [
        (own, US),
        ("name: in-cluster", US),
        ("name: in-cluster", "name: us"),
        ("name: eu", "name: us"),
        ("name: eu", "name: us, server: ''"),
    ] {
        let found = strict_probes(&applications(eu, us), &["--cluster", "us"]);
        assert_eq!(found, ["error eu=ok us=fails"], "{eu} {us}");
    }
    for (eu, us) in [
        (EU, EU),
        (EU, "server: https://eu.example.com/"),
        (EU, "name: us"),
        (EU, "server: '{{server}}'"),
        (own, "name: in-cluster"),
    ] {
        let found = strict_probes(&applications(eu, us), &["--cluster", "us"]);
        let expected = strict_probes(&applications(own, own), &["--cluster", "us"]);
        assert_eq!(found, expected, "{eu} {us}");
    }
}

#[test]
fn objects_that_are_deployed_to_a_cluster_deploy_in_it() {
    let project = folders();
    let config = |name: &str| format!("kubeConfig: {{secretRef: {{name: {name}}}}}");
    for name in ["eu", "us"] {
        let remote = [
            flux("platform", &format!("platform/{name}"), &config(name)),
            flux("apps", &format!("remote/{name}"), &config(name)),
        ];
        project.write(&format!("mgmt/{name}.yaml"), remote.join("---\n"));
        let apps = flux("envs", &format!("envs/{name}"), "prune: true");
        project.write(&format!("remote/{name}/apps.yaml"), apps);
    }
    assert_fails_in_us(&project, "error eu=ok us=fails");
}
