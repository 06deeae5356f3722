//! Verdicts on pods that are easy to judge wrongly; each case is one thing less than the next.

use crate::support::project::Project;

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
";

/// Predicts a pod in the injected, strict namespace: `slot outcome` per handler.
fn outcomes(annotations: &str, container: &str, more: &str) -> String {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {{{annotations}}}\n\
         spec:\n  containers:\n  - name: web\n{container}{more}"
    );
    let project = Project::with(&[("pod.yaml", &format!("{NAMESPACE}{pod}"))]);
    told(&project)
}

fn told(project: &Project) -> String {
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let handlers = report
        .pointer("/workloads/0/handlers")
        .unwrap()
        .as_array()
        .unwrap();
    let line = |handler: &serde_json::Value| {
        let text = |name| {
            handler
                .get(name)
                .and_then(serde_json::Value::as_str)
                .unwrap()
                .to_owned()
        };
        format!("{} {}", text("slot"), text("outcome"))
    };
    handlers.iter().map(line).collect::<Vec<_>>().join(", ")
}

const OFF: &str = "sidecar.istio.io/rewriteAppHTTPProbers: 'false'";
const LIVE: &str = "    livenessProbe: {httpGet: {path: /, port: 8080}}\n";
const AHEAD: &str = "    livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15020}}\n";
const READY: &str = "    readinessProbe: {httpGet: {path: /, port: 8080}}\n";
const ENV: &str = "  - name: istio-proxy
    image: auto
    env:
    - name: ISTIO_KUBE_APP_PROBERS
      value: '{\"/app-health/web/livez\":{\"httpGet\":{\"path\":\"/\",\"port\":8080},\"timeoutSeconds\":1}}'
";

#[test]
fn what_another_tool_fills_in_is_unknown() {
    let port = "    ports: [{name: http, containerPort: '${PORT}'}]\n    livenessProbe: {httpGet: {path: /, port: http}}\n";
    assert_eq!(outcomes(OFF, port, ""), "livenessProbe unknown");
    let switch = "sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'";
    assert_eq!(outcomes(switch, LIVE, ""), "livenessProbe unknown");
    let inject = "sidecar.istio.io/inject: '${INJECT}'";
    assert_eq!(outcomes(inject, LIVE, ""), "livenessProbe unknown");
    assert_eq!(
        outcomes(OFF, LIVE, "  hostNetwork: ${HOST}\n"),
        "livenessProbe unknown"
    );
    for (known, filled) in [("enabled", "'${INJECTION}'"), ("STRICT", "'${MODE}'")] {
        let tree = NAMESPACE.replace(known, filled);
        let pod = format!(
            "{tree}apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, annotations: {{{OFF}}}}}\n\
             spec:\n  containers:\n  - name: web\n{LIVE}"
        );
        let project = Project::with(&[("pod.yaml", &pod)]);
        assert_eq!(told(&project), "livenessProbe unknown", "{filled}");
    }
}

#[test]
fn a_pod_rewritten_ahead_needs_the_opt_out() {
    assert_eq!(outcomes(OFF, AHEAD, ENV), "livenessProbe ok");
    assert_eq!(
        outcomes("", AHEAD, ENV),
        "livenessProbe ok",
        "nothing is left to record"
    );
    // The injector records the other probe in a second env, which wins.
    let both = format!("{AHEAD}{READY}");
    assert_eq!(
        outcomes("", &both, ENV),
        "livenessProbe fails, readinessProbe ok"
    );
    assert_eq!(
        outcomes(OFF, &both, ENV),
        "livenessProbe ok, readinessProbe fails"
    );
    assert_eq!(outcomes(OFF, AHEAD, ""), "livenessProbe fails", "no entry");
    let other = AHEAD.replace("15020", "15022");
    assert_eq!(
        outcomes(OFF, &other, ENV),
        "livenessProbe fails",
        "no agent there"
    );
    let port = "status.sidecar.istio.io/port: '15022'";
    assert_eq!(
        outcomes(&format!("{OFF}, {port}"), &other, ENV),
        "livenessProbe ok"
    );
    assert_eq!(
        outcomes(port, &other, ENV),
        "livenessProbe fails",
        "the agent calls itself"
    );
    let https = AHEAD.replace("15020", "15020, scheme: HTTPS");
    assert_eq!(outcomes(OFF, &https, ENV), "livenessProbe fails");
    let host = AHEAD.replace("15020", "15020, host: 127.0.0.1");
    assert_eq!(outcomes(OFF, &host, ENV), "livenessProbe fails");
}

#[test]
fn a_sidecar_of_ones_own_is_not_rewritten_for() {
    let tree = NAMESPACE.replace(", labels: {istio-injection: enabled}", "");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec:\n  containers:\n\
               \x20 - name: istio-proxy\n    image: istio/proxyv2:1.28.0\n  - name: web\n";
    let tcp = "    readinessProbe: {tcpSocket: {port: 8080}}\n";
    let project = Project::with(&[("pod.yaml", &format!("{tree}{pod}{LIVE}{tcp}"))]);
    assert_eq!(
        told(&project),
        "livenessProbe fails, readinessProbe always-passes"
    );
}

#[test]
fn what_the_api_server_refuses_is_broken_without_a_mesh() {
    const FIELD: &str = "probe-field-invalid";
    for (probe, rule, reason) in [
        ("{}", FIELD, "it has no handler"),
        (
            "{httpget: {path: /, port: 80}}",
            FIELD,
            "`httpget` should be `httpGet`",
        ),
        ("{httpGet: {path: /}}", FIELD, "it has no port"),
        (
            "{httpGet: {path: /, port: -1}}",
            "probe-port-out-of-range",
            "port -1 is not between",
        ),
        (
            "{httpGet: {path: /, port: 80, scheme: https}}",
            FIELD,
            "the scheme `https`",
        ),
        (
            "{httpGet: {path: /, port: 80}, tcpSocket: {port: 80}}",
            "probe-two-handlers",
            "it has 2 handlers",
        ),
    ] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  containers:\n  - name: web\n    livenessProbe: {probe}\n"
        );
        let project = Project::with(&[("pod.yaml", &pod)]);
        assert_eq!(
            told(&project),
            "livenessProbe broken-without-mesh",
            "{probe}"
        );
        let run = project.run(&["check", "--output-format", "concise"]);
        run.exits(1).says(rule).says(reason).says("Found 1 error");
    }
    let init = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  initContainers:\n  - name: web\n";
    let project = Project::with(&[("pod.yaml", &format!("{init}{LIVE}"))]);
    assert_eq!(told(&project), "livenessProbe broken-without-mesh");
    let native = format!("{init}    restartPolicy: Always\n{LIVE}");
    let project = Project::with(&[("pod.yaml", &native)]);
    assert_eq!(
        told(&project),
        "livenessProbe unknown",
        "no mesh in sight, but valid"
    );
}

#[test]
fn empty_lists_of_an_authorization_rule_say_nothing() {
    let tree = NAMESPACE.replace("STRICT", "PERMISSIVE");
    let policy = |from: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {{name: web, namespace: shop}}\n\
             spec:\n  rules:\n  - from: {from}\n    to: [{{operation: {{paths: [\"/\"]}}}}]\n---\n"
        )
    };
    for (from, outcome) in [("[]", "ok"), ("[{source: {principals: [\"*\"]}}]", "fails")] {
        let pod = format!(
            "{tree}{}apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop, annotations: {{{OFF}}}}}\n\
             spec:\n  containers:\n  - name: web\n{LIVE}",
            policy(from)
        );
        let project = Project::with(&[("pod.yaml", &pod)]);
        assert_eq!(told(&project), format!("livenessProbe {outcome}"), "{from}");
    }
}

#[test]
fn only_a_network_policy_stops_the_kubelet_in_ambient_mode() {
    let tree = NAMESPACE.replace(
        "istio-injection: enabled",
        "istio.io/dataplane-mode: ambient",
    );
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec:\n  containers:\n  - name: web\n";
    let policy = |ingress: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: web, namespace: shop}}\n\
             spec: {{podSelector: {{matchLabels: {{app: web}}}}, ingress: {ingress}}}\n---\n"
        )
    };
    for (ingress, outcome) in [
        ("[]", "fails"),
        ("[{from: [{podSelector: {}}]}]", "fails"),
        ("[{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]", "fails"),
        (
            "[{from: [{ipBlock: {cidr: 169.254.7.127/32}}], ports: [{port: 9090}]}]",
            "fails",
        ),
        (
            "[{from: [{ipBlock: {cidr: 169.254.7.127/32}}], ports: [{port: 8000, endPort: 8100}]}]",
            "ok",
        ),
        ("[{from: [{ipBlock: {cidr: 169.254.7.127/32}}]}]", "ok"),
        ("[{}]", "ok"),
    ] {
        let text = format!("{tree}{}{pod}{LIVE}", policy(ingress));
        let project = Project::with(&[("pod.yaml", &text)]);
        assert_eq!(
            told(&project),
            format!("livenessProbe {outcome}"),
            "{ingress}"
        );
    }
    let project = Project::with(&[("pod.yaml", &format!("{tree}{pod}{LIVE}"))]);
    assert_eq!(told(&project), "livenessProbe ok");
}

#[test]
fn a_network_policy_stops_the_kubelet_only_where_the_plugin_enforces_it_on_the_node() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec:\n  containers:\n  - name: web\n";
    let policy = |port: u16| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: web, namespace: shop}}\n\
             spec: {{podSelector: {{}}, ingress: [{{from: [{{ipBlock: {{cidr: 10.0.0.0/16}}}}], ports: [{{port: {port}}}]}}]}}\n---\n"
        )
    };
    // The probe is rewritten: the kubelet asks port 15020.
    for (port, enforced, found) in [
        (8080, true, "fails"),
        (15020, true, "ok"),
        (8080, false, "ok"),
    ] {
        let text = format!("{NAMESPACE}{}{pod}{LIVE}", policy(port));
        let project = Project::with(&[("pod.yaml", &text)]);
        let fact = format!("cni-enforces-node-traffic={enforced}");
        let run = project.run(&["predict", "--assume", &fact]).exits(0);
        assert!(
            run.stdout.contains(&format!(" {found} ")),
            "{port} {enforced}: {}",
            run.stdout
        );
    }
}

#[test]
fn connections_of_commands_to_services_always_pass() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n\
                   spec: {clusterIP: 10.96.0.10, ports: [{port: 80}]}\n---\n";
    for (command, outcome) in [
        ("nc, -z, web, '80'", "always-passes"),
        ("nc, -w, '3', web.shop.svc, '80'", "always-passes"),
        (
            "bash, -c, 'exec 3<>/dev/tcp/10.96.0.10/80'",
            "always-passes",
        ),
        ("nc, -z, web.other, '80'", "ok"),
        ("nc, -z, db, '80'", "ok"),
        ("nc, -z, 127.0.0.1, '80'", "ok"),
        ("sh, -c, 'nc -z web 80 && curl -f http://web'", "ok"),
    ] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web, namespace: shop}}\nspec:\n  containers:\n\
             \x20 - name: web\n    livenessProbe: {{exec: {{command: [{command}]}}}}\n"
        );
        let project = Project::with(&[("pod.yaml", &format!("{NAMESPACE}{service}{pod}"))]);
        let expected = format!("livenessProbe {outcome}");
        assert_eq!(told(&project), expected, "{command}");
    }
}

#[test]
fn rewritten_probes_fail_where_the_agent_cannot_make_the_check() {
    let path = |path: &str| {
        let probe = format!("    livenessProbe: {{httpGet: {{path: '{path}', port: 8080}}}}\n");
        outcomes("", &probe, "")
    };
    assert_eq!(path("http://web/healthz"), "livenessProbe fails");
    assert_eq!(path("/100%"), "livenessProbe fails");
    assert_eq!(path("healthz?next=http://web"), "livenessProbe ok");
    let grpc = ENV.replace("httpGet\":{\"path\":\"/\",", "grpc\":{");
    assert_eq!(outcomes(OFF, AHEAD, &grpc), "livenessProbe ok");
    let hasty = grpc.replace("Seconds\":1", "Seconds\":0");
    assert_eq!(outcomes(OFF, AHEAD, &hasty), "livenessProbe fails");
    let named = "    ports: [{name: own, containerPort: 15020}]\n    \
                 livenessProbe: {tcpSocket: {port: own}}\n";
    let tcp = outcomes("", named, "");
    assert_eq!(tcp, "livenessProbe always-passes", "the agent calls itself");
}

#[test]
fn startup_probes_of_init_containers_need_a_sidecar_that_is_there() {
    let init = "  initContainers:\n  - name: log\n    restartPolicy: Always\n    \
                startupProbe: {httpGet: {path: /, port: 8081}}\n";
    let native = |on: &str| format!("sidecar.istio.io/nativeSidecar: '{on}'");
    assert_eq!(outcomes(&native("false"), "", init), "startupProbe fails");
    assert_eq!(outcomes(&native("true"), "", init), "startupProbe ok");
    assert_eq!(
        outcomes("", "", init),
        "startupProbe fails",
        "as on nodes that nobody speaks of: see facts.rs"
    );
    let ready = init.replace("startup", "readiness");
    assert_eq!(outcomes(&native("false"), "", &ready), "readinessProbe ok");
}

#[test]
fn the_kubelet_runs_no_tcp_hooks() {
    let hook = "    lifecycle: {preStop: {tcpSocket: {port: 8080}}}\n";
    assert_eq!(outcomes(OFF, hook, ""), "preStop broken-without-mesh");
    assert_eq!(outcomes("", hook, ""), "preStop ok", "rewritten to httpGet");
}

/// Predicts a pod with a Service whose port has a name: `outcome: kubelet text` per handler.
fn texts(policy: &str, annotations: &str, port: &str, probe: &str) -> String {
    let tree = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{istio-injection: enabled}}}}\n---\n\
         apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: default, namespace: shop}}\n\
         spec: {{mtls: {{mode: {policy}}}}}\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: shop}}\n\
         spec: {{selector: {{app: web}}, ports: [{{name: {port}, port: 80, targetPort: 8080}}]}}\n---\n\
         apiVersion: v1\nkind: Pod\n\
         metadata: {{name: web, namespace: shop, labels: {{app: web}}, annotations: {{{annotations}}}}}\n\
         spec:\n  containers:\n  - name: web\n    image: registry.example/web:1\n    \
         ports: [{{name: agent, containerPort: 15020}}]\n    readinessProbe: {{{probe}}}\n"
    );
    let project = Project::with(&[("pod.yaml", &tree)]);
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let handler = report.pointer("/workloads/0/handlers/0").unwrap();
    let text = |name: &str| {
        handler
            .get(name)
            .unwrap()
            .as_str()
            .unwrap_or("-")
            .to_owned()
    };
    format!("{}: {}", text("outcome"), text("kubelet"))
}

#[test]
fn the_text_of_the_kubelet_follows_the_mode_and_the_protocol() {
    let off = "sidecar.istio.io/rewriteAppHTTPProbers: 'false'";
    let https = "httpGet: {path: /healthz, port: 8080, scheme: HTTPS}";
    let quoted = "httpGet: {path: /healthz, port: '8080'}";
    let said = [
        texts("DISABLE", off, "http-web", https),
        texts("PERMISSIVE", off, "http-web", https),
        texts("PERMISSIVE", off, "http-web", "grpc: {port: 8080}"),
        texts("STRICT", off, "http-web", quoted),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn the_agent_that_is_asked_about_itself_answers_by_kind() {
    let kinds = [
        "httpGet: {path: /r, port: 15020}",
        "httpGet: {path: /r, port: agent}",
        "tcpSocket: {port: 15020}",
        "tcpSocket: {port: agent}",
        "grpc: {port: 15020}",
    ];
    let said = kinds.map(|probe| texts("STRICT", "", "http-web", probe));
    insta::assert_snapshot!(said.join("\n"));
}
