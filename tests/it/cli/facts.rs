//! Facts that decide a verdict and are not in the tree are reported, and lower the severity of the finding by one step.
//! Facts in the tree are read as the mesh reads them.

use crate::support::findings;
use crate::support::manifest::{INJECTED, Manifest, OPT_OUT, Pod, join};
use crate::support::project::Project;

/// A pod that opts out of the probe rewrite.
fn pod(handlers: &str) -> String {
    let pod = Pod::new("web").within("shop").labels("app: web");
    pod.annotations(OPT_OUT)
        .field("image: registry.example/web:1")
        .field(handlers)
        .to_string()
}

const READY: &str = "readinessProbe: {httpGet: {path: /healthz, port: 8080}}";
const TCP: &str = "livenessProbe: {tcpSocket: {port: 8080}}";

fn authorization(spec: &str) -> String {
    let policy = Manifest::authorization_policy("web", spec).within("shop");
    policy.to_string()
}

fn authentication(mode: &str) -> String {
    Manifest::peer_authentication("shop", mode).to_string()
}

fn service(name: &str, port: &str) -> String {
    let ports = format!("ports: [{{port: 80, targetPort: 8080, {port}}}]");
    Manifest::service(name, &format!("selector: {{app: web}}, {ports}"))
        .within("shop")
        .to_string()
}

fn filter(namespace: &str, context: &str, applies: &str) -> String {
    let spec = format!(
        "  workloadSelector: {{labels: {{app: web}}}}
  configPatches:
  - {{applyTo: {applies}, match: {{context: {context}}}, patch: {{operation: MERGE}}}}"
    );
    Manifest::new("networking.istio.io/v1alpha3", "EnvoyFilter", "web")
        .within(namespace)
        .spec(&spec)
        .to_string()
}

/// A native sidecar of the application, which starts before or after the sidecar of the mesh.
fn helper(annotations: &str, handlers: &str) -> String {
    let pod = Pod::new("web").within("shop").annotations(annotations);
    pod.init_container("log")
        .field("image: registry.example/log:1\nrestartPolicy: Always")
        .field(handlers)
        .container("web")
        .field("image: registry.example/web:1")
        .to_string()
}

const STARTS: &str = "startupProbe: {httpGet: {port: 8081}}";

/// Returns slot, mode, outcome, certainty and assumptions of each handler from `predict`, then
/// severity, rule, message and assumptions of each finding of `check`.
fn predicted_and_checked(parts: &[&str], options: &[&str]) -> String {
    let project = Project::with(&[("web.yaml", &join(parts))]);
    let report = |command: &str| -> serde_json::Value {
        let arguments = [&[command, "--output-format", "json"], options].concat();
        serde_json::from_str(&project.run(&arguments).stdout).unwrap()
    };
    let text = |value: &serde_json::Value, name: &str| {
        value
            .get(name)
            .and_then(|value| value.as_str())
            .unwrap_or("-")
            .to_owned()
    };
    let mut lines = Vec::new();
    let mut add = |value: &serde_json::Value, names: &[&str]| {
        lines.push(
            names
                .iter()
                .map(|name| text(value, name))
                .collect::<Vec<_>>()
                .join(" "),
        );
        let assumptions = value.get("assumptions").unwrap().as_array().unwrap();
        let texts = assumptions
            .iter()
            .filter_map(|assumption| assumption.as_str());
        lines.extend(texts.map(|assumption| format!("  assumed: {assumption}")));
    };
    let predicted = report("predict");
    for handler in predicted
        .pointer("/workloads/0/handlers")
        .unwrap()
        .as_array()
        .unwrap()
    {
        add(
            handler,
            &["slot", "mtls", "outcome", "certainty", "kubelet"],
        );
    }
    let checked = report("check");
    for finding in checked.pointer("/findings").unwrap().as_array().unwrap() {
        add(finding, &["severity", "rule", "certainty", "message"]);
    }
    lines.join("\n")
}

/// Returns the outcome that `predict` reports for the only handler.
fn outcome(parts: &[&str], options: &[&str]) -> String {
    let all = predicted_and_checked(parts, options);
    all.split(' ').nth(2).unwrap().to_owned()
}

#[test]
fn without_a_header_the_host_ends_in_the_port_of_the_probe() {
    let by = |pattern: &str, action: &str| {
        let rule = format!("{action}rules: [{{to: [{{operation: {{hosts: [\"{pattern}\"]}}}}]}}]");
        outcome(&[INJECTED, &authorization(&rule), &pod(READY)], &[])
    };
    for (pattern, allowed, denied) in [
        ("*:8080", "ok", "fails"),
        ("*", "ok", "fails"),
        ("*:9090", "fails", "ok"),
        ("web.shop", "fails", "ok"),
        ("10.*", "unknown", "unknown"),
        ("10.0.0.7:8080", "unknown", "unknown"),
    ] {
        assert_eq!(by(pattern, ""), allowed, "ALLOW {pattern}");
        assert_eq!(by(pattern, "action: DENY, "), denied, "DENY {pattern}");
    }
    let header = READY.replace(
        "port: 8080",
        "port: 8080, httpHeaders: [{name: Host, value: web.shop}]",
    );
    let rule = authorization("rules: [{to: [{operation: {hosts: [web.shop]}}]}]");
    assert_eq!(outcome(&[INJECTED, &rule, &pod(&header)], &[]), "ok");
    let rule = authorization("rules: [{to: [{operation: {hosts: ['*:8080']}}]}]");
    assert_eq!(outcome(&[INJECTED, &rule, &pod(&header)], &[]), "fails");
}

#[test]
fn the_oldest_of_several_services_decides_which_no_manifest_tells() {
    let (http, grpc) = (service("s1", "name: http"), service("s2", "name: grpc"));
    insta::assert_snapshot!(
        "conflicting_services_http_first",
        predicted_and_checked(&[INJECTED, &http, &grpc, &pod(READY)], &[])
    );
    let (grpc, http) = (service("s1", "name: grpc"), service("s2", "name: http"));
    insta::assert_snapshot!(
        "conflicting_services_grpc_first",
        predicted_and_checked(&[INJECTED, &http, &grpc, &pod(READY)], &[])
    );
}

#[test]
fn services_with_the_same_verdict_cause_no_assumption() {
    let alone = predicted_and_checked(&[INJECTED, &service("s1", "name: http"), &pod(READY)], &[]);
    assert!(
        alone.starts_with("readinessProbe PERMISSIVE ok default"),
        "{alone}"
    );
    for other in ["name: tcp", "name: http-other", "name: web"] {
        let both = [service("s1", "name: http"), service("s2", other)];
        assert_eq!(
            predicted_and_checked(&[INJECTED, &both[0], &both[1], &pod(READY)], &[]),
            alone,
            "{other}"
        );
    }
    // A second Service with the same port name in another protocol does not conflict either.
    let https = READY.replace("port: 8080", "port: 8080, scheme: HTTPS");
    let both = [service("s1", "name: http"), service("s2", "name: grpc")];
    let lines = predicted_and_checked(&[INJECTED, &both[0], &both[1], &pod(&https)], &[]);
    assert!(
        lines.starts_with("readinessProbe PERMISSIVE fails default"),
        "{lines}"
    );
}

#[test]
fn ports_for_datagrams_do_not_affect_probes() {
    for transport in ["UDP", "SCTP"] {
        let other = service("s1", &format!("name: grpc, protocol: {transport}"));
        assert_eq!(
            outcome(&[INJECTED, &other, &pod(READY)], &[]),
            "ok",
            "{transport}"
        );
    }
    let same = service("s1", "name: grpc, protocol: TCP");
    assert_eq!(outcome(&[INJECTED, &same, &pod(READY)], &[]), "fails");
}

#[test]
fn the_nodes_decide_whether_the_sidecar_comes_first() {
    let tree = [INJECTED, &helper("", STARTS)];
    insta::assert_snapshot!(
        "native_auto",
        predicted_and_checked(&tree, &["--mesh-version", "1.28"])
    );
    insta::assert_snapshot!(
        "native_off",
        predicted_and_checked(&tree, &["--mesh-version", "1.26"])
    );
    for (options, wanted) in [
        (["--assume", "node-version=1.33"], "ok"),
        (["--assume", "node-version=1.32"], "fails"),
        (["--override", "node-version=1.34"], "ok"),
        (["--assume", "native-sidecars=true"], "ok"),
        (["--override", "native-sidecars=false"], "fails"),
    ] {
        let options = [&options[..], &["--mesh-version", "1.28"]].concat();
        let lines = predicted_and_checked(&tree, &options);
        assert_eq!(lines.split(' ').nth(2), Some(wanted), "{options:?}");
        assert!(!lines.contains("the node version is unknown"), "{lines}");
    }
    let chosen = helper("sidecar.istio.io/nativeSidecar: 'true'", STARTS);
    let lines = predicted_and_checked(&[INJECTED, &chosen], &["--mesh-version", "1.28"]);
    assert!(!lines.contains("node version"), "{lines}");
}

/// Kubernetes 1.37 no longer parses a port name as a number: `findPortByName` in its `pkg/probe/util.go`.
#[test]
fn the_node_version_decides_the_text_for_an_undeclared_port_name() {
    let pod = pod("readinessProbe: {httpGet: {port: web}}");
    let project = Project::with(&[("web.yaml", &pod)]);
    let before = r#"strconv.Atoi: parsing "web": invalid syntax"#;
    let since = r#"port "web" not found"#;
    for (options, wanted) in [
        (&[][..], before),
        (&["--assume", "node-version=1.36"], before),
        (&["--assume", "node-version=1.37"], since),
        (&["--override", "node-version=1.38"], since),
    ] {
        let command = ["check", "--mesh", "none", "--output-format", "json"];
        let run = project.run(&[&command[..], options].concat());
        let found = findings(&run);
        let kubelet = found[0]["kubelet"].as_str().unwrap();
        let wanted = format!("Readiness probe errored and resulted in unknown state: {wanted}");
        assert_eq!(kubelet, wanted, "{options:?}");
    }
}

#[test]
fn the_node_version_is_not_reported_if_the_start_order_has_no_effect() {
    let ready = STARTS.replace("startupProbe", "readinessProbe");
    for handlers in [
        ready.as_str(),
        "startupProbe: {exec: {command: [\"true\"]}}",
    ] {
        let lines = predicted_and_checked(
            &[INJECTED, &helper("", handlers)],
            &["--mesh-version", "1.28"],
        );
        assert!(!lines.contains("native sidecars"), "{lines}");
    }
    let plain = helper("", "").replace(
        "image: registry.example/web:1\n",
        "image: registry.example/web:1\n    livenessProbe: {httpGet: {port: 8080}, periodSeconds: 1}\n",
    );
    let lines = predicted_and_checked(&[INJECTED, &plain], &["--mesh-version", "1.28"]);
    assert!(!lines.contains("native sidecars"), "{lines}");
}

#[test]
fn policies_that_only_the_cluster_can_evaluate_give_warnings() {
    let by =
        |spec: &str| predicted_and_checked(&[INJECTED, &authorization(spec), &pod(READY)], &[]);
    let blocks = "from: [{source: {ipBlocks: [10.0.0.0/8]}}]";
    insta::assert_snapshot!("undecidable_allow", by(&format!("rules: [{{{blocks}}}]")));
    insta::assert_snapshot!(
        "undecidable_deny",
        by(&format!("action: DENY, rules: [{{{blocks}}}]"))
    );
    let when = "when: [{key: 'request.headers[x-probe]', values: ['yes']}]";
    insta::assert_snapshot!("undecidable_when", by(&format!("rules: [{{{when}}}]")));
    let custom =
        "action: CUSTOM, provider: {name: gate}, rules: [{to: [{operation: {paths: [/healthz]}}]}]";
    insta::assert_snapshot!("undecidable_custom", by(custom));
}

#[test]
fn a_rule_that_certainly_matches_settles_the_verdict() {
    let by = |spec: &str, handlers: &str| {
        let all = predicted_and_checked(&[INJECTED, &authorization(spec), &pod(handlers)], &[]);
        all.lines()
            .filter(|line| line.contains("[authz") || line.contains("authz-"))
            .count()
    };
    let blocks = "from: [{source: {ipBlocks: [10.0.0.0/8]}}]";
    assert_eq!(
        by(
            &format!("rules: [{{{blocks}}}, {{to: [{{operation: {{ports: ['8080']}}}}]}}]"),
            READY
        ),
        0
    );
    assert_eq!(by(&format!("rules: [{{{blocks}}}]"), TCP), 0);
    let elsewhere =
        format!("action: DENY, rules: [{{{blocks}, to: [{{operation: {{ports: ['9']}}}}]}}]");
    assert_eq!(by(&elsewhere, READY), 0);
    let rewritten = pod(READY).replace("'false'", "'true'");
    let policy = authorization(&format!("rules: [{{{blocks}}}]"));
    let all = predicted_and_checked(&[INJECTED, &policy, &rewritten], &[]);
    assert!(!all.contains("authz-"), "{all}");
}

#[test]
fn a_patch_of_the_sidecar_lowers_the_severity_of_what_it_may_change() {
    let strict = authentication("STRICT");
    let patch = filter("shop", "SIDECAR_INBOUND", "FILTER_CHAIN");
    let both = format!("{READY}\n{TCP}");
    insta::assert_snapshot!(
        "patched",
        predicted_and_checked(&[INJECTED, &strict, &patch, &pod(&both)], &[])
    );
    let plain = predicted_and_checked(&[INJECTED, &strict, &pod(&both)], &[]);
    for harmless in [
        filter("shop", "SIDECAR_OUTBOUND", "FILTER_CHAIN"),
        filter("shop", "SIDECAR_INBOUND", "CLUSTER"),
        filter("other", "SIDECAR_INBOUND", "FILTER_CHAIN"),
        filter("shop", "SIDECAR_INBOUND", "FILTER_CHAIN").replace("app: web", "app: other"),
    ] {
        assert_eq!(
            predicted_and_checked(&[INJECTED, &strict, &harmless, &pod(&both)], &[]),
            plain,
            "{harmless}"
        );
    }
    let rooted = filter("istio-system", "ANY", "LISTENER");
    let lines = predicted_and_checked(&[INJECTED, &strict, &rooted, &pod(READY)], &[]);
    assert!(
        lines.contains("warning strict-probe-not-rewritten assumed"),
        "{lines}"
    );
    // A rewritten probe bypasses the filter.
    let rewritten = pod(READY).replace("'false'", "'true'");
    let lines = predicted_and_checked(&[INJECTED, &strict, &patch, &rewritten], &[]);
    assert!(lines.starts_with("readinessProbe - ok known"), "{lines}");
}

#[test]
fn a_placeholder_is_not_read_as_a_mode() {
    let open = authentication("'${MODE}'");
    insta::assert_snapshot!(
        "mode_placeholder",
        predicted_and_checked(&[INJECTED, &open, &pod(READY)], &[])
    );
    let settled = predicted_and_checked(
        &[INJECTED, &open, &pod(READY)],
        &["--override", "mtls=STRICT"],
    );
    assert!(
        settled.starts_with("readinessProbe STRICT fails known"),
        "{settled}"
    );
    // The agent's port, captured by an annotation, depends on the mode too.
    let captured = pod(READY).replace(
        "sidecar.istio.io/rewriteAppHTTPProbers: 'false'",
        "traffic.sidecar.istio.io/includeInboundPorts: '15020'",
    );
    let lines = predicted_and_checked(&[INJECTED, &open, &captured], &[]);
    assert!(
        lines.starts_with("readinessProbe - unknown unknown"),
        "{lines}"
    );
    let project = Project::with(&[("web.yaml", &join(&[INJECTED, &open, &pod(READY)]))]);
    project
        .run(&["predict", "--explain"])
        .exits(0)
        .stdout_contains("mTLS        unknown\n")
        .stdout_contains("[--override mtls=MODE]");
}
