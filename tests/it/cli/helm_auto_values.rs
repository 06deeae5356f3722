//! The values with which `--helm auto` renders charts, with the real helm.

use super::helm_auto::{flux, probes, project, report};
use crate::support::project::Project;

/// Returns a tree in which each cluster deploys its overlay of one HelmRelease; `config` writes the overlay.
fn clusters(config: impl Fn(&str, &Project)) -> Project {
    let release = flux("  valuesFrom: [{kind: ConfigMap, name: port}]\n");
    let project = project(&[
        ("apps/base/web.yaml", &release),
        ("apps/base/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    for cluster in ["prod-eu", "prod-us", "staging"] {
        let deploy = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps}}\nspec: \
             {{path: ./apps/{cluster}, sourceRef: {{kind: GitRepository, name: main}}}}\n"
        );
        project.write(&format!("clusters/{cluster}/apps.yaml"), &deploy);
        config(cluster, &project);
    }
    project
}

fn port_of(cluster: &str) -> &str {
    match cluster {
        "prod-eu" => "8001",
        "prod-us" => "8002",
        _ => "8003",
    }
}

fn config_map(port: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: port, namespace: shop}}\ndata: {{values.yaml: 'port: {port}'}}\n"
    )
}

/// Checks that the release of each cluster has the port of its cluster, alone and in the whole tree.
fn has_own_ports(project: &Project) {
    for cluster in ["prod-eu", "prod-us", "staging"] {
        let path = format!("clusters/{cluster}");
        let Some(table) = probes(project, &["--helm", "auto", &path]) else {
            return;
        };
        for other in ["prod-eu", "prod-us", "staging"] {
            let port = port_of(other);
            assert_eq!(
                table.contains(port),
                cluster == other,
                "{cluster} {port}: {table}"
            );
        }
    }
    let table = probes(project, &["--helm", "auto"]).unwrap();
    for cluster in ["prod-eu", "prod-us", "staging"] {
        assert!(table.contains(port_of(cluster)), "{table}");
    }
}

#[test]
fn each_cluster_takes_values_from_its_own_config_map() {
    has_own_ports(&clusters(|cluster, project| {
        let folder = format!("apps/{cluster}");
        let list = "resources: [../base, config.yaml]\n";
        project.write(&format!("{folder}/kustomization.yaml"), list);
        project.write(
            &format!("{folder}/config.yaml"),
            config_map(port_of(cluster)),
        );
    }));
}

#[test]
fn each_cluster_takes_values_from_its_own_generator() {
    has_own_ports(&clusters(|cluster, project| {
        let folder = format!("apps/{cluster}");
        let list = "resources: [../base]\nconfigMapGenerator: [{name: port, files: [values.yaml=port.yaml]}]\n";
        project.write(&format!("{folder}/kustomization.yaml"), list);
        let port = format!("port: {}\n", port_of(cluster));
        project.write(&format!("{folder}/port.yaml"), &port);
    }));
}

#[test]
fn a_patch_of_an_overlay_changes_the_values() {
    has_own_ports(&clusters(|cluster, project| {
        project.write("apps/base/config.yaml", config_map("1"));
        let list = "resources: [web.yaml, config.yaml]\n";
        project.write("apps/base/kustomization.yaml", list);
        let folder = format!("apps/{cluster}");
        let list = "resources: [../base]\npatches: [{path: patch.yaml}]\n";
        project.write(&format!("{folder}/kustomization.yaml"), list);
        project.write(
            &format!("{folder}/patch.yaml"),
            config_map(port_of(cluster)),
        );
    }));
}

/// Returns what is not judged with `--helm auto`, one message per line.
fn unjudged(project: &Project) -> Option<String> {
    let (report, _) = report(project, &["--helm", "auto"])?;
    let messages = report["not_judged"].as_array().unwrap().iter();
    let messages = messages.map(|found| found["message"].as_str().unwrap_or_default().to_owned());
    Some(messages.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_release_whose_values_are_not_known_is_not_judged() {
    let reference = "  valuesFrom: [{kind: ConfigMap, name: port}]\n";
    let web = |rest: &str| ("apps/web.yaml".to_owned(), flux(rest));
    let config = |path: &str, port: &str| (path.to_owned(), config_map(port));
    let kustomization =
        "resources: [web.yaml]\nconfigMapGenerator: [{name: port, envs: [absent.env]}]\n";
    let optional = "  valuesFrom: [{kind: ConfigMap, name: port, optional: true}]\n";
    let app = |helm: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  destination: \
             {{namespace: shop}}\n  source: {{repoURL: https://git.example/r, path: charts/web, helm: {helm}}}\n"
        )
    };
    let argo = |helm: &str| ("apps/web.yaml".to_owned(), app(helm));
    let cases = [
        (
            vec![
                web(reference),
                config("a/port.yaml", "1"),
                config("b/port.yaml", "2"),
            ],
            "several ConfigMaps `port` may apply",
        ),
        (
            vec![
                web(optional),
                (
                    "apps/kustomization.yaml".to_owned(),
                    kustomization.to_owned(),
                ),
            ],
            "a file of ConfigMap `port` is not in the tree",
        ),
        (
            vec![web("  postRenderers: [{kustomize: {patches: []}}]\n")],
            "`postRenderers` are not supported",
        ),
        (
            vec![
                web("  valuesFrom: [{kind: ConfigMap, name: port, targetPath: 'ports[0]'}]\n"),
                config("apps/port.yaml", "1"),
            ],
            "the `targetPath` `ports[0]` is not supported",
        ),
        (
            vec![argo("{kubeVersion: 1.30.0}")],
            "`kubeVersion` is not supported",
        ),
        (
            vec![argo("{apiVersions: [x/v1]}")],
            "`apiVersions` is not supported",
        ),
    ];
    for (files, message) in cases {
        let project = project(&[]);
        for (path, text) in files {
            project.write(&path, &text);
        }
        let Some(messages) = unjudged(&project) else {
            return;
        };
        assert!(messages.contains(message), "{message}: {messages}");
    }
}

#[test]
fn an_overlay_with_missing_values_is_not_counted_as_rendered() {
    let project = clusters(|cluster, project| {
        let folder = format!("apps/{cluster}");
        let list = match cluster {
            "staging" => "resources: [../base]\n",
            _ => "resources: [../base, config.yaml]\n",
        };
        project.write(&format!("{folder}/kustomization.yaml"), list);
        if cluster != "staging" {
            let text = config_map(port_of(cluster));
            project.write(&format!("{folder}/config.yaml"), &text);
        }
    });
    let Some(messages) = unjudged(&project) else {
        return;
    };
    assert!(
        messages.contains("HelmRelease/web") && messages.contains("ConfigMap `port`"),
        "{messages}"
    );
}

#[test]
fn values_of_flux_are_merged_in_order() {
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {port: '8005', path: /secret}\n";
    let reference = |name: &str| {
        format!("  - {{kind: Secret, name: s, valuesKey: {name}, targetPath: {name}}}\n")
    };
    let values = format!(
        "  valuesFrom:\n{}  - {{kind: ConfigMap, name: port}}\n{}  values: {{path: /inline}}\n",
        reference("port"),
        reference("path"),
    );
    let config = format!("{}{secret}", config_map("8006"));
    let project = project(&[("apps/web.yaml", &flux(&values)), ("apps/c.yaml", &config)]);
    let Some(table) = probes(&project, &["--helm", "auto"]) else {
        return;
    };
    assert!(
        table.contains("/inline") && table.contains("8006"),
        "{table}"
    );
    assert!(
        !table.contains("/secret") && !table.contains("8005"),
        "{table}"
    );
}

#[test]
fn a_values_file_in_a_folder_with_a_comma_is_one_file() {
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: \
               {namespace: shop}\n  source: {repoURL: https://git.example/r, path: charts/web, helm: {valueFiles: ['a,b/prod.yaml']}}\n";
    let project = project(&[
        ("apps/web.yaml", app),
        ("charts/web/a,b/prod.yaml", "path: /prod\n"),
        // Nearer to the Application, but not the named file.
        ("apps/charts/web/a,b/prod.yaml", "path: /other\n"),
    ]);
    let Some(table) = probes(&project, &["--helm", "auto"]) else {
        return;
    };
    assert!(
        table.contains("/prod") && !table.contains("/other"),
        "{table}"
    );
}

#[test]
fn a_configuration_with_helm_does_not_edit_files() {
    let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  helm: auto\n";
    let project = project(&[("c.yaml", config)]);
    for option in [&["--fix"][..], &["--diff"], &["--add-ignore", "reason"]] {
        let arguments = [&["check", "--config", "c.yaml"][..], option].concat();
        let run = project.run(&arguments).exits(2);
        let message = format!("`{}` cannot edit manifests", option[0]);
        run.stderr_contains(&message);
    }
}
