//! Linkerd: the clients that the policies of a port allow, and the certainty of the prediction.

use std::path::Path;

use crate::support::manifest::Manifest;
use crate::support::meshprobe;
use serde_json::Value;

/// An HTTP, a gRPC and an HTTPS probe, and a hook, on one port.
const POD: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: demo
  labels: {app: web}
  annotations: {linkerd.io/inject: enabled}
spec:
  containers:
    - name: web
      image: registry.example/web:1
      ports: [{containerPort: 8080}]
      livenessProbe: {grpc: {port: 8080}}
      readinessProbe: {httpGet: {path: /healthz, port: 8080}}
      startupProbe: {httpGet: {path: /healthz, port: 8080, scheme: HTTPS}}
      lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}
"#;

const SERVER: &str = "---
apiVersion: policy.linkerd.io/v1beta3
kind: Server
metadata: {name: web, namespace: demo}
spec: {podSelector: {matchLabels: {app: web}}, port: 8080}
";

fn server(more: &str) -> String {
    SERVER.replace("port: 8080}", &format!("port: 8080, {more}}}"))
}

/// Returns a document that follows another one.
fn document(api_version: &str, kind: &'static str, name: &str, spec: &str) -> String {
    let manifest = Manifest::new(api_version, kind, name).within("demo");
    format!("---\n{}", manifest.spec(spec))
}

fn policy(kind: &str, name: &str, required: &str) -> String {
    let spec = format!(
        "  targetRef: {{group: policy.linkerd.io, kind: {kind}, name: {name}}}
  requiredAuthenticationRefs: {required}"
    );
    let name = format!("{name}-p");
    document(
        "policy.linkerd.io/v1alpha1",
        "AuthorizationPolicy",
        &name,
        &spec,
    )
}

fn network(cidr: &str) -> String {
    let spec = format!("{{networks: [{cidr}]}}");
    document(
        "policy.linkerd.io/v1alpha1",
        "NetworkAuthentication",
        "nodes",
        &spec,
    )
}

fn client(fields: &str) -> String {
    let spec = format!("{{server: {{name: web}}, client: {{{fields}}}}}");
    document(
        "policy.linkerd.io/v1beta1",
        "ServerAuthorization",
        "s",
        &spec,
    )
}

fn route(kind: &'static str, name: &str, path: &str) -> String {
    let spec = format!(
        "  parentRefs: [{{group: policy.linkerd.io, kind: Server, name: web}}]
  rules: [{{matches: [{path}]}}]"
    );
    document("gateway.networking.k8s.io/v1", kind, name, &spec)
}

const NODES: &str = "[{group: policy.linkerd.io, kind: NetworkAuthentication, name: nodes}]";

/// Returns outcome and certainty of the gRPC, HTTP and HTTPS probes and of the hook.
fn judged(text: &str, options: &[&str]) -> [String; 4] {
    let arguments = [
        &["predict", "--isolated", "--output-format", "json"],
        options,
        &["-"],
    ]
    .concat();
    let run = meshprobe(Path::new("/"), &arguments, text);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let handlers = json.pointer("/workloads/0/handlers").unwrap();
    let verdict = |handler: &Value| {
        let text = |key: &str| handler.get(key).unwrap().as_str().unwrap().to_owned();
        format!("{} {}", text("outcome"), text("certainty"))
    };
    let all: Vec<String> = handlers.as_array().unwrap().iter().map(verdict).collect();
    all.try_into().unwrap()
}

fn assert_judged(title: &str, objects: &[String], expected: [&str; 4]) {
    let text = format!("{POD}{}", objects.concat());
    assert_eq!(judged(&text, &[]), expected, "{title}");
}

const DENIED: [&str; 4] = ["fails known", "ok default", "fails known", "fails known"];
const ASSUMED: [&str; 4] = ["ok assumed", "ok default", "ok assumed", "ok assumed"];
const OPEN: [&str; 4] = ["ok known", "ok known", "ok known", "ok known"];

#[test]
fn a_server_allows_the_clients_of_its_policies() {
    let server = || SERVER.to_owned();
    assert_judged("no authorization", &[server()], DENIED);
    let required = policy("Server", "web", NODES);
    let some = network("{cidr: 10.0.0.0/8}");
    assert_judged(
        "some networks",
        &[server(), required.clone(), some],
        ASSUMED,
    );
    assert_judged("networks elsewhere", &[server(), required.clone()], ASSUMED);
    let all = network("{cidr: 0.0.0.0/0}");
    assert_judged(
        "all networks",
        &[server(), required.clone(), all.clone()],
        OPEN,
    );
    let except = network("{cidr: 0.0.0.0/0, except: [10.0.0.0/8]}");
    assert_judged("all but some", &[server(), required, except], ASSUMED);
    let nothing = policy("Server", "web", "[]");
    assert_judged("a policy without requirements", &[server(), nothing], OPEN);
    let whole = policy("Namespace", "demo", NODES);
    assert_judged("for the namespace", &[server(), whole, all.clone()], OPEN);
    let other = policy("Server", "api", NODES);
    assert_judged("for another", &[server(), other, all.clone()], DENIED);
    let two =
        "[{kind: NetworkAuthentication, name: nodes}, {kind: NetworkAuthentication, name: b}]";
    let two = policy("Server", "web", two);
    assert_judged(
        "two networks have no effect",
        &[server(), two, all.clone()],
        DENIED,
    );
    let both =
        "[{kind: NetworkAuthentication, name: nodes}, {kind: MeshTLSAuthentication, name: b}]";
    let both = policy("Server", "web", both);
    assert_judged("and a certificate", &[server(), both, all], DENIED);
}

#[test]
fn a_server_authorization_allows_its_clients() {
    let server = || SERVER.to_owned();
    assert_judged(
        "all clients",
        &[server(), client("unauthenticated: true")],
        OPEN,
    );
    let some = client("unauthenticated: true, networks: [{cidr: 10.0.0.0/8}]");
    assert_judged("some networks", &[server(), some], ASSUMED);
    let tls = client("meshTLS: {identities: [\"*\"]}");
    assert_judged("the mesh", &[server(), tls], DENIED);
}

#[test]
fn the_access_policy_of_a_server_decides() {
    assert_judged("audit", &[server("accessPolicy: audit")], OPEN);
    assert_judged(
        "the cluster",
        &[server("accessPolicy: cluster-unauthenticated")],
        ASSUMED,
    );
    assert_judged("deny", &[server("accessPolicy: deny")], DENIED);
    // Releases before 2.16 do not document the field.
    let text = format!("{POD}{}", server("accessPolicy: audit"));
    let old = ["--mesh", "linkerd", "--mesh-version", "2.15"];
    assert_eq!(judged(&text, &old), DENIED);
}

#[test]
fn the_default_inbound_policy_decides() {
    let annotated = |annotation: &str| {
        let inject = "linkerd.io/inject: enabled";
        judged(
            &POD.replace(inject, &format!("{inject}, {annotation}")),
            &[],
        )
    };
    let policy = |value: &str| {
        annotated(&format!(
            "config.linkerd.io/default-inbound-policy: {value}"
        ))
    };
    assert_eq!(judged(POD, &[]), ["ok default"; 4]);
    assert_eq!(policy("all-unauthenticated"), OPEN);
    assert_eq!(policy("cluster-unauthenticated"), ASSUMED);
    assert_eq!(policy("cluster-authenticated"), DENIED);
    // Linkerd does not know the value, so the policy of the installation applies.
    assert_eq!(policy("open"), ASSUMED);
    let identity = "config.linkerd.io/proxy-require-identity-inbound-ports: \"8080\"";
    assert_eq!(annotated(identity), DENIED);
}

/// The most specific route takes a request. Its policies apply in addition to those of the `Server`.
#[test]
fn routes_of_a_server_replace_the_default_route_of_probes() {
    let api = route("HTTPRoute", "all", "{path: {type: PathPrefix, value: /}}");
    let exact = route(
        "HTTPRoute",
        "health",
        "{path: {type: Exact, value: /healthz}}",
    );
    let at = |name: &str| policy("HTTPRoute", name, NODES);
    let all = network("{cidr: 0.0.0.0/0}");
    let of_http = |title: &str, objects: &[&str], expected: &str| {
        let text = format!("{POD}{SERVER}{}", objects.concat());
        let [_, http, _, _] = judged(&text, &[]);
        assert_eq!(http, expected, "{title}");
    };
    of_http("none for the path", &[&api], "fails known");
    of_http(
        "one for the path",
        &[&api, &exact, &at("health"), &all],
        "ok known",
    );
    of_http(
        "the exact one is closed",
        &[&api, &exact, &at("all"), &all],
        "fails known",
    );
    let some = network("{cidr: 10.0.0.0/8}");
    of_http(
        "some networks",
        &[&exact, &at("health"), &some],
        "ok assumed",
    );
    let expression = route(
        "HTTPRoute",
        "health",
        "{path: {type: RegularExpression, value: /h.*}}",
    );
    of_http(
        "an expression",
        &[&expression, &at("health"), &all],
        "ok assumed",
    );
    let header = "{path: {type: Exact, value: /healthz}, headers: [{name: X, value: y}]}";
    let header = route("HTTPRoute", "health", header);
    of_http("a header", &[&header, &at("health"), &all], "ok assumed");
}

/// The model does not cover routes for gRPC, so the outcome of a gRPC probe is unknown.
#[test]
fn a_grpc_route_makes_the_outcome_of_a_grpc_probe_unknown() {
    let grpc = route(
        "GRPCRoute",
        "health",
        "{method: {service: grpc.health.v1.Health}}",
    );
    let [grpc, http, https, hook] = judged(&format!("{POD}{SERVER}{grpc}"), &[]);
    assert!(grpc.starts_with("unknown"), "{grpc}");
    let others = [http, https, hook];
    assert_eq!(others, ["ok default", "fails known", "fails known"]);
}

/// The kubelet reads digits in quotes as a number. Linkerd reads them as the name of a port, which no container
/// declares.
#[test]
fn a_port_in_quotes_does_not_get_a_route() {
    let quoted = POD.replace(
        "path: /healthz, port: 8080}",
        "path: /healthz, port: \"8080\"}",
    );
    let [_, http, _, _] = judged(&format!("{quoted}{SERVER}"), &[]);
    assert_eq!(http, "fails known");
}

/// A native sidecar whose startup probe, hook and readiness probe send requests to a port that is denied.
const NATIVE: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: demo
  labels: {app: web}
  annotations: {linkerd.io/inject: enabled, config.linkerd.io/default-inbound-policy: deny}
spec:
  initContainers:
    - name: helper
      image: registry.example/helper:1
      restartPolicy: Always
      ports: [{name: admin, containerPort: 8080}]
      livenessProbe: {grpc: {port: 8080}}
      readinessProbe: {grpc: {port: 8080}}
      startupProbe: {grpc: {port: 8080}}
      lifecycle: {postStart: {httpGet: {path: /start, port: 8080}}}
  containers: [{name: web, image: "registry.example/web:1"}]
"#;

#[test]
fn startup_of_native_sidecars_precedes_capture_before_2_20() {
    let after = ["fails known"; 4];
    let before = ["fails known", "fails known", "ok default", "ok default"];
    let release = |number| ["--mesh", "linkerd", "--mesh-version", number];
    assert_eq!(judged(NATIVE, &[]), after);
    assert_eq!(judged(NATIVE, &release("2.20")), after);
    assert_eq!(judged(NATIVE, &release("2.19")), before);
    let off = NATIVE.replace(
        "{linkerd",
        "{config.linkerd.io/proxy-enable-native-sidecar: 'false', linkerd",
    );
    assert_eq!(judged(&off, &[]), before);
    assert_eq!(judged(&off, &release("2.20")), before);
    // Releases before 2.20 only read the annotations with `alpha` and `beta`.
    let on = off.replace("'false'", "'true'");
    assert_eq!(judged(&on, &release("2.18")), before);
    let on = on.replace("{config.", "{config.alpha.");
    assert_eq!(judged(&on, &release("2.18")), after);
    assert_eq!(judged(&on, &release("2.14")), before);
    // The order of containers in a pod that contains the proxy is the one that is written.
    let injected = NATIVE.replace(
        "initContainers:",
        "initContainers:\n    - name: linkerd-init",
    );
    assert_ne!(judged(&injected, &release("2.19")), before);
}

#[test]
fn a_server_finds_ports_of_init_containers_since_2_19() {
    let text = NATIVE.replace(
        "default-inbound-policy: deny",
        "default-inbound-policy: all-unauthenticated",
    );
    let named = format!("{text}{}", SERVER.replace("port: 8080", "port: admin"));
    let denied = ["fails known"; 4];
    let judged_in = |text: &str, release| {
        let options = [
            "--mesh",
            "linkerd",
            "--assume",
            "native-sidecars=true",
            "--mesh-version",
            release,
        ];
        judged(text, &options)
    };
    for release in ["2.20", "2.19"] {
        assert_eq!(judged_in(&named, release), denied);
    }
    assert_eq!(judged_in(&named, "2.18"), ["ok known"; 4]);
    assert_eq!(judged_in(&format!("{text}{SERVER}"), "2.18"), denied);
}

#[test]
fn an_override_of_native_sidecars_is_a_fact_of_the_user() {
    let predict = |text: &str, option: &str| {
        let options = [option, "native-sidecars=false"];
        judged(
            text,
            &[
                &["--mesh", "linkerd", "--mesh-version", "2.20"][..],
                &options,
            ]
            .concat(),
        )
    };
    let overridden = predict(NATIVE, "--override");
    let assumed = predict(NATIVE, "--assume");
    assert_ne!(overridden, assumed);
    assert!(
        overridden
            .iter()
            .all(|verdict| !verdict.contains("assumed"))
    );
    // The annotation of the pod takes precedence over an assumption.
    let annotated = NATIVE.replace(
        "default-inbound-policy: deny",
        "default-inbound-policy: deny, config.linkerd.io/proxy-enable-native-sidecar: \"true\"",
    );
    assert_ne!(annotated, NATIVE);
    assert_ne!(predict(&annotated, "--assume"), assumed);
    assert_eq!(predict(&annotated, "--override"), overridden);
}
