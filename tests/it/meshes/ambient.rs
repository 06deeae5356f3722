//! Moves of namespaces between sidecars and ambient mode: `--mesh ambient` and the fact `dataplane`.

use std::path::Path;

use crate::support::manifest::{Manifest, Pod};
use crate::support::meshprobe;
use serde_json::Value;

fn pod(name: &str, namespace: &str, labels: &str) -> String {
    let pod = Pod::new(name).within(namespace).labels(labels);
    pod.container("web")
        .field("image: web")
        .probe("readinessProbe", "httpGet: {port: 80}")
        .to_string()
}

fn tree() -> String {
    let namespace = |name: &str, labels: &str| Manifest::namespace(name).labels(labels).to_string();
    [
        pod("web", "shop", ""),
        pod("out", "shop", "istio.io/dataplane-mode: none"),
        pod("sidecar", "shop", "sidecar.istio.io/inject: \"true\""),
        pod("system", "kube-system", ""),
        namespace("plain", ""),
        pod("plain", "plain", ""),
        namespace("enrolled", "istio.io/dataplane-mode: ambient"),
        pod("enrolled", "enrolled", ""),
        namespace("injected", "istio-injection: enabled"),
        pod("injected", "injected", ""),
        pod("asks", "injected", "sidecar.istio.io/inject: \"true\""),
        pod("leaves", "injected", "istio.io/dataplane-mode: none"),
        pod("own", "plain", "istio.io/dataplane-mode: ambient"),
    ]
    .join("---\n")
}

fn dataplanes(options: &[&str]) -> Vec<String> {
    let arguments = [
        &["predict", "--isolated", "--output-format", "json"],
        options,
        &["-"],
    ]
    .concat();
    let run = meshprobe(Path::new("/"), &arguments, tree());
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let workloads = json.get("workloads").unwrap().as_array().unwrap();
    let text = |workload: &Value, pointer: &str| {
        workload
            .pointer(pointer)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    workloads
        .iter()
        .map(|workload| {
            let parts = ["/object/name", "/dataplane/value", "/dataplane/certainty"];
            parts.map(|pointer| text(workload, pointer)).join(" ")
        })
        .collect()
}

/// Whether a namespace that is not in the tree belongs to the mesh is assumed.
#[test]
fn a_move_to_ambient_mode_keeps_the_labels_of_pods() {
    let expected = [
        "web ambient assumed",
        "out none known",
        "sidecar sidecar assumed",
        "system none known",
        "plain none known",
        "enrolled ambient known",
        "injected ambient known",
        "asks sidecar known",
        "leaves none known",
        "own ambient known",
    ];
    assert_eq!(dataplanes(&["--mesh", "ambient"]), expected);
    assert_eq!(dataplanes(&["--override", "dataplane=ambient"]), expected);
    let off = dataplanes(&["--mesh", "ambient", "--override", "ambient=false"]);
    assert_eq!(off.first().unwrap(), "web none known");
    let injected = dataplanes(&["--mesh", "ambient", "--assume", "injection=all"]);
    assert_eq!(injected.first().unwrap(), "web sidecar assumed");
}

#[test]
fn an_assumption_moves_only_namespaces_that_are_not_in_the_tree() {
    let today = dataplanes(&[]);
    let assumed = dataplanes(&["--assume", "dataplane=ambient"]);
    assert_eq!(today[0], "web unknown unknown");
    assert_eq!(assumed[0], "web ambient assumed");
    assert_eq!(today[3..], assumed[3..]);
    assert!(today.contains(&"injected sidecar known".to_owned()));
}

#[test]
fn namespaces_in_ambient_mode_are_moved_to_sidecars() {
    let moved = dataplanes(&["--override", "dataplane=sidecar"]);
    assert_eq!(
        moved,
        [
            "web sidecar assumed",
            "out sidecar assumed",
            "sidecar sidecar assumed",
            "system none known",
            "plain none known",
            "enrolled sidecar known",
            "injected sidecar known",
            "asks sidecar known",
            "leaves sidecar known",
            "own ambient known",
        ]
    );
}

/// The move is what breaks the probe: it is reported with the option and not without.
#[test]
fn a_move_breaks_probes_that_were_rewritten_ahead() {
    let namespace = Manifest::namespace("injected").labels("istio-injection: enabled");
    let ahead = pod("web", "injected", "")
        .replace("{port: 80}", "{port: 15020, path: /app-health/web/readyz}");
    let tree = format!("{namespace}---\n{ahead}");
    let reports = |options: &[&str]| {
        let arguments = [&["check", "--isolated"], options, &["-"]].concat();
        let run = meshprobe(Path::new("/"), &arguments, &tree);
        run.stdout.contains("rewritten-without-sidecar")
    };
    assert!(reports(&["--override", "dataplane=ambient"]));
    assert!(!reports(&[]));
}

/// A manifest that was rewritten for a sidecar is reported, because there is no agent. `rewrite` changes nothing.
#[test]
fn nothing_is_rewritten_for_ambient_pods() {
    let text = pod("web", "shop", "");
    let rewrite = ["rewrite", "--isolated", "--mesh", "ambient", "-"];
    let run = meshprobe(Path::new("/"), &rewrite, &text);
    assert_eq!(run.stdout, text);
    assert!(run.stderr.contains("note[ambient]"), "{}", run.stderr);
    let ahead = text.replace("{port: 80}", "{port: 15020, path: /app-health/web/readyz}");
    let check = ["check", "--isolated", "--mesh", "ambient", "-"];
    let run = meshprobe(Path::new("/"), &check, ahead);
    assert!(
        run.stdout.contains("rewritten-without-sidecar"),
        "{}",
        run.stdout
    );
}

/// The configuration accepts the mesh `ambient`, too.
#[test]
fn the_configuration_accepts_ambient() {
    let folder = std::env::temp_dir().join(format!("meshprobe-ambient-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config =
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {mesh: {kind: ambient}}\n";
    std::fs::write(folder.join("config.yaml"), config).unwrap();
    let arguments = ["predict", "--config", "config.yaml", "-"];
    let run = meshprobe(&folder, &arguments, pod("web", "shop", ""));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        run.stdout.contains("exempt from ambient capture"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

/// Returns dataplane and certainty of a pod of an ambient namespace, in a tree with another document.
fn enrolled(pod_field: &str, document: &str, release: &str) -> String {
    let namespace = Manifest::namespace("shop").labels("istio.io/dataplane-mode: ambient");
    let pod = Pod::new("web").within("shop").pod_field(pod_field);
    let pod = pod.container("web").field("image: web");
    let pod = pod.probe("readinessProbe", "httpGet: {port: 80}");
    let text = format!("{namespace}---\n{pod}---\n{document}");
    let arguments = [
        "predict",
        "--isolated",
        "--output-format",
        "json",
        "--mesh-version",
        release,
        "-",
    ];
    let run = meshprobe(Path::new("/"), &arguments, text);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |at: &str| json.pointer(at).and_then(Value::as_str).unwrap().to_owned();
    let parts = [
        "/workloads/0/dataplane/value",
        "/workloads/0/dataplane/certainty",
    ];
    parts.map(text).join(" ")
}

#[test]
fn istio_cni_considers_some_pods_on_the_host_network_eligible() {
    let judged = |release| enrolled("hostNetwork: true", "", release);
    for release in ["1.22.2", "1.23", "1.26", "1.29.7", "1.30.4", "1.31"] {
        assert_eq!(judged(release), "none known", "{release}");
    }
    for release in ["1.22", "1.22.1", "1.27", "1.29.6", "1.30", "1.30.3"] {
        assert_eq!(judged(release), "none assumed", "{release}");
    }
}

/// A move by an option also decides about namespaces that are not in the tree.
#[test]
fn a_move_answers_the_question_about_unknown_namespaces() {
    let installed = "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n\
                     metadata: {name: default, namespace: istio-system}\nspec: {mtls: {mode: STRICT}}\n";
    let text = format!("{}---\n{installed}", pod("web", "shop", ""));
    let check = |options: &[&str]| {
        let arguments = [&["check", "--isolated"], options, &["-"]].concat();
        meshprobe(Path::new("/"), &arguments, &text).stdout
    };
    assert!(check(&[]).contains("namespace-unknown"));
    for options in [
        ["--mesh", "ambient"],
        ["--override", "dataplane=ambient"],
        ["--assume", "dataplane=ambient"],
    ] {
        assert!(
            !check(&options).contains("namespace-unknown"),
            "{options:?}"
        );
    }
}

#[test]
fn istio_cni_excludes_namespaces_since_1_30() {
    let cni = |namespaces: &str| {
        format!(
            "apiVersion: sailoperator.io/v1\nkind: IstioCNI\nmetadata: {{name: default}}\nspec:\n  profile: ambient\n  \
             values: {{cni: {{excludeNamespaces: [{namespaces}]}}}}\n"
        )
    };
    let judged = |namespaces, release| enrolled("", &cni(namespaces), release);
    assert_eq!(judged("kube-system, shop", "1.30"), "none known");
    assert_eq!(judged("kube-system, shop", "1.29"), "ambient known");
    assert_eq!(judged("kube-system", "1.30"), "ambient known");
}
