//! The settings of Kuma's webhook, by release: what it rewrites, and which pods it rejects.
//!
//! Sources: `pkg/plugins/runtime/k8s/probes/probe.go`, `probes/pod_probe_overrider.go`, `metadata/annotations.go` and
//! `containers/factory.go` of v2.13.0 and v2.14.3 and of the v3 development head (348b6528). The outcomes are those of
//! the injectors of v2.14.3 and 348b6528, run.

use super::{KUMA, isolated as run};
use crate::support::findings;
use crate::support::predictions::{handlers, texts};
use crate::support::project::Project;

const HTTP: &str = "livenessProbe: {httpGet: {path: /live, port: 8080}}";
const PORT_ZERO: &str = "kuma.io/application-probe-proxy-port: \"0\"";

/// Returns a pod with these annotations and this probe, in the namespace with injection.
fn pod(annotations: &str, probe: &str) -> String {
    format!(
        "{KUMA}apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations: \
         {{{annotations}}}\nspec:\n  containers:\n    - {{name: web, image: x, {probe}}}\n"
    )
}

fn with_release<'a>(command: &[&'a str], release: &'a str) -> Vec<&'a str> {
    [command, &["--mesh", "kuma", "--mesh-version", release]].concat()
}

/// Returns the rewritten port and path of each handler, or `-`.
fn rewritten(release: &str, text: &str) -> Vec<String> {
    let shown = run(
        &with_release(&["predict", "--output-format", "json"], release),
        text,
    );
    handlers(&shown)
        .iter()
        .map(|handler| match &handler["becomes"]["httpGet"] {
            serde_json::Value::Null => "-".to_owned(),
            http => format!("{}{}", http["port"], http["path"].as_str().unwrap()),
        })
        .collect()
}

/// Returns the ids of the reported rules.
fn found(release: &str, text: &str) -> Vec<String> {
    let checked = run(
        &with_release(&["check", "--output-format", "json"], release),
        text,
    );
    findings(&checked)
        .iter()
        .map(|finding| texts(finding, &["/rule"]))
        .collect()
}

/// Since 2.13, the proxy port 0 turns virtual probes on, also if their annotation switches them off; before, that
/// annotation decides, and in 3 there are none (`SetVirtualProbesEnabledAnnotation`).
#[test]
fn port_zero_turns_virtual_probes_on_since_2_13() {
    let off = format!("{PORT_ZERO}, kuma.io/virtual-probes: disabled");
    for (annotations, release, expected) in [
        (PORT_ZERO, "2.12", "9000/8080/live"),
        (PORT_ZERO, "2.13", "9000/8080/live"),
        (PORT_ZERO, "2.14", "9000/8080/live"),
        (PORT_ZERO, "3.0", "-"),
        (&off, "2.12", "-"),
        (&off, "2.13", "9000/8080/live"),
        (&off, "2.14", "9000/8080/live"),
    ] {
        let text = pod(annotations, HTTP);
        assert_eq!(rewritten(release, &text), [expected], "{release} {text}");
    }
}

/// No annotation of 2.13 and 2.14 keeps rewritten probes, so the preview contains none, and states that the webhook
/// rejects its output.
#[test]
fn a_preview_for_2_14_contains_no_annotations() {
    for release in ["2.13", "2.14"] {
        let preview = with_release(&["rewrite", "--preview"], release);
        let shown = run(&preview, &pod("", HTTP));
        assert!(shown.stdout.contains("port: 9001"), "{}", shown.stdout);
        assert!(!shown.stdout.contains("proxy-port"), "{}", shown.stdout);
        assert!(
            shown.stderr.contains("rejects that form"),
            "{}",
            shown.stderr
        );
        assert_eq!(found(release, &shown.stdout), ["kuma-reserved-port"]);
        let again = run(&preview, &shown.stdout);
        assert!(
            again.stderr.contains("admission-refused"),
            "{}",
            again.stderr
        );
    }
}

/// Until 2.14, the annotation `kuma.io/gateway` switches the probe proxy off, whatever its value; in 3 the webhook
/// rewrites the probes of a pod that is not a gateway (`SetApplicationProbeProxyPortAnnotation`).
#[test]
fn the_gateway_annotation_switches_the_probe_proxy_off_until_2_14() {
    let off = "kuma.io/gateway: disabled";
    for (release, expected) in [
        ("2.12", "9000/8080/live"),
        ("2.13", "-"),
        ("2.14", "-"),
        ("3.0", "9001/8080/live"),
    ] {
        assert_eq!(rewritten(release, &pod(off, HTTP)), [expected], "{release}");
    }
    assert_eq!(
        found("3.0", &pod(off, HTTP)),
        ["kuma-gateway-annotation-false"]
    );
    let both_off = pod("kuma.io/virtual-probes: disabled", HTTP);
    assert_eq!(rewritten("2.12", &both_off), ["-"]);
    assert_eq!(rewritten("2.14", &both_off), ["9001/8080/live"]);
}

/// The traffic of a gateway is not captured, so its probes reach the application.
#[test]
fn probes_of_a_gateway_are_not_captured() {
    for release in ["2.8", "2.12", "2.14", "3.0"] {
        let text = pod(
            "kuma.io/gateway: enabled",
            "livenessProbe: {tcpSocket: {port: 8080}}",
        );
        assert_eq!(rewritten(release, &text), ["-"], "{release}");
        assert_eq!(
            found(release, &text),
            ["kuma-probe-port-unprotected"],
            "{release}"
        );
    }
}

/// Returns a pod with a native sidecar that has this probe.
fn with_native_sidecar(annotations: &str, probe: &str) -> String {
    pod(annotations, "").replace(
        "spec:\n",
        &format!(
            "spec:\n  initContainers:\n    - {{name: logs, image: x, restartPolicy: Always, {probe}}}\n"
        ),
    )
}

/// Kuma's sidecar is a native one by default since 2.14.0 (`experimental.sidecarContainers`), so the webhook rewrites
/// the probes of native sidecars.
#[test]
fn probes_of_native_sidecars_are_rewritten_since_2_14() {
    let text = with_native_sidecar("", HTTP);
    for (release, expected) in [
        ("2.13", "-"),
        ("2.14", "9001/8080/live"),
        ("3.0", "9001/8080/live"),
    ] {
        assert_eq!(rewritten(release, &text), [expected], "{release}");
    }
    assert_eq!(found("2.13", &text), ["kuma-native-sidecar-order"]);
    assert_eq!(found("2.14", &text), [""; 0]);
    let classic = [
        "check",
        "--mesh",
        "kuma",
        "--assume",
        "native-sidecars=false",
    ];
    let checked = run(&classic, &text);
    assert!(
        checked.stdout.contains("kuma-native-sidecar-order"),
        "{}",
        checked.stdout
    );
}

/// The webhook rejects a pod if it cannot parse one of its annotations (`GetMap`, `GetEnabled`, `GetUint32`,
/// `Ports.append`), or if the values contradict each other.
#[test]
fn pods_with_invalid_annotations_are_rejected() {
    let env = "kuma.io/sidecar-env-vars";
    let port = "kuma.io/application-probe-proxy-port";
    let excluded = "traffic.kuma.io/exclude-inbound-ports";
    let gateway_off = "kuma.io/gateway: disabled, kuma.io/application-probe-proxy-port: \"9001\"";
    let virtual_gateway = "kuma.io/gateway: enabled, kuma.io/virtual-probes: enabled";
    for (annotations, releases) in [
        (format!("{env}: \"\""), "2.8 2.14 3.0"),
        (format!("{env}: A"), "2.8 2.14 3.0"),
        (format!("{env}: A=1;"), "2.8 2.14 3.0"),
        (format!("{env}: A=1=2"), "2.8 2.14 3.0"),
        (format!("{env}: A=1;B="), ""),
        ("kuma.io/gateway: provided".to_owned(), "2.8 2.14 3.0"),
        ("kuma.io/gateway: \"\"".to_owned(), "2.8 2.14 3.0"),
        (gateway_off.to_owned(), "2.14 3.0"),
        (format!("{port}: \"+9001\""), "2.14 3.0"),
        (format!("{port}: \"09002\""), ""),
        (format!("{port}: \"70000\""), "2.14 3.0"),
        ("kuma.io/virtual-probes: \"on\"".to_owned(), "2.8 2.14"),
        ("kuma.io/virtual-probes-port: http".to_owned(), "2.8 2.14"),
        (virtual_gateway.to_owned(), "2.8 2.14"),
        (format!("{excluded}: \"0\""), "3.0"),
        (format!("{excluded}: 8000-9000"), "3.0"),
        (format!("{excluded}: \" 80,, 81 \""), ""),
        (format!("kuma.io/gateway: enabled, {excluded}: \"0\""), ""),
    ] {
        let text = pod(&annotations, HTTP);
        for release in ["2.8", "2.14", "3.0"] {
            let is_rejected = found(release, &text).contains(&"mesh-value-refused".to_owned());
            let expected = releases.split(' ').any(|listed| listed == release);
            assert_eq!(is_rejected, expected, "{release} {annotations}");
        }
    }
}

/// The webhook of 2.14 reads a port above 65535, but the API server rejects the probes that it writes.
#[test]
fn the_message_for_a_port_above_65535_does_not_name_the_webhook() {
    let text = pod("kuma.io/application-probe-proxy-port: \"70000\"", HTTP);
    let checked = |release| run(&with_release(&["check"], release), &text).stdout;
    assert!(checked("2.14").contains("although the webhook accepts it"));
    assert!(checked("3.0").contains("the webhook rejects the pod"));
}

/// A probe of a native sidecar that targets the port of the probe proxy rejects the pod if Kuma's sidecar is a native
/// one, and a probe of port 9000 if virtual probes are on.
#[test]
fn probes_of_reserved_ports_reject_the_pod() {
    let sidecar = with_native_sidecar("", "livenessProbe: {tcpSocket: {port: 9001}}");
    assert_eq!(found("3.0", &sidecar), ["kuma-reserved-port"]);
    assert_eq!(found("2.13", &sidecar), ["kuma-native-sidecar-order"]);
    let own = pod(PORT_ZERO, "livenessProbe: {httpGet: {port: 9000}}");
    assert_eq!(found("2.14", &own), ["kuma-reserved-port"]);
    let tcp = pod(PORT_ZERO, "livenessProbe: {tcpSocket: {port: 9000}}");
    assert!(!found("2.14", &tcp).contains(&"kuma-reserved-port".to_owned()));
}

/// Without the probe proxy, the webhook of 3 excludes the ports of probes of main containers from traffic capture, but
/// not those of native sidecars (`RealProbePorts`).
#[test]
fn ports_of_native_sidecars_are_not_excluded() {
    let tcp = "livenessProbe: {tcpSocket: {port: 7000}}";
    assert_eq!(
        found("3.0", &pod(PORT_ZERO, tcp)),
        ["kuma-probe-port-unprotected"]
    );
    assert_eq!(
        found("3.0", &with_native_sidecar(PORT_ZERO, tcp)),
        ["kuma-tcp-grpc-needs-2-9"]
    );
}

/// The probe proxy of a gateway is off, so its port may belong to the application. The path of a rewritten probe
/// shows that the proxy is the target.
#[test]
fn a_port_of_a_gateway_is_not_the_probe_proxy() {
    let outcome = |path: &str| {
        let pod = format!(
            "{KUMA}apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, annotations: {{kuma.io/gateway: enabled}}}}\n\
             spec:\n  containers:\n    - name: web\n      image: registry.example/web:1\n      \
             readinessProbe: {{httpGet: {{path: {path}, port: 9001}}}}\n"
        );
        let check = run(&["check", "--output-format=concise"], &pod).stdout;
        let is_reserved = check.contains("probe-on-reserved-port");
        let predicted = run(&["predict", "--output-format=json"], &pod).exits(0);
        let report: serde_json::Value = serde_json::from_str(&predicted.stdout).unwrap();
        let outcome = &report["workloads"][0]["handlers"][0]["outcome"];
        (outcome.as_str().unwrap().to_owned(), is_reserved)
    };
    for path in ["/ready", "/", "/v1/8080"] {
        assert_eq!(outcome(path), ("ok".to_owned(), false), "{path}");
    }
    for path in ["/8080/ready", "/tcp/8080", "/grpc/8080"] {
        assert_eq!(outcome(path), ("fails".to_owned(), false), "{path}");
    }
}

/// Returns the dataplane and the certainty of the pod `web` in the namespace `shop`, whose metadata are given.
fn member(release: &[&str], of_namespace: &str, of_pod: &str, other: &str) -> String {
    let text = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, {of_namespace}}}\n---\napiVersion: v1\nkind: Pod\n\
         metadata: {{name: web, namespace: shop, {of_pod}}}\nspec:\n  containers:\n    - {{name: web, image: x, {HTTP}}}\n\
         ---\n{other}"
    );
    let command = ["predict", "--output-format", "json"];
    let shown = run(&[&command, release].concat(), &text);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let workloads = shown["workloads"].as_array().unwrap();
    let web = workloads
        .iter()
        .find(|workload| workload["object"]["name"] == "web");
    texts(&web.unwrap()["dataplane"], &["/value", "/certainty"])
}

const LABEL: &str = "labels: {kuma.io/sidecar-injection: enabled}";
const ANNOTATION: &str = "annotations: {kuma.io/sidecar-injection: enabled}";
const OFF: &str = "annotations: {kuma.io/sidecar-injection: disabled}";

/// Up to 1.4.0, Kuma reads the annotation; up to 2.1, the label and the annotation; then the label only. The pod comes
/// first.
#[test]
fn the_annotation_counts_before_2_2_and_the_label_since_1_4_1() {
    let member = |release: &str, of_namespace: &str, of_pod: &str| {
        let release = ["--mesh", "kuma", "--mesh-version", release];
        member(&release, of_namespace, of_pod, "")
    };
    for (release, of_namespace, of_pod, expected) in [
        ("1.3", ANNOTATION, "", "sidecar known"),
        ("1.3", LABEL, "", "none known"),
        ("1.4.0", LABEL, "", "none known"),
        ("1.4.1", LABEL, "", "sidecar known"),
        ("1.8", ANNOTATION, "", "sidecar known"),
        ("1.8", LABEL, "", "sidecar known"),
        ("1.8", LABEL, OFF, "none known"),
        ("1.8", OFF, LABEL, "sidecar known"),
        ("2.1.7", ANNOTATION, "", "sidecar known"),
        ("2.2", ANNOTATION, "", "none known"),
        ("2.2", LABEL, OFF, "sidecar known"),
    ] {
        assert_eq!(
            member(release, of_namespace, of_pod),
            expected,
            "{release} {of_namespace} {of_pod}"
        );
    }
}

/// The release is that of the control plane in the tree.
#[test]
fn the_release_of_an_installation_in_the_tree_applies() {
    let image = |image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: kuma-control-plane, namespace: kuma-system}}\nspec:\n  \
             template:\n    spec: {{containers: [{{name: control-plane, image: '{image}'}}]}}\n"
        )
    };
    let release = |version: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: kuma, namespace: kuma-system}}\n\
             spec: {{chart: {{spec: {{chart: kuma, version: '{version}'}}}}}}\n"
        )
    };
    for (installation, expected) in [
        (image("docker.io/kumahq/kuma-cp:1.8.1"), "sidecar known"),
        (image("kumahq/kuma-cp:2.1.0@sha256:00"), "sidecar known"),
        (image("registry.example:5000/kuma-cp:2.2.0"), "none known"),
        (image("kong/kuma-cp:1.8.1"), "none default"),
        (image("kumahq/kuma-cp"), "none default"),
        (image("kumahq/kuma-cp:0.0.0-preview.v1"), "none default"),
        (image("kumahq/kuma-dp:1.8.1"), "none default"),
        (release("0.8.1"), "sidecar known"),
        (release("2.1.0"), "sidecar known"),
        (release("2.9.0"), "none known"),
        (release("2.x"), "none default"),
        (release(">=1.8.0 <2.0.0"), "sidecar known"),
        (release(">=1.8.0, <2.0.0"), "sidecar known"),
        (release("^1.8.0"), "sidecar known"),
        (release("~2.1.0"), "sidecar known"),
        (release(">=1.8.0"), "none default"),
        (release(">=1.8.0 <3.0.0"), "none default"),
        (
            format!(
                "{}---\n{}",
                image("kumahq/kuma-cp:1.8.1"),
                image("kumahq/kuma-cp:2.9.0")
            ),
            "none default",
        ),
        (String::new(), "none default"),
    ] {
        let found = member(&[], ANNOTATION, "", &installation);
        assert_eq!(found, expected, "{installation}");
    }
    let option = ["--mesh", "kuma", "--mesh-version", "2.9"];
    let installed = image("kumahq/kuma-cp:1.8.1");
    assert_eq!(member(&option, ANNOTATION, "", &installed), "none known");
}

/// A chart states the release of the control plane wherever it is named: in a dependency, a kustomization, or a reference.
#[test]
fn the_release_of_a_chart_applies_wherever_it_is_named() {
    let workload = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, {ANNOTATION}}}\n---\napiVersion: v1\nkind: Pod\n\
         metadata: {{name: web, namespace: shop}}\nspec:\n  containers:\n    - {{name: web, image: x, {HTTP}}}\n"
    );
    let umbrella = "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies:\n- {name: kuma, version: 1.8.1, \
                    repository: 'https://kumahq.github.io/charts'}\n";
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\n\
                       spec:\n  destination: {namespace: kuma-system}\n  source: {repoURL: 'https://git.example/a', path: \
                       charts/platform}\n";
    let reference = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: kuma, namespace: \
                     kuma-system}\nspec: {url: 'oci://registry.example/charts/kuma', ref: {tag: 1.8.1}}\n---\napiVersion: \
                     helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: kuma, namespace: kuma-system}\nspec: \
                     {chartRef: {kind: OCIRepository, name: kuma}}\n";
    let own = "apiVersion: v2\nname: kuma\nversion: 1.8.1\n";
    let listed =
        "helmCharts:\n- {name: kuma, version: 1.8.1, repo: 'https://kumahq.github.io/charts'}\n";
    let k3s = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: kuma, namespace: kube-system}\nspec: {chart: \
               kuma, repo: 'https://kumahq.github.io/charts', version: 1.8.1}\n";
    for files in [
        &[("charts/platform/Chart.yaml", umbrella)][..],
        &[
            ("charts/platform/Chart.yaml", umbrella),
            ("apps/mesh.yaml", application),
        ],
        &[("charts/kuma/Chart.yaml", own)],
        &[("mesh/kustomization.yaml", listed)],
        &[("mesh/flux.yaml", reference)],
        &[("mesh/k3s.yaml", k3s)],
    ] {
        let project = Project::with(files);
        project.write("shop/web.yaml", &workload);
        let shown = project
            .run(&["predict", "--output-format", "json"])
            .exits(0);
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        let web = &shown["workloads"][0];
        let found = texts(&web["dataplane"], &["/value", "/certainty"]);
        assert_eq!(found, "sidecar known", "{files:?}");
    }
}
