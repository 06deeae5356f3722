//! Each object of Flux and Argo CD deploys an environment of its own, also if others are in the same file.

use serde_json::Value;

use crate::support::findings;
use crate::support::manifest::{Manifest, OPT_OUT, Pod, join};
use crate::support::project::Project;

const BASE: (&str, &str) = ("apps/base/kustomization.yaml", "resources: [web.yaml]\n");

fn web() -> String {
    let pod = Pod::deployment("web");
    pod.probe("livenessProbe", "tcpSocket: {port: 8080}")
        .to_string()
}

/// Adds an overlay that makes the probe always pass if `is_faulty` is set: the rewrite is off.
fn overlay(project: &Project, name: &str, is_faulty: bool) {
    let folder = format!("apps/overlays/{name}");
    let namespace = Manifest::namespace(&format!("shop-{name}"))
        .injected()
        .to_string();
    project.write(&format!("{folder}/ns.yaml"), namespace);
    let mut kustomization = format!("namespace: shop-{name}\nresources: [ns.yaml, ../../base]\n");
    if is_faulty {
        kustomization.push_str(&format!(
            "patches:\n- target: {{kind: Deployment}}\n  patch: |-\n    - op: add\n      path: \
             /spec/template/metadata/annotations\n      value: {{{OPT_OUT}}}\n"
        ));
    }
    project.write(&format!("{folder}/kustomization.yaml"), kustomization);
}

/// Returns a tree with the overlays `dev` and `prod`, of which `prod` has a fault, and one file that deploys both.
fn shop(deploying: &str) -> Project {
    let project = Project::with(&[BASE, ("apps/base/web.yaml", &web())]);
    overlay(&project, "dev", false);
    overlay(&project, "prod", true);
    project.write("clusters/eu1/apps.yaml", deploying);
    project
}

fn flux(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
         flux-system}}\nspec:\n  path: ./{path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{more}"
    )
}

fn application(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  \
         source: {{repoURL: https://example.com/fleet, path: {path}{more}}}\n  destination: {{server: \
         https://kubernetes.default.svc}}\n"
    )
}

fn application_set() -> String {
    let elements = "[{env: dev}, {env: prod}]";
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: shop, namespace: argocd}}\nspec:\n  \
         generators: [{{list: {{elements: {elements}}}}}]\n  template:\n    metadata: {{name: 'shop-{{{{env}}}}'}}\n    \
         spec:\n      source: {{repoURL: https://example.com/fleet, path: 'apps/overlays/{{{{env}}}}', kustomize: \
         {{commonLabels: {{env: '{{{{env}}}}'}}}}}}\n      destination: {{server: https://kubernetes.default.svc}}\n"
    )
}

/// Returns files that deploy the overlays `dev` and `prod` with changes, each in another way.
fn deploying() -> Vec<(&'static str, String)> {
    let two = |first: String, second: String| join(&[&first, &second]);
    let of_flux = |dev: &str, prod: &str| {
        let dev = flux("shop-dev", "apps/overlays/dev", dev);
        two(dev, flux("shop-prod", "apps/overlays/prod", prod))
    };
    let substitute = |env: &str| format!("  postBuild: {{substitute: {{ENV: {env}}}}}\n");
    let labels = ", kustomize: {commonLabels: {a: b}}";
    vec![
        (
            "postBuild",
            of_flux(&substitute("dev"), &substitute("prod")),
        ),
        ("one postBuild", of_flux("", &substitute("prod"))),
        (
            "targetNamespace",
            of_flux(
                "  targetNamespace: shop-dev\n",
                "  targetNamespace: shop-prod\n",
            ),
        ),
        (
            "Applications",
            two(
                application("shop-dev", "apps/overlays/dev", labels),
                application("shop-prod", "apps/overlays/prod", labels),
            ),
        ),
        ("ApplicationSet", application_set()),
    ]
}

fn report(project: &Project, arguments: &[&str]) -> Value {
    let all = [
        &["check", "--output-format=json", "--fail-on=never"],
        arguments,
    ]
    .concat();
    serde_json::from_str(&project.run(&all).exits(0).stdout).unwrap()
}

#[test]
fn the_environments_of_one_file_are_separate() {
    for (title, file) in deploying() {
        let project = shop(&file);
        let dev = project.run(&["check", "apps/overlays/dev"]);
        let text = dev.exits(0).stdout;
        assert_eq!(text.lines().count(), 1, "{title}: {text}");
        for name in ["dev", "shop-dev", "apps/overlays/dev"] {
            let found = report(&project, &["--overlay", name]);
            assert_eq!(
                found["findings"].as_array().unwrap().len(),
                0,
                "{title} {name}"
            );
            assert_eq!(found["summary"]["workloads"], 1, "{title} {name}");
        }
        for name in ["prod", "shop-prod", "apps/overlays/prod"] {
            let found = report(&project, &["--overlay", name]);
            assert_eq!(
                found["findings"].as_array().unwrap().len(),
                1,
                "{title} {name}"
            );
            assert_eq!(found["summary"]["workloads"], 1, "{title} {name}");
        }
        let text = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
        let line = text.lines().find_map(|line| line.strip_prefix("  in: "));
        let line = line.unwrap_or_else(|| panic!("{title}: {text}"));
        assert!(
            line.contains("prod; works in ") && line.ends_with("dev"),
            "{title}: {line}"
        );
        let table = project.run(&["predict"]).exits(0).stdout;
        let mut rows: Vec<&str> = table.lines().collect();
        let all = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), all, "{title}: {table}");
        let predicted = project
            .run(&["predict", "--output-format=json"])
            .exits(0)
            .stdout;
        let predicted: Value = serde_json::from_str(&predicted).unwrap();
        let workloads = predicted["workloads"].as_array().unwrap().iter();
        let mut overlays: Vec<String> = workloads.map(|pod| pod["overlay"].to_string()).collect();
        overlays.sort();
        overlays.dedup();
        assert_eq!(overlays.len(), 2, "{title}: {overlays:?}");
    }
}

#[test]
fn an_unreadable_patch_of_one_environment_does_not_weaken_another() {
    let strict = Manifest::peer_authentication("shop", "STRICT").to_string();
    let namespace = Manifest::namespace("shop").injected().to_string();
    let pod = Pod::deployment("web").within("shop").annotations(OPT_OUT);
    let pod = pod
        .probe("readinessProbe", "httpGet: {path: /, port: 8080}")
        .to_string();
    let text = join(&[&namespace, &strict, &pod]);
    let broken = [
        "  patches: [{patch: \"{{\"}]\n",
        "  patches: [{target: {kind: Deployment}}]\n",
        "  components: [nowhere]\n",
    ];
    for kustomization in [true, false] {
        for more in broken {
            let project = Project::with(&[("apps/web.yaml", &text)]);
            if kustomization {
                project.write("apps/kustomization.yaml", "resources: [web.yaml]\n");
            }
            let prod = flux("prod", "apps", "  commonMetadata: {labels: {a: b}}\n");
            let staging = flux("staging", "apps", more);
            project.write("clusters/all.yaml", join(&[&prod, &staging]));
            let run = project.run(&["check", "--fail-on", "error", "--output-format", "json"]);
            let run = run.exits(1);
            let found = findings(&run);
            let errors = found
                .iter()
                .filter(|finding| finding["severity"] == "error");
            let overlays: Vec<&Value> = errors.map(|finding| &finding["overlays"]).collect();
            assert!(
                overlays.iter().any(|all| all.to_string().contains("#prod")),
                "{more}: {}",
                run.stdout
            );
        }
    }
}

/// Returns a fleet in which a root Application in the folder of each cluster deploys the same Applications.
fn fleet(clusters: &[&str]) -> Project {
    let pod = Pod::deployment("web").within("shop").annotations(OPT_OUT);
    let pod = pod
        .probe("readinessProbe", "httpGet: {path: /, port: 8080}")
        .to_string();
    let namespace = Manifest::namespace("shop").injected().to_string();
    let project = Project::with(&[
        (
            "argocd/apps/shop.yaml",
            &application("shop", "workloads/shop", ""),
        ),
        ("workloads/shop/web.yaml", &join(&[&namespace, &pod])),
    ]);
    for cluster in clusters {
        let root = application(&format!("{cluster}-root"), "argocd/apps", "");
        project.write(&format!("clusters/{cluster}/root.yaml"), root);
    }
    let strict = Manifest::peer_authentication("istio-system", "STRICT").to_string();
    project.write("clusters/us1/mesh.yaml", strict);
    project
}

#[test]
fn environments_follow_an_app_of_apps_to_its_root() {
    let project = fleet(&["us1", "eu1"]);
    for (cluster, count) in [("us1", 1), ("eu1", 0)] {
        for name in [
            cluster,
            &format!("clusters/{cluster}"),
            &format!("{cluster}-root"),
        ] {
            let found = report(&project, &["--cluster", name]);
            assert_eq!(found["summary"]["workloads"], 1, "{name}");
            let errors = found["findings"].as_array().unwrap().iter();
            let errors = errors
                .filter(|finding| finding["severity"] == "error")
                .count();
            assert_eq!(errors, count, "{name}: {found}");
        }
    }
    let text = project.run(&["check", "--fail-on=never"]).exits(0).stdout;
    assert!(text.contains("  in: us1; works in eu1\n"), "{text}");
    let run = project.run(&["check", "--cluster", "argo"]).exits(2);
    assert!(
        run.stderr.contains("the environments are `eu1`, `us1`\n"),
        "{}",
        run.stderr
    );
}

/// Two Applications of an app of apps deploy a workload of one name from two folders.
#[test]
fn each_row_of_several_environments_names_its_own() {
    let pod = |path: &str| {
        let pod = Pod::deployment("web").within("shop");
        pod.probe(
            "readinessProbe",
            &format!("httpGet: {{path: {path}, port: 8080}}"),
        )
        .to_string()
    };
    let project = Project::with(&[
        ("argocd/root.yaml", &application("root", "argocd/apps", "")),
        ("teams/eu/web.yaml", &pod("/eu")),
        ("teams/us/web.yaml", &pod("/us")),
    ]);
    let names = ["eu", "us"];
    for one_file in [false, true] {
        let of = |name: &&str| application(&format!("web-{name}"), &format!("teams/{name}"), "");
        let all: Vec<String> = names.iter().map(of).collect();
        let [eu, us] = all.as_slice() else { panic!() };
        if one_file {
            project.write("argocd/apps/eu.yaml", join(&[eu, us]));
            project.write("argocd/apps/us.yaml", "");
        } else {
            project.write("argocd/apps/eu.yaml", eu);
            project.write("argocd/apps/us.yaml", us);
        }
        let table = project.run(&["predict"]).exits(0).stdout;
        assert!(table.contains("  IN "), "{table}");
        let explained = project.run(&["predict", "--explain"]).exits(0).stdout;
        for name in names {
            // A file with one Application names its environment.
            let shown = if one_file {
                format!("web-{name}")
            } else {
                name.to_owned()
            };
            let row = table
                .lines()
                .find(|line| line.contains(&format!("/{name} ")));
            assert!(row.unwrap().contains(&format!("  {shown}  ")), "{table}");
            let line = format!("  in          {shown}\n");
            assert!(explained.contains(&line), "{explained}");
            let selected = project.run(&["predict", "--cluster", &format!("web-{name}")]);
            let rows = selected.exits(0).stdout;
            assert_eq!(rows.lines().count(), 2, "{rows}");
        }
    }
}

#[test]
fn a_chain_of_flux_objects_belongs_to_the_cluster_of_its_root() {
    let project = fleet(&[]);
    project.write("argocd/apps/shop.yaml", flux("shop", "workloads/shop", ""));
    for cluster in ["us1", "eu1"] {
        let root = flux("apps", "argocd/apps", "  patches: []\n");
        project.write(&format!("clusters/{cluster}/apps.yaml"), root);
    }
    let found = report(&project, &["--cluster", "us1"]);
    assert_eq!(found["summary"]["workloads"], 1);
    assert_eq!(found["summary"]["errors"], 1, "{found}");
    assert_eq!(
        report(&project, &["--cluster", "eu1"])["summary"]["errors"],
        0
    );
}

#[test]
fn objects_that_deploy_each_other_have_an_environment() {
    let project = fleet(&["us1"]);
    project.write(
        "argocd/apps/back.yaml",
        application("back", "clusters/us1", ""),
    );
    let found = report(&project, &[]);
    assert_eq!(found["summary"]["workloads"], 1, "{found}");
}

#[test]
fn a_selection_without_workloads_is_an_error() {
    let project = fleet(&["us1"]);
    project.write(
        "clusters/eu1/root.yaml",
        application("eu1-root", "argocd/eu1", ""),
    );
    project.write(
        "argocd/eu1/config.yaml",
        Manifest::config_map("a", "b: c").to_string(),
    );
    for command in ["check", "predict"] {
        let run = project.run(&[command, "--cluster", "eu1"]).exits(2);
        let message = "error: no workload of the given files is in `eu1` of `--cluster`\n";
        assert!(run.stderr.starts_with(message), "{}", run.stderr);
    }
    assert_eq!(
        report(&project, &["--cluster", "us1"])["summary"]["workloads"],
        1
    );
}
