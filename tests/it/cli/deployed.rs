//! How Flux and Argo CD objects affect the predictions for the folders that they deploy.

#![allow(clippy::indexing_slicing, reason = "the report has what it always has")]

use crate::support::manifest::{INJECTED, Manifest, PROBED, STRICT_MESH, join};
use crate::support::project::Project;

/// An injected namespace, and one without injection.
fn namespaces() -> String {
    let plain = Manifest::namespace("plain").labels("istio-injection: disabled");
    join(&[INJECTED, &plain.to_string()])
}

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        readinessProbe: {httpGet: {path: /, port: 8080}}
";

/// A patch that switches the rewrite off, as Flux and Argo CD write it.
const OPT_OUT: &str = concat!(
    "  patches:\n",
    "  - target: {kind: Deployment}\n",
    "    patch: |\n",
    "      - op: add\n",
    "        path: /spec/template/metadata/annotations\n",
    "        value: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}\n",
);

fn flux(name: &str, spec: &str) -> String {
    Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name)
        .within("flux-system")
        .spec(spec)
        .to_string()
}

fn application(spec: &str) -> String {
    Manifest::new("argoproj.io/v1alpha1", "Application", "web")
        .spec(spec)
        .to_string()
}

fn tree<'a>(files: &[(&'a str, &'a str)]) -> Project {
    let namespaces = namespaces();
    let mut all = vec![
        ("infra/namespaces.yaml", namespaces.as_str()),
        ("infra/mtls.yaml", STRICT_MESH),
    ];
    all.extend(files);
    Project::with(&all)
}

/// Returns one line per workload: its name, its origin, and the outcome of its probe.
fn predicted_lines(project: &Project, arguments: &[&str]) -> String {
    let mut all = vec!["predict", "--output-format", "json"];
    all.extend(arguments);
    let report = project.run(&all).exits(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let line = |workload: &serde_json::Value| {
        let handler = &workload["handlers"][0];
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        [
            &workload["object"]["namespace"],
            &workload["object"]["name"],
            &workload["overlay"],
            &workload["dataplane"]["value"],
            &handler["outcome"],
            &handler["certainty"],
            &workload["dataplane"]["because"][0]["path"],
        ]
        .map(text)
        .join(" ")
            + &format!(":{}", workload["dataplane"]["because"][0]["line"])
    };
    let workloads = report["workloads"].as_array().unwrap();
    workloads.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn flux_changes_the_objects_that_it_deploys() {
    let changes =
        format!("  path: ./apps/web\n  targetNamespace: shop\n  namePrefix: a-\n{OPT_OUT}");
    let project = tree(&[
        ("clusters/a/web.yaml", &flux("web", &changes)),
        ("apps/web/web.yaml", WEB),
    ]);
    insta::assert_snapshot!(predicted_lines(&project, &[]));
    // The finding is reported at the line of the base and names the patch of the Flux object.
    let run = project.run(&["check", "--output-format", "json"]).exits(1);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(finding["path"], "apps/web/web.yaml");
    assert_eq!(
        finding["overlays"],
        serde_json::json!(["clusters/a/web.yaml"])
    );
    assert!(
        run.stdout.contains("\"path\": \"clusters/a/web.yaml\""),
        "{}",
        run.stdout
    );
}

#[test]
fn one_file_may_deploy_a_folder_twice() {
    let both = [
        flux("blue", "  path: apps/web\n  targetNamespace: shop\n"),
        flux("green", "  path: apps/web\n  targetNamespace: plain\n"),
    ];
    let both = both.join("---\n");
    let project = tree(&[("clusters/a/web.yaml", &both), ("apps/web/web.yaml", WEB)]);
    insta::assert_snapshot!(predicted_lines(&project, &[]));
}

#[test]
fn variables_with_a_known_value_are_substituted() {
    let web = WEB
        .replace(
            "{app: web}",
            "{app: web, sidecar.istio.io/inject: '${INJECT}'}",
        )
        .replace("port: 8080", "port: '${PORT:=8080}'");
    let spec = "  path: apps/web\n  targetNamespace: shop\n  postBuild:\n    substitute:\n      INJECT: 'false'\n";
    let project = tree(&[
        ("clusters/a/web.yaml", &flux("web", spec)),
        ("apps/web/web.yaml", &web),
    ]);
    insta::assert_snapshot!("variables_known", predicted_lines(&project, &[]));
    // Other variables are unknown, and so are the defaults that they may override.
    let open = "  path: apps/web\n  targetNamespace: shop\n  postBuild:\n    substitute: {OTHER: x}\n    substituteFrom: [{kind: ConfigMap, name: vars}]\n";
    project.write("clusters/a/web.yaml", flux("web", open));
    insta::assert_snapshot!("variables_unknown", predicted_lines(&project, &[]));
}

#[test]
fn common_metadata_and_components_count() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: add\n      path: /spec/template/metadata/labels/sidecar.istio.io~1inject\n      value: 'false'\n";
    let namespace = Manifest::namespace("own").to_string();
    let spec = "  path: apps/web\n  targetNamespace: own\n  commonMetadata: {labels: {istio-injection: enabled}}\n";
    let project = tree(&[
        ("clusters/a/web.yaml", &flux("web", spec)),
        ("apps/web/web.yaml", WEB),
        ("apps/web/namespace.yaml", &namespace),
        ("components/off/kustomization.yaml", component),
    ]);
    insta::assert_snapshot!("common_metadata", predicted_lines(&project, &[]));
    project.write(
        "clusters/a/web.yaml",
        flux(
            "web",
            &format!("{spec}  components: [../../components/off]\n"),
        ),
    );
    insta::assert_snapshot!("with_component", predicted_lines(&project, &[]));
}

#[test]
fn the_root_of_the_repository_can_be_deployed() {
    for path in ["  path: ./\n", "  path: ./.\n", "  path: ''\n", ""] {
        let spec = format!("{path}  targetNamespace: shop\n");
        let project = tree(&[
            ("clusters/web.yaml", &flux("web", &spec)),
            ("apps/web.yaml", WEB),
        ]);
        let predictions = predicted_lines(&project, &[]);
        assert!(
            predictions.contains(" web clusters/web.yaml "),
            "{path:?}: {predictions}"
        );
    }
    // Paths of another source do not start in this repository.
    let spec =
        "  path: ./\n  targetNamespace: shop\n  sourceRef: {kind: OCIRepository, name: web}\n";
    let project = tree(&[
        ("clusters/web.yaml", &flux("web", spec)),
        ("apps/web.yaml", WEB),
    ]);
    assert!(predicted_lines(&project, &[]).starts_with("- web - "));
}

#[test]
fn a_deploying_object_can_be_deployed_and_changed_itself() {
    let root = flux(
        "all",
        "  path: clusters/a\n  postBuild: {substitute: {TEAM: shop}}\n",
    );
    let web = flux("web", "  path: apps/web\n  targetNamespace: ${TEAM}\n");
    let project = tree(&[
        ("clusters/all.yaml", &root),
        ("clusters/a/web.yaml", &web),
        ("apps/web/web.yaml", WEB),
    ]);
    assert!(
        predicted_lines(&project, &[]).starts_with("shop web clusters/a/web.yaml sidecar ok"),
        "{}",
        predicted_lines(&project, &[])
    );
}

#[test]
fn argo_cd_changes_the_kustomization() {
    let patches = OPT_OUT.replace("\n", "\n    ");
    let spec = format!(
        "  destination: {{namespace: plain}}\n  source:\n    path: apps/web\n    kustomize:\n      namespace: shop\n    {}\n",
        patches.trim_end()
    );
    let project = tree(&[
        ("argo/web.yaml", &application(&spec)),
        ("apps/web/web.yaml", WEB),
        ("apps/web/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    insta::assert_snapshot!(predicted_lines(&project, &[]));
}

#[test]
fn an_application_set_is_expanded_as_far_as_the_tree_shows() {
    let set = "\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all}
spec:
  generators:
  - GENERATOR
  template:
    metadata: {name: 'APP'}
    spec:
      destination: {namespace: 'NAMESPACE'}
      source: {repoURL: x, path: 'PATH'}
";
    let with = |generator: &str, namespace: &str, path: &str| {
        let set = set
            .replace("GENERATOR", generator)
            .replace("NAMESPACE", namespace);
        set.replace("PATH", path)
    };
    let list = with(
        "list: {elements: [{env: shop, dir: a}, {env: plain, dir: b}]}",
        "{{env}}",
        "apps/{{.dir}}",
    );
    let project = tree(&[
        ("argo/set.yaml", &list),
        ("apps/a/web.yaml", WEB),
        ("apps/b/web.yaml", WEB),
    ]);
    insta::assert_snapshot!("application_set_list", predicted_lines(&project, &[]));
    let named = with(
        "git: {directories: [{path: teams/*}, {path: teams/old, exclude: true}]}",
        "{{path.basename}}",
        "{{path}}",
    );
    let project = tree(&[
        ("argo/set.yaml", &named),
        ("teams/shop/web.yaml", WEB),
        ("teams/old/web.yaml", WEB),
    ]);
    insta::assert_snapshot!(
        "application_set_directories",
        predicted_lines(&project, &[])
    );
    // A value that only the cluster knows stays unknown: it is not the namespace `default`.
    let open = with("clusters: {}", "{{metadata.labels.team}}", "apps/a");
    let defaults = namespaces().replace("name: shop", "name: default");
    let project = Project::with(&[
        ("argo/set.yaml", &open),
        ("apps/a/web.yaml", WEB),
        ("infra/ns.yaml", &defaults),
    ]);
    insta::assert_snapshot!("application_set_open", predicted_lines(&project, &[]));
    project
        .run(&["predict", "--explain"])
        .exits(0)
        .stdout_contains(
            "another tool fills in the namespace, `{{metadata.labels.team}}` (argo/set.yaml:10)",
        );
}

#[test]
fn equal_rows_name_their_overlay() {
    let deploying = flux("web", "  path: apps/web\n");
    let web = WEB.replace("{name: web}", "{name: web, namespace: shop}");
    let project = tree(&[
        ("clusters/a/web.yaml", &deploying),
        ("clusters/b/web.yaml", &deploying),
        ("apps/web/web.yaml", &web),
    ]);
    insta::assert_snapshot!(project.run(&["predict"]).exits(0).stdout);
}

/// Argo CD merges the parameters of this file into the source of the Application.
#[test]
fn a_file_that_overrides_parameters_is_reported_and_its_pods_are_not_rewritten() {
    for name in [".argocd-source.yaml", ".argocd-source-f.yaml"] {
        let project = Project::with(&[
            (
                "argo.yaml",
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: f, namespace: argocd}\n\
                 spec: {destination: {namespace: shop}, source: {repoURL: x, path: real}}\n",
            ),
            (
                "real/kustomization.yaml",
                "resources: [ns.yaml, web.yaml]\n",
            ),
            ("real/ns.yaml", INJECTED),
            ("real/web.yaml", PROBED),
        ]);
        let rewrite = ["rewrite", "--diff", "--mesh-version", "1.28", "."];
        assert!(
            !project
                .run(&rewrite)
                .transcript()
                .contains("makes changes that are not known")
        );
        project.write(&format!("real/{name}"), "kustomize: {patches: []}\n");
        let shown = project
            .run(&["check", "--fail-on", "note"])
            .exits(1)
            .transcript();
        assert!(
            shown.contains(&format!("`real/{name}` is not modelled")),
            "{shown}"
        );
        let shown = project.run(&rewrite).exits(1).transcript();
        assert!(
            shown.contains("makes changes that are not known"),
            "{shown}"
        );
    }
}

/// Flux and Argo CD add components to the kustomization of the folder. kustomize refuses one that does not exist, unless
/// the object ignores it.
#[test]
fn a_missing_component_is_refused_unless_it_is_ignored() {
    let flux = |more: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: web, namespace: \
             flux-system}}\nspec:\n  interval: 1m\n  prune: true\n  path: ./apps\n  sourceRef: {{kind: GitRepository, name: \
             flux-system}}\n  {more}\n"
        )
    };
    let argo = |more: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web, namespace: argocd}}\nspec:\n  \
             project: default\n  source: {{repoURL: https://example.com/fleet, path: apps, kustomize: {{{more}}}}}\n  \
             destination: {{server: https://kubernetes.default.svc, namespace: shop}}\n"
        )
    };
    let ignored = "components: [../missing], ignoreMissingComponents: true";
    let lines = |fields: &str| fields.replace(", ", "\n  ");
    for (object, message) in [
        (flux("components: [../missing]"), true),
        (flux(&lines(ignored)), false),
        (argo("components: [../missing]"), true),
        (argo(ignored), false),
    ] {
        let project = Project::with(&[
            ("clusters/web.yaml", &*object),
            ("apps/kustomization.yaml", "resources: [pod.yaml]\n"),
            ("apps/pod.yaml", PROBED),
        ]);
        let run = project.run(&["check", "--output-format", "concise"]);
        let refused = "warning[kustomization-not-modelled] `../missing` does not exist: kustomize refuses to build it";
        assert_eq!(
            run.stdout.contains(refused),
            message,
            "{object}{}",
            run.stdout
        );
        assert_eq!(run.stdout.contains("missing"), message, "{}", run.stdout);
    }
}
