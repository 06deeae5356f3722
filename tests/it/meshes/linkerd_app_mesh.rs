//! Linkerd and App Mesh, which do not change probes: the effect of each fact on the prediction.

use crate::support::manifest::{Manifest, Pod, join};
use crate::support::meshprobe;
use serde_json::Value;

const HTTP: &str = "readinessProbe: {httpGet: {path: /healthz, port: 8080}}";

/// Returns a pod of the namespace `demo` with these annotations and this container field.
fn pod(annotations: &str, spec: &str, handler: &str) -> String {
    let pod = Pod::new("web").within("demo").labels("app: web");
    pod.annotations(annotations)
        .pod_field(spec)
        .field("image: web:1")
        .field(handler)
        .to_string()
}

/// Returns dataplane, outcome and certainty of the only handler.
fn judged(manifests: &[&str], options: &[&str]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("web.yaml"), join(manifests)).unwrap();
    let mut arguments = vec!["predict", "--isolated", "--output-format", "json"];
    arguments.extend(options);
    arguments.push("web.yaml");
    let run = meshprobe(scratch.path(), &arguments, "");
    let report: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
    let text = |at: &str| report.pointer(at).and_then(Value::as_str).unwrap_or("-");
    format!(
        "{} {} {}",
        text("/workloads/0/dataplane/value"),
        text("/workloads/0/handlers/0/outcome"),
        text("/workloads/0/handlers/0/certainty"),
    )
}

fn namespace(annotations: &str) -> String {
    let namespace = Manifest::namespace("demo").annotations(annotations);
    namespace.to_string()
}

#[test]
fn linkerd_injects_by_pod_and_namespace() {
    let cases = [
        // Namespace, pod, spec, dataplane.
        ("linkerd.io/inject: enabled", "", "", "sidecar"),
        ("linkerd.io/inject: ingress", "", "", "sidecar"),
        (
            "linkerd.io/inject: enabled",
            "linkerd.io/inject: disabled",
            "",
            "none",
        ),
        (
            "linkerd.io/inject: disabled",
            "linkerd.io/inject: enabled",
            "",
            "sidecar",
        ),
        // An unknown value switches the injection off.
        (
            "linkerd.io/inject: \"true\"",
            "linkerd.io/inject: enabled",
            "",
            "none",
        ),
        (
            "linkerd.io/inject: enabled",
            "linkerd.io/inject: \"on\"",
            "",
            "none",
        ),
        (
            "linkerd.io/inject: enabled",
            "",
            "hostNetwork: true",
            "none",
        ),
        (
            "linkerd.io/inject: enabled",
            "",
            "automountServiceAccountToken: false",
            "sidecar",
        ),
        ("linkerd.io/inject: ${INJECT}", "", "", "unknown"),
        ("", "", "", "none"),
    ];
    for (outer, own, spec, wanted) in cases {
        let found = judged(
            &[&namespace(outer), &pod(own, spec, HTTP)],
            &["--mesh", "linkerd"],
        );
        let dataplane = found.split(' ').next().unwrap();
        assert_eq!(dataplane, wanted, "{outer} | {own} | {spec}");
    }
    let alone = pod("", "", HTTP);
    let linkerd = ["--mesh", "linkerd"];
    assert_eq!(judged(&[&alone], &linkerd), "unknown unknown unknown");
    let assumed = [&linkerd[..], &["--assume", "injection=all"]].concat();
    assert_eq!(judged(&[&alone], &assumed), "sidecar ok assumed");
}

/// Since 2.12 the proxy has a token of its own, unless a value of the chart switches that off.
#[test]
fn linkerd_injects_pods_without_a_token_since_2_12() {
    let on = namespace("linkerd.io/inject: enabled");
    let web = pod("", "automountServiceAccountToken: false", HTTP);
    let judged = |release: &str| {
        let options = ["--mesh", "linkerd", "--mesh-version", release];
        judged(&[&on, &web], &options)
    };
    assert_eq!(judged("2.11"), "none not-in-mesh known");
    assert_eq!(judged("2.12"), "sidecar ok default");
    assert_eq!(judged("2.20"), "sidecar ok default");
}

/// The webhook leaves pods with a sidecar alone, also those of Istio. `pkg/healthcheck/sidecar.go` lists the names and
/// images.
#[test]
fn linkerd_does_not_inject_pods_with_a_sidecar() {
    let on = namespace("linkerd.io/inject: enabled");
    let with = |list: &str, name: &str, image: &str| {
        let web = Pod::new("web").within("demo").field("image: web:1");
        let web = web.field(HTTP);
        let web = match list {
            "init" => web.init_container(name),
            _ => web.container(name),
        };
        web.field(&format!("image: {image}")).to_string()
    };
    let cases = [
        // List, name, image, dataplane before 2.16, dataplane since.
        ("main", "istio-proxy", "x", "none", "none"),
        ("init", "istio-proxy", "x", "sidecar", "none"),
        ("init", "istio-init", "x", "none", "none"),
        ("init", "linkerd-init", "x", "none", "none"),
        (
            "main",
            "a",
            "gcr.io/istio-release/proxyv2:1.29",
            "none",
            "none",
        ),
        (
            "init",
            "a",
            "gcr.io/istio-release/proxy_init:1",
            "none",
            "none",
        ),
        (
            "init",
            "a",
            "cr.l5d.io/linkerd/proxy-init:v2",
            "none",
            "none",
        ),
        ("main", "a", "cr.l5d.io/linkerd/proxy:v1", "none", "none"),
        ("init", "a", "cr.l5d.io/linkerd/proxy:v1", "sidecar", "none"),
        // The proxy of Linkerd itself: the pod is a member.
        ("main", "linkerd-proxy", "x", "sidecar", "sidecar"),
        ("init", "linkerd-proxy", "x", "sidecar", "sidecar"),
        // Not in the list.
        ("main", "istio-init", "x", "sidecar", "sidecar"),
        ("main", "linkerd-init", "x", "sidecar", "sidecar"),
        (
            "main",
            "a",
            "docker.io/istio/proxyv2:1.29",
            "sidecar",
            "sidecar",
        ),
        (
            "main",
            "a",
            "cr.l5d.io/linkerd/proxy-init:v2",
            "sidecar",
            "sidecar",
        ),
    ];
    for (list, name, image, before, since) in cases {
        for (release, wanted) in [("2.15", before), ("2.16", since)] {
            let options = ["--mesh", "linkerd", "--mesh-version", release];
            let found = judged(&[&on, &with(list, name, image)], &options);
            let dataplane = found.split(' ').next().unwrap();
            assert_eq!(dataplane, wanted, "{list} {name} {image} {release}");
        }
    }
}

const SERVER: &str = "\
apiVersion: policy.linkerd.io/v1beta3
kind: Server
metadata: {name: web, namespace: demo, labels: {of: web}}
spec: {podSelector: {matchLabels: {app: web}}, port: 8080, proxyProtocol: HTTP/1}
";

fn route(path: &str) -> String {
    let spec = format!(
        "  parentRefs: [{{name: web, kind: Server, group: policy.linkerd.io}}]
  rules: [{{matches: [{{path: {path}}}]}}]"
    );
    Manifest::new("policy.linkerd.io/v1beta3", "HTTPRoute", "some")
        .within("demo")
        .spec(&spec)
        .to_string()
}

fn authorization(target: &str, required: &str) -> String {
    let spec = format!("  targetRef: {target}\n  requiredAuthenticationRefs: [{required}]");
    Manifest::new("policy.linkerd.io/v1alpha1", "AuthorizationPolicy", "some")
        .within("demo")
        .spec(&spec)
        .to_string()
}

#[test]
fn the_routes_and_policies_of_a_linkerd_server_decide() {
    let web = pod("linkerd.io/inject: enabled", "", HTTP);
    let api = route("{type: PathPrefix, value: /api}");
    let exact = route("{type: Exact, value: /healthz}");
    let prefix = route("{type: PathPrefix, value: /health}");
    let all = route("{type: PathPrefix, value: /}");
    let of_route = "{kind: HTTPRoute, name: some, group: policy.linkerd.io}";
    let of_server = "{kind: Server, name: web, group: policy.linkerd.io}";
    let networks = "{kind: NetworkAuthentication, name: all, group: policy.linkerd.io}";
    let certificate = "{kind: MeshTLSAuthentication, name: all, group: policy.linkerd.io}";
    let open = SERVER.replace("port:", "accessPolicy: all-unauthenticated, port:");
    let other = SERVER.replace("port: 8080", "port: 9090");
    let for_route = authorization(of_route, networks);
    let for_server = authorization(of_server, networks);
    let for_certificates = authorization(of_route, certificate);
    let cases: [(&[&str], &str); 11] = [
        // A Server without routes: the probe has its own default route.
        (&[SERVER], "ok"),
        (&[SERVER, &api], "fails"),
        (&[SERVER, &exact], "fails"),
        (&[SERVER, &exact, &for_route], "ok"),
        (&[SERVER, &exact, &for_certificates], "fails"),
        (&[SERVER, &exact, &for_server], "ok"),
        // The prefix is not a complete segment of the path.
        (&[SERVER, &prefix, &for_route], "fails"),
        (&[SERVER, &all, &for_route], "ok"),
        (&[&open, &exact], "ok"),
        (&[&open, &api], "fails"),
        // The Server selects another port.
        (&[&other, &api], "ok"),
    ];
    for (objects, wanted) in cases {
        let found = judged(&[objects, &[web.as_str()]].concat(), &[]);
        let outcome = found.split(' ').nth(1).unwrap();
        assert_eq!(outcome, wanted, "{objects:?}");
    }
}

#[test]
fn the_default_policy_of_linkerd_has_exceptions() {
    let closed = "linkerd.io/inject: enabled, config.linkerd.io/default-inbound-policy: deny";
    let https = "readinessProbe: {httpGet: {path: /, port: 8080, scheme: HTTPS}}";
    let grpc = "readinessProbe: {grpc: {port: 8080}}";
    let bare = "readinessProbe: {httpGet: {path: healthz, port: 8080}}";
    let startup = "startupProbe: {httpGet: {path: /, port: 8080}}";
    let hook = "lifecycle: {preStop: {httpGet: {path: /, port: 8080}}}";
    let tcp = "livenessProbe: {tcpSocket: {port: 8080}}";
    let skipped = format!("{closed}, config.linkerd.io/skip-inbound-ports: \"22,8000-8100\"");
    let opaque = format!("{closed}, config.linkerd.io/opaque-ports: \"8080\"");
    let nodes = "linkerd.io/inject: enabled, \
                 config.linkerd.io/default-inbound-policy: cluster-unauthenticated";
    let open = "linkerd.io/inject: enabled";
    let cases = [
        (open, HTTP, "ok default"),
        (open, https, "ok default"),
        (open, bare, "ok default"),
        (open, tcp, "always-passes known"),
        (nodes, grpc, "ok assumed"),
        (closed, HTTP, "ok default"),
        (closed, https, "fails known"),
        (closed, grpc, "fails known"),
        (closed, bare, "fails known"),
        (closed, startup, "fails assumed"),
        (closed, hook, "fails known"),
        (&opaque, HTTP, "fails known"),
        (&skipped, grpc, "ok known"),
        (&skipped, tcp, "ok known"),
    ];
    for (annotations, handler, wanted) in cases {
        let found = judged(&[&pod(annotations, "", handler)], &[]);
        let (_, verdict) = found.split_once(' ').unwrap();
        assert_eq!(verdict, wanted, "{annotations} | {handler}");
    }
    // The annotation of the Namespace applies to its pods, and that of a pod takes precedence.
    let outer = namespace(closed);
    let own = "config.linkerd.io/default-inbound-policy: all-unauthenticated";
    assert_eq!(
        judged(&[&outer, &pod("", "", grpc)], &[]),
        "sidecar fails known"
    );
    assert_eq!(
        judged(&[&outer, &pod(own, "", grpc)], &[]),
        "sidecar ok known"
    );
    // Before 2.12 there were no routes for probes.
    let old = ["--mesh", "linkerd", "--mesh-version", "2.11"];
    assert_eq!(
        judged(&[&pod(closed, "", HTTP)], &old),
        "sidecar fails known"
    );
}

fn node(mode: &str) -> String {
    let spec = format!(
        "  podSelector: {{matchLabels: {{app: web}}}}
  listeners: [{{portMapping: {{port: 8080, protocol: http}}, tls: {{mode: {mode}}}}}]"
    );
    Manifest::new("appmesh.k8s.aws/v1beta2", "VirtualNode", "web")
        .within("demo")
        .spec(&spec)
        .to_string()
}

#[test]
fn app_mesh_captures_the_ports_of_the_node_or_of_the_annotation() {
    let labelled = Manifest::namespace("demo");
    let labelled = labelled.labels("appmesh.k8s.aws/sidecarInjectorWebhook: enabled");
    let labelled = labelled.to_string();
    let bare = namespace("");
    let off = "appmesh.k8s.aws/sidecarInjectorWebhook: disabled";
    let listed = "appmesh.k8s.aws/ports: \"9090\"";
    let side = "readinessProbe: {httpGet: {path: /, port: 8081}}";
    let cases: [(Option<&str>, &str, &str, &str, &str); 8] = [
        (Some(&labelled), "STRICT", "", HTTP, "sidecar fails known"),
        (Some(&labelled), "PERMISSIVE", "", HTTP, "sidecar ok known"),
        (Some(&labelled), "STRICT", "", side, "sidecar ok known"),
        (Some(&labelled), "STRICT", listed, HTTP, "sidecar ok known"),
        (
            Some(&labelled),
            "STRICT",
            off,
            HTTP,
            "none not-in-mesh known",
        ),
        (Some(&bare), "STRICT", "", HTTP, "none not-in-mesh known"),
        // Without a Namespace in the tree, the node is the only evidence.
        (None, "STRICT", "", HTTP, "sidecar fails assumed"),
        (None, "STRICT", off, HTTP, "none not-in-mesh known"),
    ];
    for (outer, mode, annotations, handler, wanted) in cases {
        let (node, web) = (node(mode), pod(annotations, "", handler));
        let mut manifests: Vec<&str> = outer.into_iter().collect();
        manifests.extend([node.as_str(), web.as_str()]);
        let found = judged(&manifests, &[]);
        assert_eq!(found, wanted, "{outer:?} {mode} {annotations} {handler}");
    }
}

#[test]
fn the_ztunnel_of_cilium_makes_verdicts_assumptions() {
    let pod = pod("", "", "readinessProbe: {httpGet: {path: /, port: 80}}");
    for (value, expected) in [
        ("true", "none not-in-mesh assumed"),
        ("false", "none not-in-mesh default"),
    ] {
        let labels = format!("io.cilium/mtls-enabled: '{value}'");
        let namespace = Manifest::namespace("demo").labels(&labels).to_string();
        assert_eq!(judged(&[&namespace, &pod], &["--mesh", "cilium"]), expected);
    }
}
