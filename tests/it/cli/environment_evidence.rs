//! What makes sibling folders environments, and what applies to the rest of the tree.

use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, PROBED, STRICT, join};
use crate::support::predictions::{texts, workloads};
use crate::support::project::Project;

const ON: &str = "istio-injection: enabled";

fn namespace(labels: &str) -> String {
    Manifest::namespace("shop").labels(labels).to_string()
}

/// Returns how each workload takes part in the mesh: `PATH VALUE CERTAINTY`.
fn dataplanes(project: &Project, options: &[&str]) -> Vec<String> {
    let arguments = [&["predict", "--output-format=json"], options].concat();
    let run = project.run(&arguments).exits(0);
    let fields = ["/path", "/dataplane/value", "/dataplane/certainty"];
    let all = workloads(&run);
    all.iter()
        .map(|workload| texts(workload, &fields))
        .collect()
}

/// An object of another kind in two folders is applied to one cluster: all other facts of these folders apply to the rest
/// of the tree.
#[test]
fn objects_without_pods_do_not_separate_folders() {
    let policy = Manifest::authorization_policy("deny", "action: DENY");
    let repeated = [
        STRICT.replace("shop", "istio-system"),
        policy.within("istio-system").to_string(),
        namespace("team: a").replace("shop", "other"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n".to_owned(),
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: redis, namespace: db}\nspec: {}\n"
            .to_owned(),
    ];
    for repeated in repeated {
        let project = Project::with(&[
            ("kubernetes/copy.yaml", &repeated),
            ("kubernetes/ns.yaml", &namespace(ON)),
            ("networking/copy.yaml", &repeated),
            ("dr/web.yaml", NOT_REWRITTEN),
        ]);
        let expected = ["dr/web.yaml sidecar known"];
        assert_eq!(dataplanes(&project, &[]), expected, "{repeated}");
    }
}

/// Folders with the same workload are environments. Their Namespaces still apply where no other manifest does, as an
/// assumption.
#[test]
fn namespaces_of_other_environments_are_assumed() {
    let other = NOT_REWRITTEN.replace("name: web", "name: other");
    for (labels, expected) in [
        ([Some(ON), None], "sidecar assumed"),
        ([Some("team: a"), None], "none assumed"),
        ([Some(ON), Some(ON)], "sidecar assumed"),
        ([Some(ON), Some("team: a")], "sidecar assumed"),
        ([Some("team: a"), Some("team: b")], "none assumed"),
    ] {
        let project = Project::with(&[
            ("a/web.yaml", NOT_REWRITTEN),
            ("b/web.yaml", NOT_REWRITTEN),
            ("dr/other.yaml", &other),
        ]);
        for (folder, labels) in ["a", "b"].into_iter().zip(labels) {
            if let Some(labels) = labels {
                project.write(&format!("{folder}/ns.yaml"), namespace(labels));
            }
        }
        let found = dataplanes(&project, &[]);
        assert!(
            found.contains(&format!("dr/other.yaml {expected}")),
            "{found:?}"
        );
        if labels == [Some(ON), None] {
            assert!(
                found.contains(&"b/web.yaml sidecar assumed".to_owned()),
                "{found:?}"
            );
            let run = project.run(&["predict", "--explain", "b"]).exits(0);
            run.stdout_contains(
                "Namespace `shop` has manifests in other environments only (`a/ns.yaml`)",
            );
        }
    }
}

#[test]
fn the_namespace_of_an_environment_settles_its_pods() {
    let project = Project::with(&[
        ("a/web.yaml", NOT_REWRITTEN),
        ("a/ns.yaml", &namespace("team: a")),
        ("b/web.yaml", NOT_REWRITTEN),
        ("b/deep/ns.yaml", &namespace(ON)),
    ]);
    assert_eq!(
        dataplanes(&project, &[]),
        ["a/web.yaml none known", "b/web.yaml sidecar known"]
    );
}

/// A manifest without a label of a mesh, in a folder that contains no environment, does not settle that there is no
/// sidecar.
#[test]
fn a_shared_namespace_settles_pods_only_with_a_label() {
    for (labels, expected) in [
        ("team: a", "sidecar assumed"),
        ("istio-injection: disabled", "none known"),
    ] {
        let project = Project::with(&[
            ("a/web.yaml", NOT_REWRITTEN),
            ("b/one/web.yaml", NOT_REWRITTEN),
            ("b/two/ns.yaml", &namespace(ON)),
            ("infra/ns.yaml", &namespace(labels)),
        ]);
        let found = dataplanes(&project, &["a"]);
        assert_eq!(found, [format!("a/web.yaml {expected}")]);
    }
}

/// What the pod itself decides does not depend on the Namespace.
#[test]
fn what_the_pod_decides_is_known() {
    let annotated = "namespace: shop, annotations: {linkerd.io/inject: enabled}";
    let pod = |name: &str| {
        let pod = PROBED.replace("name: web", &format!("name: {name}"));
        pod.replace("namespace: shop", annotated)
    };
    let project = Project::with(&[
        ("a/web.yaml", &pod("web")),
        ("b/web.yaml", &pod("web")),
        ("b/ns.yaml", &namespace("team: a")),
        ("dr/other.yaml", &pod("other")),
    ]);
    let found = dataplanes(&project, &["dr"]);
    assert_eq!(found, ["dr/other.yaml sidecar known"]);
}

/// Who names a folder states that the folders next to it with the same objects are environments.
#[test]
fn a_named_folder_is_an_environment() {
    let disabled = INJECTED.replace("enabled", "disabled");
    let project = Project::with(&[
        ("apps/web.yaml", NOT_REWRITTEN),
        ("sites/blue/ns.yaml", INJECTED),
        ("sites/green/ns.yaml", &disabled),
    ]);
    for (options, expected) in [
        (&[][..], "sidecar assumed"),
        (&["--cluster", "blue"], "sidecar known"),
        (&["--overlay", "sites/green"], "none known"),
    ] {
        let found = dataplanes(&project, options);
        assert_eq!(found, [format!("apps/web.yaml {expected}")], "{options:?}");
    }
}

/// A policy uses an installation of another environment if there is no other installation.
#[test]
fn the_only_release_of_a_tree_reads_a_policy() {
    let legacy = "apiVersion: authentication.istio.io/v1alpha1\nkind: MeshPolicy\nmetadata: {name: default}\n\
                  spec: {peers: [{mtls: {}}]}\n";
    let injector = r#"values: '{"global": {"tag": "1.4.0", "hub": "docker.io/istio"}}'"#;
    let injector = Manifest::config_map("istio-sidecar-injector", injector).to_string();
    let project = Project::with(&[
        (
            "deployment/mesh.yaml",
            &join(&[legacy, &injector, NOT_REWRITTEN]),
        ),
        ("istio/mtls.yaml", &join(&[legacy, NOT_REWRITTEN])),
    ]);
    let select = [
        "check",
        "--fail-on=never",
        "--select=legacy-authentication-api",
    ];
    let output = project.run(&select).exits(0).stdout;
    assert!(!output.contains("MeshPolicy"), "{output}");
    project.write("deployment/mesh.yaml", join(&[legacy, NOT_REWRITTEN]));
    project.run(&select).exits(0).stdout_contains("MeshPolicy");
}

/// Objects that were exported from a cluster, such as the records of a test run, deploy nothing.
#[test]
fn exported_objects_are_not_deployments() {
    let application = |name: &str, uid: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd{uid}}}\n\
             spec: {{source: {{path: apps, repoURL: .}}, destination: {{namespace: shop}}}}\nstatus: {{}}\n"
        )
    };
    let project = Project::with(&[
        ("apps/web.yaml", NOT_REWRITTEN),
        ("gitops/web.yaml", &application("web", "")),
        ("gitops/namespace.yaml", INJECTED),
    ]);
    for run in ["before", "after"] {
        let path = format!("evidence/{run}/web.yaml");
        project.write(&path, application("web", ", uid: 0a1b"));
    }
    assert_eq!(dataplanes(&project, &[]), ["apps/web.yaml sidecar known"]);
}
