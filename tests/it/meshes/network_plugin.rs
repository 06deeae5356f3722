//! The network plugin of the cluster decides whether probes reach pods in ambient mode.

use std::path::Path;

use crate::support::manifest::{Manifest, Pod};
use crate::support::meshprobe;
use meshprobe::mesh::istio::network_plugin::{Delivery, NetworkPlugin};
use serde_json::Value;

use super::isolated;

/// The ConfigMap of Cilium without BPF masquerading.
const CILIUM: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: cilium-config, namespace: kube-system}
data: {enable-bpf-masquerade: \"false\"}
";

/// A pod in ambient mode with a probe, and its Namespace.
fn ambient_pod() -> String {
    let pod = Pod::new("web").within("shop").labels("app: web");
    let pod = pod
        .container("web")
        .field("image: web")
        .probe("readinessProbe", "httpGet: {port: 80}");
    let namespace = Manifest::namespace("shop").labels("istio.io/dataplane-mode: ambient");
    format!("{namespace}---\n{pod}")
}

/// An object that is not namespaced, or is in the namespace `shop`.
fn object(api: &str, kind: &str, spec: &str) -> String {
    let metadata = "metadata: {name: rival, namespace: shop}";
    format!("apiVersion: {api}\nkind: {kind}\n{metadata}\nspec: {spec}\n")
}

/// Returns the verdict of the probe of the pod `web`, such as `ok known`, and its reasons.
fn verdict(json: &str) -> (String, String) {
    let json: Value = serde_json::from_str(json).unwrap();
    let workloads = json.get("workloads").unwrap().as_array().unwrap();
    let mut workloads = workloads.iter();
    let is_web = |found: &&Value| found.pointer("/object/name").unwrap() == "web";
    let handler = workloads.find(is_web).unwrap();
    let handler = handler.pointer("/handlers/0").unwrap();
    let text = |key: &str| handler.get(key).unwrap().as_str().unwrap();
    let because = handler.get("because").unwrap().to_string();
    (
        format!("{} {}", text("outcome"), text("certainty")),
        because,
    )
}

fn verdict_of(options: &[&str], others: &[&str]) -> (String, String) {
    let text = [&[ambient_pod().as_str()], others].concat().join("---\n");
    let arguments = [&["predict", "--output-format", "json"], options].concat();
    verdict(&isolated(&arguments, &text).stdout)
}

/// Without the fact, nothing but the certainty of the verdict changes, and the reason names the option.
#[test]
fn a_verdict_is_known_only_if_the_plugin_is_known() {
    let (known, because) = verdict_of(&[], &[CILIUM]);
    assert_eq!(known, "ok known");
    assert!(because.contains("Cilium without"), "{because}");
    let (assumed, because) = verdict_of(&[], &[]);
    assert_eq!(assumed, "ok assumed");
    assert!(
        because.contains("delivers the packets of 169.254.7.127"),
        "{because}"
    );
    let run = isolated(&["predict", "--explain"], &ambient_pod());
    assert!(
        run.stdout.contains("--assume network-plugin=NAME"),
        "{}",
        run.stdout
    );
}

/// `--override` settles every plugin; `--assume` fills a gap only.
#[test]
fn options_state_the_plugin() {
    for plugin in NetworkPlugin::ALL {
        let expected = match plugin.delivery() {
            Delivery::Delivers => "ok known",
            Delivery::Drops(_) => "fails known",
            Delivery::DropsByReports(_) => "fails assumed",
            // A SecurityGroupPolicy may be elsewhere.
            Delivery::DropsIfSecurityGroup(_) => "ok assumed",
        };
        let option = format!("network-plugin={plugin}");
        let (found, _) = verdict_of(&["--override", &option], &[]);
        assert_eq!(found, expected, "{plugin}");
    }
    let assume = ["--assume", "network-plugin=cilium-bpf-masquerade"];
    assert_eq!(verdict_of(&assume, &[]).0, "fails assumed");
    assert_eq!(verdict_of(&assume, &[CILIUM]).0, "ok known");
    let run = isolated(&["predict", "--assume", "network-plugin=celium"], "");
    assert!(
        run.stderr.contains("did you mean `cilium`"),
        "{}",
        run.stderr
    );
}

/// Policies that only the plugin evaluates may drop the packets, unless they apply to egress or nodes, or admit them.
#[test]
fn policies_of_the_plugin_lower_the_certainty() {
    let calico = "projectcalico.org/v3";
    let admin = "policy.networking.k8s.io/v1alpha1";
    let ingress = "{ingress: [{}]}";
    let unmodelled = [
        ("cilium.io/v2", "CiliumNetworkPolicy", ingress),
        ("cilium.io/v2", "CiliumClusterwideNetworkPolicy", ingress),
        (
            "cilium.io/v2",
            "CiliumNetworkPolicy",
            "{endpointSelector: {}}",
        ),
        (calico, "NetworkPolicy", "{types: [Ingress, Egress]}"),
        ("crd.projectcalico.org/v1", "GlobalNetworkPolicy", ingress),
        (admin, "AdminNetworkPolicy", ingress),
        (admin, "BaselineAdminNetworkPolicy", ingress),
        (
            "policy.networking.k8s.io/v1alpha2",
            "ClusterNetworkPolicy",
            ingress,
        ),
        (
            "cilium.io/v2",
            "CiliumNetworkPolicy",
            "{ingress: [{fromCIDR: [169.254.7.127/32], toPorts: []}]}",
        ),
    ];
    for (api, kind, spec) in unmodelled {
        let policy = object(api, kind, spec);
        let (found, because) = verdict_of(&[], &[CILIUM, &policy]);
        assert_eq!(found, "ok assumed", "{policy}");
        assert!(because.contains(&format!("{kind} `rival`")), "{because}");
    }
    let harmless = [
        ("cilium.io/v2", "CiliumNetworkPolicy", "{egress: [{}]}"),
        (
            "cilium.io/v2",
            "CiliumClusterwideNetworkPolicy",
            "{nodeSelector: {}, ingress: [{}]}",
        ),
        (
            "cilium.io/v2",
            "CiliumClusterwideNetworkPolicy",
            "{ingress: [{fromCIDR: [169.254.7.127/32]}]}",
        ),
        (calico, "GlobalNetworkPolicy", "{types: [Egress]}"),
    ];
    for (api, kind, spec) in harmless {
        let policy = object(api, kind, spec);
        assert_eq!(
            verdict_of(&[], &[CILIUM, &policy]).0,
            "ok known",
            "{policy}"
        );
    }
    let other = object("cilium.io/v2", "CiliumNetworkPolicy", ingress);
    let other = other.replace("namespace: shop", "namespace: bank");
    assert_eq!(verdict_of(&[], &[CILIUM, &other]).0, "ok known");
}

/// The network plugin concerns neither pods outside of ambient mode nor commands, nor requests to other hosts.
#[test]
fn only_packets_to_ambient_pods_are_dropped() {
    let plugin = ["--override", "network-plugin=cilium-bpf-masquerade"];
    let predict = |text: &str| {
        let arguments = [&["predict", "--output-format", "json"], &plugin[..]].concat();
        verdict(&isolated(&arguments, text).stdout).0
    };
    let pod = ambient_pod();
    assert_eq!(predict(&pod), "fails known");
    let sidecar = pod.replace(
        "istio.io/dataplane-mode: ambient",
        "istio-injection: enabled",
    );
    assert!(predict(&sidecar).starts_with("ok"));
    let command = pod.replace("httpGet: {port: 80}", "exec: {command: [\"true\"]}");
    assert_eq!(predict(&command), "ok known");
    let host = pod.replace("{port: 80}", "{port: 80, host: example.com}");
    assert_eq!(predict(&host), "ok known");
}

/// A kustomization renders the DaemonSet, and the clusters of a tree have plugins of their own.
#[test]
fn each_environment_has_its_own_plugin() {
    let folder = std::env::temp_dir().join(format!("meshprobe-plugin-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let network = |via_host: bool| {
        format!(
            "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {{name: cluster}}\nspec:\n  \
             defaultNetwork:\n    type: OVNKubernetes\n    ovnKubernetesConfig: \
             {{gatewayConfig: {{routingViaHost: {via_host}}}}}\n"
        )
    };
    for (cluster, via_host) in [("one", true), ("two", false)] {
        write(&format!("{cluster}/network.yaml"), &network(via_host));
        write(&format!("{cluster}/web.yaml"), &ambient_pod());
        let resources = "resources: [network.yaml, web.yaml]\n";
        write(&format!("{cluster}/kustomization.yaml"), resources);
    }
    let predict = |path: &str| {
        let arguments = ["predict", "--isolated", "--output-format", "json", path];
        verdict(&meshprobe(Path::new(&folder), &arguments, "").stdout).0
    };
    let (one, two) = (predict("one"), predict("two"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((one.as_str(), two.as_str()), ("ok known", "fails known"));
}

/// An override of the plugin also replaces what the tree states about its other settings.
#[test]
fn an_overridden_plugin_is_not_an_exclusive_cilium() {
    let exclusive = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium-config, namespace: kube-system}\n\
                     data: {cni-exclusive: \"true\"}\n---\n";
    let text = format!("{exclusive}{}", ambient_pod());
    let rules = |options: &[&str]| {
        let arguments = [&["check", "--output-format", "json"], options].concat();
        isolated(&arguments, &text).stdout
    };
    let rule = "ambient-cilium-cni-exclusive";
    assert!(rules(&[]).contains(rule));
    assert!(rules(&["--override", "network-plugin=cilium"]).contains(rule));
    assert!(!rules(&["--override", "network-plugin=calico"]).contains(rule));
}
