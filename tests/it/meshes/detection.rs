//! Detection of the mesh of each pod, and the output for meshes other than Istio.

use crate::support::manifest::{Manifest, Pod, join};
use crate::support::predictions::{texts, workloads};
use crate::support::project::Project;
use crate::support::{Run, findings, fixture, meshprobe};
use serde_json::Value;

fn run(at: &str, arguments: &[&str]) -> Run {
    let (command, rest) = arguments.split_first().unwrap();
    let mut all = vec![*command, "--isolated"];
    all.extend(rest);
    meshprobe(&fixture(at), &all, "")
}

/// Returns workload, mesh, certainty of the mesh, and dataplane of each workload.
fn meshes(run: &Run) -> Vec<String> {
    let fields = [
        "/object/name",
        "/mesh/value",
        "/mesh/certainty",
        "/dataplane/value",
    ];
    let workloads = workloads(run).into_iter();
    workloads
        .map(|workload| texts(&workload, &fields))
        .collect()
}

#[test]
fn a_label_with_an_unknown_value_neither_enables_nor_disables_a_mesh() {
    let pod = Pod::new("web").within("shop");
    let pod = pod.probe("livenessProbe", "httpGet: {path: /, port: 8080}");
    for (label, mesh, dataplane) in [
        (
            "istio-injection: enable",
            "the Namespace refers to Istio",
            "this label does not enable injection for namespace `shop`",
        ),
        (
            "istio.io/dataplane-mode: Ambient",
            "the Namespace refers to Istio",
            "namespace `shop` has no injection label",
        ),
        (
            "istio-injection: disabled",
            "the Namespace refers to Istio",
            "this label disables injection for namespace `shop`",
        ),
        (
            "istio-injection: enabled",
            "the Namespace enables Istio",
            "namespace `shop` is injected",
        ),
    ] {
        let namespace = Manifest::namespace("shop").labels(label).to_string();
        let project = Project::with(&[("a.yaml", &join(&[&namespace, &pod.to_string()]))]);
        project
            .run(&["predict", "--explain"])
            .exits(0)
            .stdout_contains(&format!("{mesh} (a.yaml:"))
            .stdout_contains(&format!("{dataplane} (a.yaml:"));
    }
}

#[test]
fn each_pod_of_a_tree_has_its_own_mesh() {
    let shown = run("meshes/mixed", &["predict", "--output-format", "json", "."]);
    assert_eq!(
        meshes(&shown),
        [
            "moving istio assumed sidecar",
            "injected osm known sidecar",
            "web istio known sidecar",
            "books osm known sidecar",
        ]
    );
}

#[test]
fn an_option_sets_the_mesh_of_all_pods() {
    let all = |mesh: &str| {
        let arguments = ["predict", "--output-format", "json", "--mesh", mesh, "."];
        meshes(&run("meshes/mixed", &arguments))
    };
    assert_eq!(
        all("osm"),
        [
            "moving osm known sidecar",
            "injected osm known sidecar",
            "web osm known none",
            "books osm known sidecar",
        ]
    );
    assert_eq!(all("istio")[1], "injected istio known none");
    assert_eq!(all("none")[3], "books - known none");
    // Cilium does not add a proxy to pods.
    assert_eq!(all("cilium")[2], "web cilium known none");
}

#[test]
fn every_fact_of_another_mesh_is_explained() {
    let shown = run("meshes/mixed", &["predict", "--explain", "injected.yaml"]);
    insta::assert_snapshot!("explained-injected", shown.stdout);
    let shown = run("meshes/mixed", &["predict", "--explain", "osm.yaml"]);
    insta::assert_snapshot!("explained-osm", shown.stdout);
}

#[test]
fn a_rewrite_for_osm_is_a_preview() {
    let refused = run("sources", &["rewrite", "osm-three-probes.yaml"]);
    assert_eq!(refused.code, 1);
    insta::assert_snapshot!("refused-osm", refused.stderr);
    let shown = run(
        "sources",
        &["rewrite", "--preview", "--diff", "osm-three-probes.yaml"],
    );
    insta::assert_snapshot!("preview-osm", shown.stdout);
    let shown = run(
        "sources",
        &["rewrite", "--emit-envoy", "osm-three-probes.yaml"],
    );
    insta::assert_snapshot!("envoy-osm", shown.stdout);
    // A preview never replaces the original.
    let written = run("sources", &["rewrite", "--preview", "--write", "."]);
    assert_eq!(written.code, 2);
}

#[test]
fn the_example_of_osm_is_fine() {
    let shown = run("sources", &["predict", "osm-three-probes.yaml"]);
    insta::assert_snapshot!("predicted-osm", shown.stdout);
    let checked = run(
        "sources",
        &["check", "--output-format", "json", "osm-three-probes.yaml"],
    );
    let found = findings(&checked);
    let rules: Vec<&str> = found
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["osm-archived"]);
}

/// Releases before 1.1 are only linted.
#[test]
fn old_releases_of_osm_are_not_rewritten() {
    for (release, outcomes) in [
        ("0.8", ["ok", "fails", "always-passes"]),
        ("1.0", ["ok", "ok", "always-passes"]),
        ("1.2", ["ok", "ok", "ok"]),
        ("1.3", ["ok", "ok", "ok"]),
    ] {
        let options = ["--mesh", "osm", "--mesh-version", release];
        let mut arguments = vec!["predict", "--output-format", "json"];
        arguments.extend(options);
        arguments.push("osm-three-probes.yaml");
        let shown = run("sources", &arguments);
        let report: Value = serde_json::from_str(&shown.stdout).unwrap();
        let handlers = report["workloads"].as_array().unwrap().iter();
        let found: Vec<&str> = handlers
            .map(|workload| {
                workload
                    .pointer("/handlers/0/outcome")
                    .unwrap()
                    .as_str()
                    .unwrap()
            })
            .collect();
        assert_eq!(found, outcomes, "{release}");
        let mut arguments = vec!["rewrite", "--preview"];
        arguments.extend(options);
        arguments.push("osm-three-probes.yaml");
        let rewritten = run("sources", &arguments);
        let is_old = ["0.8", "1.0"].contains(&release);
        assert_eq!(rewritten.stderr.contains("release-too-old"), is_old);
    }
}

/// A tree with three meshes: the prediction and the rewrite of each pod depend on its own mesh.
#[test]
fn three_meshes_in_one_tree() {
    let lines: [&[&str]; 5] = [
        &["check", "."],
        &["predict", "."],
        &["predict", "--explain", "linkerd.yaml"],
        &["rewrite", "--diff", "--mesh-version", "1.28", "."],
        &[
            "rewrite",
            "--diff",
            "--preview",
            "--mesh-version",
            "1.28",
            ".",
        ],
    ];
    let mut text = String::new();
    for line in lines {
        let run = run("meshes/several", line);
        let typed = line.join(" ");
        text += &format!("$ meshprobe {typed}\n{}", run.stdout);
        text += &format!("--- stderr\n{}--- exit {}\n\n", run.stderr, run.code);
    }
    insta::with_settings!({omit_expression => true}, {
        insta::assert_snapshot!("several", text);
    });
}

/// Managed control planes are detected by their revisions only.
#[test]
fn revisions_of_managed_meshes_inject() {
    let shown = run("meshes/managed", &["predict", "--explain", "."]);
    insta::assert_snapshot!("managed", shown.stdout);
    let checked = run("meshes/managed", &["check", "--output-format", "json", "."]);
    assert!(findings(&checked).is_empty(), "{}", checked.stdout);
    // The option sets the revisions that exist.
    let one = ["predict", "--output-format", "json"];
    let options = ["--assume", "revision=asm-managed", "."];
    let shown = run("meshes/managed", &[&one[..], &options].concat());
    assert_eq!(
        meshes(&shown),
        [
            "by-release istio known none",
            "by-channel istio known sidecar",
        ]
    );
}

/// The add-on of AKS injects only by revision, and its root namespace is `aks-istio-system`.
#[test]
fn the_shared_config_map_of_aks_is_a_control_plane() {
    let shown = run("meshes/aks", &["predict", "--explain", "."]);
    insta::assert_snapshot!("aks", shown.stdout);
}

/// A policy of Cilium is evidence only if it requires authentication, because Cilium is also the network of many
/// clusters with other meshes.
#[test]
fn cilium_is_detected_as_a_mesh_only_if_it_requires_authentication() {
    let judged = |mode: &str| {
        let scratch = tempfile::tempdir().unwrap();
        let spec = format!("{{ingress: [{{authentication: {{mode: {mode}}}}}]}}");
        let policy = Manifest::new("cilium.io/v2", "CiliumNetworkPolicy", "x").within("shop");
        let policy = policy.spec(&spec).to_string();
        let pod = Pod::new("web").within("shop").field("image: web:1");
        let pod = pod.probe("readinessProbe", "httpGet: {port: 80}");
        let text = join(&[&policy, &pod.to_string()]);
        std::fs::write(scratch.path().join("web.yaml"), text).unwrap();
        let arguments = [
            "predict",
            "--isolated",
            "--output-format",
            "json",
            "web.yaml",
        ];
        meshes(&meshprobe(scratch.path(), &arguments, ""))
    };
    assert_eq!(judged("required"), ["web cilium known none"]);
    assert_eq!(judged("disabled"), ["web istio default unknown"]);
}

#[test]
fn the_strongest_evidence_decides() {
    let shown = run("meshes/signs", &["predict", "--output-format", "json", "."]);
    assert_eq!(
        meshes(&shown),
        [
            "by-pod consul assumed sidecar",
            "opted-out istio known sidecar",
            "by-object kuma known unknown",
            "annotated linkerd known sidecar",
        ]
    );
    let json = ["predict", "--output-format", "json"];
    let installed = run("meshes/installed", &[&json[..], &["."]].concat());
    assert_eq!(meshes(&installed), ["web osm known unknown"]);
    let alone = run("meshes/installed", &[&json[..], &["web.yaml"]].concat());
    assert_eq!(meshes(&alone), ["web istio default unknown"]);
    // The installation may be in a file of the context, too.
    let options = [
        "--context",
        "crd.yaml",
        "--assume",
        "injection=all",
        "web.yaml",
    ];
    let given = run("meshes/installed", &[&json[..], &options].concat());
    assert_eq!(meshes(&given), ["web osm known sidecar"]);
}

#[test]
fn the_configuration_sets_the_mesh_and_a_typing_error_is_reported() {
    let settings = |kind: &str| {
        format!(
            "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: x}}\nspec:\n  \
             mesh: {{kind: {kind}}}\n"
        )
    };
    let with = |kind: &str| {
        let scratch = tempfile::tempdir().unwrap();
        let config = scratch.path().join("settings.yaml");
        std::fs::write(&config, settings(kind)).unwrap();
        let config = config.to_string_lossy().into_owned();
        let arguments = [
            "predict",
            "--config",
            config.as_str(),
            "--output-format",
            "json",
            "web.yaml",
        ];
        meshprobe(&fixture("meshes/installed"), &arguments, "")
    };
    assert_eq!(meshes(&with("consul")), ["web consul known none"]);
    assert_eq!(meshes(&with("app-mesh")), ["web app-mesh known unknown"]);
    let wrong = with("kumma");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("did you mean `kuma`"),
        "{}",
        wrong.stderr
    );
}
