//! Verdicts on pods that are easily misjudged; each case differs from the next one in one detail.

use crate::support::manifest::{INJECTED, Manifest, OPT_OUT, Pod, STRICT, join};
use crate::support::predictions::{self, handlers};
use crate::support::project::Project;

/// A pod in the namespace, without containers.
fn web() -> Pod {
    Pod::new("web").within("shop")
}

/// Predicts a pod in the injected, strict namespace; returns `slot outcome` of each handler. `more` is
/// appended after the container.
fn outcomes(annotations: &str, container: &str, more: &str) -> String {
    let pod = web().annotations(annotations).container("web");
    let pod = format!("{}{more}", pod.field(container));
    predicted(&[INJECTED, STRICT, &pod])
}

/// Predicts the workload of a file with the given documents.
fn predicted(documents: &[&str]) -> String {
    slots_and_outcomes(&Project::with(&[("pod.yaml", &join(documents))]))
}

fn slots_and_outcomes(project: &Project) -> String {
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let lines: Vec<String> = handlers(&run)
        .into_iter()
        .map(|handler| predictions::texts(&handler, &["/slot", "/outcome"]))
        .collect();
    lines.join(", ")
}

const LIVE: &str = "livenessProbe: {httpGet: {path: /, port: 8080}}";
const AHEAD: &str = "livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15020}}";
const READY: &str = "readinessProbe: {httpGet: {path: /, port: 8080}}";
const ENV: &str = "  - name: istio-proxy
    image: auto
    env:
    - name: ISTIO_KUBE_APP_PROBERS
      value: '{\"/app-health/web/livez\":{\"httpGet\":{\"path\":\"/\",\"port\":8080},\"timeoutSeconds\":1}}'
";

#[test]
fn placeholders_make_the_outcome_unknown() {
    let port = "ports: [{name: http, containerPort: '${PORT}'}]\nlivenessProbe: {httpGet: {path: /, port: http}}";
    assert_eq!(outcomes(OPT_OUT, port, ""), "livenessProbe unknown");
    let switch = "sidecar.istio.io/rewriteAppHTTPProbers: '${REWRITE}'";
    assert_eq!(outcomes(switch, LIVE, ""), "livenessProbe unknown");
    let inject = "sidecar.istio.io/inject: '${INJECT}'";
    assert_eq!(outcomes(inject, LIVE, ""), "livenessProbe unknown");
    assert_eq!(
        outcomes(OPT_OUT, LIVE, "  hostNetwork: ${HOST}\n"),
        "livenessProbe unknown"
    );
    for (known, filled) in [("enabled", "'${INJECTION}'"), ("STRICT", "'${MODE}'")] {
        let tree = join(&[INJECTED, STRICT]).replace(known, filled);
        let pod = web().annotations(OPT_OUT).field(LIVE).to_string();
        let outcome = predicted(&[&tree, &pod]);
        assert_eq!(outcome, "livenessProbe unknown", "{filled}");
    }
}

#[test]
fn a_pre_rewritten_pod_needs_the_opt_out() {
    assert_eq!(outcomes(OPT_OUT, AHEAD, ENV), "livenessProbe ok");
    assert_eq!(
        outcomes("", AHEAD, ENV),
        "livenessProbe ok",
        "no other probe is recorded"
    );
    // The injector records the other probe in a second env, which wins.
    let both = format!("{AHEAD}\n{READY}");
    assert_eq!(
        outcomes("", &both, ENV),
        "livenessProbe fails, readinessProbe ok"
    );
    assert_eq!(
        outcomes(OPT_OUT, &both, ENV),
        "livenessProbe ok, readinessProbe fails"
    );
    assert_eq!(
        outcomes(OPT_OUT, AHEAD, ""),
        "livenessProbe fails",
        "no entry in the prober env"
    );
    let other = AHEAD.replace("15020", "15022");
    assert_eq!(
        outcomes(OPT_OUT, &other, ENV),
        "livenessProbe fails",
        "no agent on this port"
    );
    let port = "status.sidecar.istio.io/port: '15022'";
    assert_eq!(
        outcomes(&format!("{OPT_OUT}, {port}"), &other, ENV),
        "livenessProbe ok"
    );
    assert_eq!(
        outcomes(port, &other, ENV),
        "livenessProbe fails",
        "the agent sends the request to itself"
    );
    let https = AHEAD.replace("15020", "15020, scheme: HTTPS");
    assert_eq!(outcomes(OPT_OUT, &https, ENV), "livenessProbe fails");
    let host = AHEAD.replace("15020", "15020, host: 127.0.0.1");
    assert_eq!(outcomes(OPT_OUT, &host, ENV), "livenessProbe fails");
}

#[test]
fn probes_next_to_a_manually_added_sidecar_are_not_rewritten() {
    let namespace = Manifest::namespace("shop").to_string();
    let pod = web().container("istio-proxy");
    let pod = pod.field("image: istio/proxyv2:1.28.0").container("web");
    let pod = pod
        .field(LIVE)
        .probe("readinessProbe", "tcpSocket: {port: 8080}");
    let redirected = pod.clone().init_container("istio-init");
    assert_eq!(
        predicted(&[&namespace, STRICT, &redirected.to_string()]),
        "livenessProbe fails, readinessProbe always-passes"
    );
    // Nothing redirects traffic to the sidecar.
    assert_eq!(
        predicted(&[&namespace, STRICT, &pod.to_string()]),
        "livenessProbe ok, readinessProbe ok"
    );
}

#[test]
fn all_probes_of_a_pod_that_the_injector_rejects_are_refused() {
    let probes = "livenessProbe: {exec: {command: [check]}}\n\
                  readinessProbe: {tcpSocket: {port: 8080}}";
    for (ports, expected) in [("8080,http", "refused"), ("8080", "ok")] {
        let annotation = format!("traffic.sidecar.istio.io/excludeInboundPorts: '{ports}'");
        assert_eq!(
            outcomes(&annotation, probes, ""),
            format!("livenessProbe {expected}, readinessProbe {expected}"),
        );
    }
}

#[test]
fn probes_that_the_api_server_rejects_are_refused() {
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
        let pod = Pod::new("web").field(&format!("livenessProbe: {probe}"));
        let pod = pod.to_string();
        let project = Project::with(&[("pod.yaml", &pod)]);
        assert_eq!(
            slots_and_outcomes(&project),
            "livenessProbe refused",
            "{probe}"
        );
        let run = project.run(&["check", "--output-format", "concise"]);
        run.exits(1)
            .stdout_contains(rule)
            .stdout_contains(reason)
            .stdout_contains("Found 1 error");
    }
    let init = Pod::new("web").init_container("web").field(LIVE);
    let native = init.clone().field("restartPolicy: Always").to_string();
    let outcome = predicted(&[&init.to_string()]);
    assert_eq!(outcome, "livenessProbe refused");
    assert_eq!(
        predicted(&[&native]),
        "livenessProbe unknown",
        "valid, and no mesh in the tree"
    );
}

#[test]
fn empty_lists_of_an_authorization_rule_match_everything() {
    let permissive = Manifest::peer_authentication("shop", "PERMISSIVE").to_string();
    let policy = |from: &str| {
        let rule = format!("from: {from}, to: [{{operation: {{paths: [\"/\"]}}}}]");
        let spec = format!("rules: [{{{rule}}}]");
        let policy = Manifest::authorization_policy("web", &spec).within("shop");
        policy.to_string()
    };
    for (from, outcome) in [("[]", "ok"), ("[{source: {principals: [\"*\"]}}]", "fails")] {
        let pod = web().annotations(OPT_OUT).field(LIVE).to_string();
        let found = predicted(&[INJECTED, &permissive, &policy(from), &pod]);
        assert_eq!(found, format!("livenessProbe {outcome}"), "{from}");
    }
}

fn network_policy(pods: &str, ingress: &str) -> String {
    Manifest::new("networking.k8s.io/v1", "NetworkPolicy", "web")
        .within("shop")
        .spec(&format!("{{podSelector: {pods}, ingress: {ingress}}}"))
        .to_string()
}

#[test]
fn only_a_network_policy_blocks_the_kubelet_in_ambient_mode() {
    let namespace = Manifest::namespace("shop").labels("istio.io/dataplane-mode: ambient");
    let namespace = namespace.to_string();
    let pod = web().labels("app: web").field(LIVE).to_string();
    let policy = |ingress: &str| network_policy("{matchLabels: {app: web}}", ingress);
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
        let found = predicted(&[&namespace, STRICT, &policy(ingress), &pod]);
        assert_eq!(found, format!("livenessProbe {outcome}"), "{ingress}");
    }
    let found = predicted(&[&namespace, STRICT, &pod]);
    assert_eq!(found, "livenessProbe ok");
}

#[test]
fn a_network_policy_blocks_the_kubelet_only_if_the_plugin_enforces_it_on_the_node() {
    let pod = web().labels("app: web").field(LIVE).to_string();
    let policy = |port: u16| {
        let from = "from: [{ipBlock: {cidr: 10.0.0.0/16}}]";
        network_policy("{}", &format!("[{{{from}, ports: [{{port: {port}}}]}}]"))
    };
    // The probe is rewritten: the kubelet sends the request to port 15020.
    for (port, enforced, found) in [
        (8080, true, "fails"),
        (15020, true, "ok"),
        (8080, false, "ok"),
    ] {
        let text = join(&[INJECTED, STRICT, &policy(port), &pod]);
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
    let service = Manifest::service("web", "clusterIP: 10.96.0.10, ports: [{port: 80}]");
    let service = service.within("shop").to_string();
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
        let pod = web().probe("livenessProbe", &format!("exec: {{command: [{command}]}}"));
        let found = predicted(&[INJECTED, STRICT, &service, &pod.to_string()]);
        assert_eq!(found, format!("livenessProbe {outcome}"), "{command}");
    }
}

#[test]
fn rewritten_probes_fail_where_the_agent_cannot_make_the_check() {
    let path = |path: &str| {
        let probe = format!("livenessProbe: {{httpGet: {{path: '{path}', port: 8080}}}}");
        outcomes("", &probe, "")
    };
    assert_eq!(path("http://web/healthz"), "livenessProbe fails");
    assert_eq!(path("/100%"), "livenessProbe fails");
    assert_eq!(path("healthz?next=http://web"), "livenessProbe ok");
    let grpc = ENV.replace("httpGet\":{\"path\":\"/\",", "grpc\":{");
    assert_eq!(outcomes(OPT_OUT, AHEAD, &grpc), "livenessProbe ok");
    let hasty = grpc.replace("Seconds\":1", "Seconds\":0");
    assert_eq!(outcomes(OPT_OUT, AHEAD, &hasty), "livenessProbe fails");
    let named =
        "ports: [{name: own, containerPort: 15020}]\nlivenessProbe: {tcpSocket: {port: own}}";
    let tcp = outcomes("", named, "");
    assert_eq!(
        tcp, "livenessProbe always-passes",
        "the agent sends the request to itself"
    );
}

#[test]
fn startup_probes_of_init_containers_need_a_sidecar_that_has_started() {
    let init = "  initContainers:\n  - name: log\n    restartPolicy: Always\n    \
                startupProbe: {httpGet: {path: /, port: 8081}}\n";
    let native = |on: &str| format!("sidecar.istio.io/nativeSidecar: '{on}'");
    assert_eq!(outcomes(&native("false"), "", init), "startupProbe fails");
    assert_eq!(outcomes(&native("true"), "", init), "startupProbe ok");
    assert_eq!(
        outcomes("", "", init),
        "startupProbe fails",
        "as for an unknown node version: see facts.rs"
    );
    let ready = init.replace("startup", "readiness");
    assert_eq!(outcomes(&native("false"), "", &ready), "readinessProbe ok");
}

/// Predicts a native sidecar of the application in the strict namespace.
fn of_helper(annotations: &str, handlers: &str, options: &[&str]) -> String {
    let pod = web().annotations(annotations).container("web").to_string();
    let init = "  initContainers:\n  - name: log\n    restartPolicy: Always\n    ";
    let tree = join(&[INJECTED, STRICT, &format!("{pod}{init}{handlers}\n")]);
    let project = Project::with(&[("pod.yaml", &tree)]);
    let all = [&["predict", "--output-format", "json"], options].concat();
    let found = handlers_of(&project, &all);
    found.join(", ")
}

fn handlers_of(project: &Project, arguments: &[&str]) -> Vec<String> {
    let found = handlers(&project.run(arguments).exits(0)).into_iter();
    found
        .map(|handler| predictions::texts(&handler, &["/slot", "/outcome"]))
        .collect()
}

#[test]
fn startup_probes_of_init_containers_that_are_not_rewritten_pass_before_the_capture_starts() {
    let http = "startupProbe: {httpGet: {path: /, port: 8081}}";
    let tcp = "startupProbe: {tcpSocket: {port: 8081}}";
    let newer = ["--mesh-version", "1.26"];
    // `istio-init` is the last init container.
    assert_eq!(of_helper(OPT_OUT, http, &newer), "startupProbe ok");
    assert_eq!(of_helper(OPT_OUT, tcp, &newer), "startupProbe ok");
    let live = http.replace("startup", "liveness");
    assert_eq!(of_helper(OPT_OUT, &live, &newer), "livenessProbe fails");
    assert_eq!(
        of_helper("", http, &newer),
        "startupProbe fails",
        "rewritten"
    );
    let cni = ["--mesh-version", "1.26", "--assume", "cni=true"];
    assert_eq!(of_helper(OPT_OUT, http, &cni), "startupProbe fails");
    assert_eq!(of_helper(OPT_OUT, tcp, &cni), "startupProbe fails");
    let native = format!("{OPT_OUT}, sidecar.istio.io/nativeSidecar: 'true'");
    assert_eq!(of_helper(&native, http, &newer), "startupProbe fails");
    let nodes_decide = ["--mesh-version", "1.28"];
    assert_eq!(
        of_helper(OPT_OUT, http, &nodes_decide),
        "startupProbe fails"
    );
    // Injectors before 1.19 do not know `restartPolicy` of containers: the start order is not the written one.
    let old = ["--mesh-version", "1.18"];
    assert_eq!(of_helper("", http, &old), "startupProbe fails");
}

#[test]
fn a_startup_probe_that_the_cni_plugin_redirects_too_early_is_reported() {
    let pod = web().annotations(OPT_OUT).container("web").to_string();
    let init = "  initContainers:\n  - name: log\n    restartPolicy: Always\n    \
                startupProbe: {httpGet: {path: /, port: 8081}}\n";
    let project = Project::with(&[("pod.yaml", &join(&[INJECTED, &format!("{pod}{init}")]))]);
    let options = ["--mesh-version=1.26", "--override", "cni=true"];
    let run = project.run(&[&["check", "--output-format=concise"][..], &options].concat());
    run.exits(1).stdout_contains(
        "error[native-sidecar-startup-deadlock] startupProbe of container `log` never succeeds: it is redirected to the \
         sidecar, which starts only after this init container",
    );
}

#[test]
fn the_kubelet_runs_no_tcp_hooks() {
    let hook = "lifecycle: {preStop: {tcpSocket: {port: 8080}}}";
    assert_eq!(outcomes(OPT_OUT, hook, ""), "preStop broken-without-mesh");
    assert_eq!(outcomes("", hook, ""), "preStop ok", "rewritten to httpGet");
}

/// Predicts a pod with a Service whose port has a name; returns `outcome: kubelet text`.
fn texts(policy: &str, annotations: &str, port: &str, probe: &str) -> String {
    let policy = Manifest::peer_authentication("shop", policy).to_string();
    let port =
        format!("selector: {{app: web}}, ports: [{{name: {port}, port: 80, targetPort: 8080}}]");
    let service = Manifest::service("web", &port).within("shop").to_string();
    let pod = web().labels("app: web").annotations(annotations);
    let pod =
        pod.field("image: registry.example/web:1\nports: [{name: agent, containerPort: 15020}]");
    let pod = pod.probe("readinessProbe", probe).to_string();
    let tree = join(&[INJECTED, &policy, &service, &pod]);
    let project = Project::with(&[("pod.yaml", &tree)]);
    let run = project
        .run(&["predict", "--output-format", "json"])
        .exits(0);
    let text = |pointer: &str| predictions::texts(&handlers(&run)[0], &[pointer]);
    format!("{}: {}", text("/outcome"), text("/kubelet"))
}

#[test]
fn the_text_of_the_kubelet_follows_the_mode_and_the_protocol() {
    let https = "httpGet: {path: /healthz, port: 8080, scheme: HTTPS}";
    let quoted = "httpGet: {path: /healthz, port: '8080'}";
    let messages = [
        texts("DISABLE", OPT_OUT, "http-web", https),
        texts("PERMISSIVE", OPT_OUT, "http-web", https),
        texts("PERMISSIVE", OPT_OUT, "http-web", "grpc: {port: 8080}"),
        texts("STRICT", OPT_OUT, "http-web", quoted),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn probes_of_the_agent_itself_depend_on_the_handler_type() {
    let kinds = [
        "httpGet: {path: /r, port: 15020}",
        "httpGet: {path: /r, port: agent}",
        "tcpSocket: {port: 15020}",
        "tcpSocket: {port: agent}",
        "grpc: {port: 15020}",
    ];
    let messages = kinds.map(|probe| texts("STRICT", "", "http-web", probe));
    insta::assert_snapshot!(messages.join("\n"));
}
