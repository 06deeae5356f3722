//! The webhooks of OSM, Kuma and Consul, beyond the recorded answers: pods that they refuse, pods that are already
//! injected, unknown releases, and previews of whole trees.

use super::{KUMA, OSM, isolated as run};
use crate::support::predictions::{handlers, texts};
use crate::support::{findings, meshprobe};
use serde::Deserialize as _;
use serde_json::Value;

/// Returns a pod with these labels, annotations and containers.
fn pod(labels: &str, annotations: &str, containers: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  labels: \
         {{{labels}}}\n  annotations: {{{annotations}}}\nspec:\n  containers:\n{containers}"
    )
}

fn container(name: &str, rest: &str) -> String {
    format!("    - {{name: {name}, image: x, {rest}}}\n")
}

/// Returns slot, outcome and certainty of each handler.
fn outcomes(arguments: &[&str], text: &str) -> Vec<String> {
    let mut all = vec!["predict", "--output-format", "json"];
    all.extend(arguments);
    let shown = run(&all, text);
    let handlers = handlers(&shown).into_iter();
    handlers
        .map(|handler| texts(&handler, &["/slot", "/outcome", "/certainty"]))
        .collect()
}

/// Returns rule and severity of each finding, except for the note that OSM is archived.
fn found(arguments: &[&str], text: &str) -> Vec<String> {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(arguments);
    let checked = run(&all, text);
    findings(&checked)
        .iter()
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            format!("{} {}", text("rule"), text("severity"))
        })
        .filter(|finding| finding != "osm-archived note")
        .collect()
}

const HTTP: &str = "livenessProbe: {httpGet: {path: /live, port: 8080}}";

/// `predict` reports that a pod is refused, `check` the reason, and `rewrite` what to do.
#[test]
fn refused_pods_are_reported() {
    let consul = "consul.hashicorp.com/connect-inject: \"yes\"";
    let kuma = "kuma.io/sidecar-injection: \"on\"";
    let osm = "openservicemesh.io/sidecar-injection: \"on\"";
    let one = container("web", HTTP);
    let cases = [
        (pod("", consul, &one), "mesh-value-refused error"),
        (
            KUMA.to_owned() + &pod(kuma, "", &one),
            "mesh-value-refused error",
        ),
        (
            OSM.to_owned() + &pod("", osm, &one),
            "osm-annotation-value error",
        ),
    ];
    for (text, rule) in cases {
        assert_eq!(found(&[], &text), [rule], "{text}");
        let shown = run(&["predict"], &text);
        assert!(
            shown.stdout.contains("the webhook refuses the pod"),
            "{}",
            shown.stdout
        );
        let rewritten = run(&["rewrite", "--preview"], &text);
        assert_eq!((rewritten.code, &rewritten.stdout), (1, &text));
        assert!(rewritten.stderr.contains("admission-refused"));
        assert!(rewritten.stderr.contains("help:"), "{}", rewritten.stderr);
    }
}

/// OSM reads the list of ports only when it injects a pod, and only from pods.
#[test]
fn osm_reads_the_list_of_ports_only_from_pods_that_it_injects() {
    let bad = "openservicemesh.io/inbound-port-exclusion-list: \"8080,http\"";
    let injected = OSM.to_owned() + &pod("", bad, &container("web", HTTP));
    assert_eq!(found(&[], &injected), ["osm-annotation-value error"]);
    let switched_off = format!("{bad}, openservicemesh.io/sidecar-injection: disabled");
    let outside = OSM.to_owned() + &pod("", &switched_off, &container("web", HTTP));
    assert!(found(&[], &outside).is_empty());
    let silent = OSM.replace("openservicemesh.io/sidecar-injection: enabled", "");
    let not_enabled = silent + &pod("", bad, &container("web", HTTP));
    assert!(found(&[], &not_enabled).is_empty());
    // Without the Namespace, it is unknown whether the API server calls the webhook.
    let alone = pod(
        "",
        "openservicemesh.io/sidecar-injection: \"on\"",
        &container("web", HTTP),
    );
    assert_eq!(outcomes(&[], &alone), ["livenessProbe refused assumed"]);
}

/// OSM drops fields that Kubernetes 1.26 does not know, and the preview shows that.
#[test]
fn a_preview_of_osm_drops_restart_policies() {
    let text = OSM.to_owned()
        + &pod("", "", &container("web", HTTP)).replace(
            "  containers:\n",
            "  initContainers:\n    - {name: first, image: x}\n    - name: logs\n      image: x\n      \
             restartPolicy: Always\n  containers:\n",
        );
    let shown = run(&["rewrite", "--preview"], &text);
    assert!(!shown.stdout.contains("restartPolicy"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("name: logs\n      image: x\n"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("port: 15901"));
}

/// In a pod that OSM has injected, listener, path and kind of probe must match. The manifest does not show the
/// bootstrap configuration.
#[test]
fn a_pod_that_osm_has_injected_is_gone_through_in_its_order() {
    let probe = |slot: &str, path: &str, port: u16| {
        format!("{slot}: {{httpGet: {{path: {path}, port: {port}}}}}")
    };
    let envoy = container(
        "envoy",
        "ports: [{containerPort: 15901}, {containerPort: 15902}], readinessProbe: {httpGet: {path: \
         /ready, port: 15000}}",
    );
    let volume = "  volumes: [{name: envoy-bootstrap-config-volume, secret: {secretName: x}}]\n";
    let injected = |rest: &str| {
        let containers = container("web", rest) + &envoy;
        OSM.to_owned() + &pod("", "", &containers) + volume
    };
    let one = |rest: &str| outcomes(&[], &injected(rest));
    let right = probe("livenessProbe", "/osm-liveness-probe", 15901);
    assert_eq!(one(&right), ["livenessProbe ok assumed"]);
    let other_path = probe("livenessProbe", "/osm-readiness-probe", 15901);
    assert_eq!(one(&other_path), ["livenessProbe fails known"]);
    let other_kind = probe("livenessProbe", "/osm-readiness-probe", 15902);
    assert_eq!(one(&other_kind), ["livenessProbe fails known"]);
    assert_eq!(one(HTTP), ["livenessProbe fails known"]);
    let no_helper = probe("livenessProbe", "/osm-healthcheck", 15904);
    let explained = run(&["predict", "--explain"], &injected(&no_helper)).stdout;
    insta::assert_snapshot!("explained-without-helper", explained);
    let explained = run(&["predict", "--explain"], &injected(&other_kind)).stdout;
    insta::assert_snapshot!("explained-other-kind", explained);
}

/// `--emit-envoy` prints its assumptions, and reports why it prints nothing for other pods.
#[test]
fn emit_envoy_reports_why_it_prints_nothing_for_a_pod() {
    let text = pod(
        "",
        "openservicemesh.io/sidecar-injection: enabled",
        &container("web", HTTP),
    );
    let assumed = run(&["rewrite", "--emit-envoy"], &text);
    assert_eq!(assumed.code, 0);
    let head: Vec<&str> = assumed.stdout.lines().take(3).collect();
    assert_eq!(
        head,
        [
            "# shop/Pod/web",
            "# assumed: namespace `shop` is monitored by OSM (no Namespace manifest) [--assume \
             injection=all|none]",
            "static_resources:"
        ]
    );
    let silent = pod("", "", &container("web", HTTP));
    let options = ["rewrite", "--emit-envoy", "--mesh", "osm"];
    let unproven = run(&options, &silent);
    assert_eq!((unproven.code, unproven.stdout.as_str()), (1, ""));
    assert!(
        unproven.stderr.contains("injection-unproven"),
        "{}",
        unproven.stderr
    );
    let old = run(&[&options[..], &["--mesh-version", "1.0"]].concat(), &text);
    assert_eq!(old.code, 1);
    assert!(old.stderr.contains("release-too-old"), "{}", old.stderr);
    // Two pods, two documents.
    let two = format!(
        "{}---\n{}",
        text,
        text.replace("name: web\n", "name: two\n")
    );
    let both = run(&["rewrite", "--emit-envoy"], &two);
    let documents = serde_yaml::Deserializer::from_str(&both.stdout);
    let documents: Vec<Value> = documents
        .map(|document| Value::deserialize(document).unwrap())
        .collect();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0], documents[1]);
}

/// If the release is unknown, the explanation shows the outcome with other releases, and the certainty is not
/// `known`.
#[test]
fn a_verdict_that_depends_on_an_unknown_release_is_not_known() {
    let tcp = "livenessProbe: {tcpSocket: {port: 8080}}";
    let osm = OSM.to_owned() + &pod("", "", &container("web", tcp));
    assert_eq!(outcomes(&[], &osm), ["livenessProbe ok default"]);
    let explained = run(&["predict", "--explain"], &osm).stdout;
    assert!(
        explained.contains("otherwise   always-passes if the release is 1.0"),
        "{explained}"
    );
    let named = ["--mesh", "osm", "--mesh-version", "1.2"];
    assert_eq!(outcomes(&named, &osm), ["livenessProbe ok known"]);
    // A verdict that is the same for all releases depends on none.
    let http = OSM.to_owned() + &pod("", "", &container("web", HTTP));
    assert_eq!(outcomes(&[], &http), ["livenessProbe ok known"]);
    let kuma = KUMA.to_owned() + &pod("", "", &container("web", tcp));
    assert_eq!(outcomes(&[], &kuma), ["livenessProbe ok default"]);
    let explained = run(&["predict", "--explain"], &kuma).stdout;
    assert!(
        explained.contains("otherwise   always-passes if the release is 2.8"),
        "{explained}"
    );
}

/// The host stays and the port changes, so the kubelet targets a port of another machine.
#[test]
fn a_probe_with_a_host_is_reported_in_every_mesh() {
    let host = "livenessProbe: {httpGet: {host: app.example, path: /live, port: 8080}}";
    let consul = pod(
        "",
        "consul.hashicorp.com/connect-inject: \"true\"",
        &container("web", host),
    );
    assert_eq!(found(&[], &consul), ["http-probe-host-rewritten error"]);
    let kuma = KUMA.to_owned() + &pod("", "", &container("web", host));
    let old = ["--mesh", "kuma", "--mesh-version", "2.8"];
    assert_eq!(found(&old, &kuma), ["http-probe-host-rewritten error"]);
    assert_eq!(found(&[], &kuma), ["kuma-http-host-lost warning"]);
    let osm = OSM.to_owned() + &pod("", "", &container("web", host));
    assert_eq!(found(&[], &osm), ["osm-http-host warning"]);
    // A missing helper is worse than a lost host.
    let first = container(
        "db",
        "livenessProbe: {tcpSocket: {host: db.example, port: 1}}",
    );
    let both = OSM.to_owned() + &pod("", "", &(first + &container("web", HTTP)));
    assert_eq!(found(&[], &both), ["osm-probe-collision error"]);
}

/// A release does not refuse a pod because of an annotation that it does not know.
#[test]
fn kuma_before_2_9_has_no_probe_proxy() {
    let bad = "kuma.io/application-probe-proxy-port: http";
    let text = KUMA.to_owned() + &pod("", bad, &container("web", HTTP));
    assert_eq!(found(&[], &text), ["mesh-value-refused error"]);
    let old = ["--mesh", "kuma", "--mesh-version", "2.8"];
    assert!(found(&old, &text).is_empty());
}

/// The sidecar of a pod that Kuma has injected contains the port of the probe proxy.
#[test]
fn the_sidecar_of_a_pod_that_kuma_has_injected_decides() {
    let probe = "livenessProbe: {httpGet: {path: /8080/live, port: 9001}}";
    let sidecar = |port: &str| {
        let env = format!("env: [{{name: KUMA_APPLICATION_PROBE_PROXY_PORT, value: \"{port}\"}}]");
        container("web", probe) + &container("kuma-sidecar", &env)
    };
    let judged = |port: &str| outcomes(&[], &(KUMA.to_owned() + &pod("", "", &sidecar(port))));
    assert_eq!(judged("9001"), ["livenessProbe ok known"]);
    assert_eq!(judged("0"), ["livenessProbe fails known"]);
}

/// A verdict that depends on defaults of Consul's chart is not `known`, because the chart may set other values.
#[test]
fn a_verdict_that_depends_on_the_chart_of_consul_is_not_known() {
    let on = "consul.hashicorp.com/connect-inject: \"true\"";
    let default = pod("", on, &container("web", HTTP));
    assert_eq!(outcomes(&[], &default), ["livenessProbe ok default"]);
    let written = format!(
        "{on}, consul.hashicorp.com/transparent-proxy: \"true\", \
         consul.hashicorp.com/transparent-proxy-overwrite-probes: \"true\""
    );
    let written = pod("", &written, &container("web", HTTP));
    assert_eq!(outcomes(&[], &written), ["livenessProbe ok known"]);
    let off = format!("{on}, consul.hashicorp.com/transparent-proxy-overwrite-probes: \"false\"");
    let off = pod("", &off, &container("web", HTTP));
    assert_eq!(outcomes(&[], &off), ["livenessProbe fails assumed"]);
    let permissive = format!(
        "apiVersion: consul.hashicorp.com/v1alpha1\nkind: ServiceDefaults\nmetadata: {{name: web, \
         namespace: shop}}\nspec: {{mutualTLSMode: permissive}}\n---\n{off}"
    );
    assert_eq!(
        outcomes(&[], &permissive),
        ["livenessProbe unknown unknown"]
    );
    let checked = run(&["check"], &permissive);
    assert!(
        checked
            .stdout
            .contains("1 workload without a verdict: the manifests do not show"),
        "{}",
        checked.stdout
    );
    assert!(
        !checked.stdout.contains("another tool"),
        "{}",
        checked.stdout
    );
    let system = default.replace("namespace: shop", "namespace: kube-system");
    assert_eq!(outcomes(&[], &system), ["livenessProbe not-in-mesh known"]);
}

/// An option takes precedence over the tree, and the explanation shows what it overrides.
#[test]
fn the_explanation_shows_that_an_option_contradicts_the_tree() {
    let text = KUMA.to_owned() + &pod("", "", &container("web", HTTP));
    let options = [
        "predict",
        "--explain",
        "--mesh",
        "osm",
        "--assume",
        "injection=all",
    ];
    let shown = run(&options, &text).stdout;
    assert!(
        shown.contains("the Namespace enables Kuma; the option overrides it"),
        "{shown}"
    );
    let agreed = run(&["predict", "--explain", "--mesh", "kuma"], &text).stdout;
    assert!(!agreed.contains("the option overrides it"), "{agreed}");
}

/// A preview is only printed, with a warning not to apply it.
#[test]
fn a_preview_has_a_warning_and_is_not_written() {
    let scratch = tempfile::tempdir().unwrap();
    let text = OSM.to_owned() + &pod("", "", &container("web", HTTP));
    std::fs::write(scratch.path().join("web.yaml"), &text).unwrap();
    let run = |arguments: &[&str]| meshprobe(scratch.path(), arguments, "");
    let shown = run(&["rewrite", "--isolated", "--preview", "web.yaml"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("port: 15901"));
    assert!(
        shown.stderr.contains("Do not apply previews."),
        "{}",
        shown.stderr
    );
    let original = std::fs::read_to_string(scratch.path().join("web.yaml")).unwrap();
    assert_eq!(original, text);
    for other in [
        ["--preview", "--write"],
        ["--preview", "--undo"],
        ["--emit-envoy", "--preview"],
    ] {
        let mut all = vec!["rewrite", "--isolated"];
        all.extend(other);
        all.push("web.yaml");
        assert_eq!(run(&all).code, 2, "{other:?}");
    }
}

/// A value that another tool fills in is unknown, and there is no preview.
#[test]
fn annotations_that_another_tool_fills_in_are_unknown() {
    let cases = [
        (KUMA, "kuma.io/application-probe-proxy-port: \"${PORT}\""),
        (KUMA, "kuma.io/gateway: \"${GATEWAY}\""),
        (
            OSM,
            "openservicemesh.io/inbound-port-exclusion-list: \"${PORTS}\"",
        ),
        (
            "",
            "consul.hashicorp.com/connect-inject: \"true\", consul.hashicorp.com/transparent-proxy: \
             \"${REDIRECT}\"",
        ),
    ];
    for (namespace, annotation) in cases {
        let text = namespace.to_owned() + &pod("", annotation, &container("web", HTTP));
        assert_eq!(
            outcomes(&[], &text),
            ["livenessProbe unknown unknown"],
            "{text}"
        );
        let shown = run(&["rewrite", "--preview"], &text);
        assert_eq!((shown.code, &shown.stdout), (1, &text));
        let checked = run(&["check"], &text);
        assert!(
            checked
                .stdout
                .contains("a value that decides is a placeholder"),
            "{}",
            checked.stdout
        );
    }
}

/// Consul's chart decides about the injection of pods without an annotation. The option replaces its value,
/// regardless of the Namespaces in the tree.
#[test]
fn an_option_replaces_the_value_of_the_chart_of_consul() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n";
    let text = namespace.to_owned() + &pod("", "", &container("web", HTTP));
    let options = ["--mesh", "consul", "--assume", "injection=all"];
    assert_eq!(outcomes(&options, &text), ["livenessProbe ok assumed"]);
    let silent = ["--mesh", "consul"];
    assert_eq!(
        outcomes(&silent, &text),
        ["livenessProbe not-in-mesh default"]
    );
}

/// The overlay decides about the injection, so the base is refused, or shown as a preview.
#[test]
fn the_overlay_decides_about_the_injection_of_its_base() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let run = |arguments: &[&str]| {
        let mut all = vec!["rewrite", "--isolated"];
        all.extend(arguments);
        all.push(".");
        meshprobe(scratch.path(), &all, "")
    };
    let base = pod("", "", &container("web", HTTP)).replace("  namespace: shop\n", "");
    write("base/kustomization.yaml", "resources: [web.yaml]\n");
    write("base/web.yaml", &base);
    let overlay = "namespace: shop\nresources: [../base, namespace.yaml]\n";
    write("shop/kustomization.yaml", overlay);
    write("shop/namespace.yaml", OSM);
    let refused = run(&["--diff"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.contains("preview-only"),
        "{}",
        refused.stderr
    );
    let shown = run(&["--preview", "--diff"]);
    assert_eq!(shown.code, 1);
    assert!(
        shown.stdout.contains("+++ b/base/web.yaml"),
        "{}",
        shown.stdout
    );
    assert!(
        shown
            .stdout
            .contains("path: /osm-liveness-probe, port: 15901"),
        "{}",
        shown.stdout
    );
    // If another overlay includes the base in another mesh, or in none, no single file is correct for both.
    write(
        "other/kustomization.yaml",
        &overlay.replace("shop", "other"),
    );
    write("other/namespace.yaml", &KUMA.replace("shop", "other"));
    let divided = run(&["--preview", "--diff"]);
    assert_eq!((divided.code, divided.stdout.as_str()), (1, ""));
    assert!(
        divided.stderr.contains("kustomize-overlay"),
        "{}",
        divided.stderr
    );
}
