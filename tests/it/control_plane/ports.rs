//! The three ports of the agent: the target of the probe, the agent's own port, and the port excluded from capture.

use super::*;

/// Returns the result of the readiness probe under STRICT, with a pod annotation and an installation.
fn probe(annotations: &str, install: &str) -> (Outcome, Cause, Option<String>) {
    probe_under(annotations, install, STRICT_MESH)
}

fn probe_under(annotations: &str, install: &str, policy: &str) -> (Outcome, Cause, Option<String>) {
    let web = web("", annotations);
    let operator = operator(install);
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", policy),
        ("istio.yaml", operator.as_str()),
    ];
    evaluate(&files, |context, workload| {
        let prediction = predict_workload(context, workload);
        let handler: &HandlerPrediction<'_> = prediction.handlers.first().unwrap();
        let verdict = handler.verdict.clone();
        (verdict.outcome, verdict.cause, verdict.kubelet)
    })
}

const OK: (Outcome, Cause, Option<String>) = (Outcome::Ok, Cause::Rewritten, None);

fn refused(port: u16) -> (Outcome, Cause, Option<String>) {
    let message = format!(
        "Readiness probe failed: Get \"http://<pod>:{port}/app-health/web/readyz\": \
         dial tcp <pod>:{port}: connect: connection refused"
    );
    (Outcome::Fails, Cause::StatusPortMismatch, Some(message))
}

fn reset(port: u16) -> (Outcome, Cause, Option<String>) {
    let message = format!(
        "Readiness probe failed: Get \"http://<pod>:{port}/app-health/web/readyz\": \
         read tcp <node>-><pod>:{port}: read: connection reset by peer"
    );
    (Outcome::Fails, Cause::StatusPortCaptured, Some(message))
}

const ANNOTATION: &str = "status.sidecar.istio.io/port";
const MESH: &str = "meshConfig: {defaultConfig: {statusPort: 15555}}";
const PROXY: &str = "values: {global: {proxy: {statusPort: 15555}}}";

#[test]
fn the_outcomes_match_the_measured_table() {
    assert_eq!(probe("", ""), OK);
    assert_eq!(probe(&format!("{ANNOTATION}: '15555'"), ""), OK);
    let zero = probe(&format!("{ANNOTATION}: '0'"), "");
    assert_eq!(zero, (Outcome::Refused, Cause::StatusPortZero, None));
    assert_eq!(
        probe("proxy.istio.io/config: 'statusPort: 15555'", ""),
        refused(15020)
    );
    assert_eq!(probe("", MESH), reset(15555));
    assert_eq!(probe("", PROXY), reset(15020));
    assert_eq!(probe("", &format!("{MESH}, {PROXY}")), OK);
}

#[test]
fn the_cni_plugin_excludes_the_default_port() {
    let with_cni = format!("{PROXY}, components: {{cni: {{enabled: true}}}}");
    assert_eq!(probe("", &with_cni), OK);
    let with_cni = format!("{MESH}, components: {{cni: {{enabled: true}}}}");
    assert_eq!(probe("", &with_cni), reset(15555));
}

#[test]
fn plain_text_is_accepted_if_mtls_is_not_strict() {
    let permissive = STRICT_MESH.replace("STRICT", "PERMISSIVE");
    assert_eq!(probe_under("", MESH, &permissive), OK);
}

#[test]
fn the_annotation_of_the_pod_sets_all_three_ports() {
    let both = format!("{ANNOTATION}: '15777', proxy.istio.io/config: 'statusPort: 15888'");
    assert_eq!(probe(&both, MESH), OK);
    let unreadable = probe(&format!("{ANNOTATION}: ' 15777 '"), "");
    assert_eq!(unreadable.1, Cause::StatusPortZero);
}

#[test]
fn an_include_list_with_the_port_of_the_agent_captures_it() {
    let include = "traffic.sidecar.istio.io/includeInboundPorts: '8080,15020'";
    assert_eq!(probe(include, ""), reset(15020));
    let without = "traffic.sidecar.istio.io/includeInboundPorts: '8080'";
    assert_eq!(probe(without, ""), OK);
    let of_mesh = "values: {global: {proxy: {includeInboundPorts: '15020'}}}";
    assert_eq!(probe("", of_mesh), reset(15020));
    let star = "traffic.sidecar.istio.io/includeInboundPorts: '*'";
    assert_eq!(probe(star, of_mesh), OK);
}

#[test]
fn the_verdict_names_the_lines_that_decide() {
    let web = web("", "");
    let operator = operator(MESH);
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT_MESH),
        ("istio.yaml", operator.as_str()),
    ];
    evaluate(&files, |context, workload| {
        let prediction = predict_workload(context, workload);
        assert_eq!(prediction.status_port.value, 15555);
        assert_eq!(places(&prediction.status_port), ["istio.yaml"]);
        let verdict = &prediction.handlers.first().unwrap().verdict;
        let reasons: Vec<_> = verdict
            .because
            .iter()
            .map(|why| why.message.as_str())
            .collect();
        assert!(
            reasons.contains(&"`meshConfig.defaultConfig.statusPort` is 15555"),
            "{reasons:?}"
        );
        assert!(
            reasons.contains(&"STRICT for the whole mesh"),
            "{reasons:?}"
        );
    });
}

#[test]
fn a_pre_rewritten_probe_is_compared_with_the_port_of_the_agent() {
    let annotations = concat!(
        "sidecar.istio.io/rewriteAppHTTPProbers: 'false', ",
        r#"proxy.istio.io/config: 'proxyMetadata: {ISTIO_KUBE_APP_PROBERS: ''{\"/app-health/web/readyz\":{\"tcpSocket\":{\"port\":8080}}}''}'"#,
    );
    let text = web("", annotations).replace(
        "path: /healthz, port: 8080",
        "path: /app-health/web/readyz, port: 15020",
    );
    let judge = |install: &str, wanted: Cause| {
        let operator = operator(install);
        let files = [
            ("web.yaml", text.as_str()),
            ("ns.yaml", INJECTED),
            ("mtls.yaml", STRICT_MESH),
            ("istio.yaml", operator.as_str()),
        ];
        evaluate(&files, |context, workload| {
            let prediction = predict_workload(context, workload);
            assert!(prediction.prober_env.is_some(), "{text}");
            let verdict = &prediction.handlers.first().unwrap().verdict;
            assert_eq!(verdict.cause, wanted, "{verdict:?}");
        });
    };
    judge("", Cause::Rewritten);
    judge(MESH, Cause::RewrittenOtherPort);
    judge(PROXY, Cause::StatusPortCaptured);
}

#[test]
fn an_option_sets_all_three_ports() {
    let web = web("", "");
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT_MESH),
    ];
    let settings = assume(FactOverrides {
        status_port: Some(15099),
        ..FactOverrides::default()
    });
    evaluate_with(&files, &settings, |context, workload| {
        let ports = [
            context.pod_facts(workload).status_port(),
            context.pod_facts(workload).agent_port(),
            context.pod_facts(workload).excluded_port(),
        ];
        assert!(ports.iter().all(|port| port.value == 15099));
        assert!(
            ports
                .iter()
                .all(|port| port.certainty == Certainty::Assumed)
        );
    });
}

#[test]
fn a_pod_whose_annotation_is_not_a_port_is_refused() {
    let judge = |word: &str, cause: Cause| {
        let verdict = probe(&format!("{ANNOTATION}: '{word}'"), "");
        assert_eq!(verdict, (Outcome::Refused, cause, None), "{word}");
    };
    for word in ["", "abc", "-1", "70000", "+15022"] {
        judge(word, Cause::PodRefused);
    }
    // The injector accepts it, and the API server does not.
    judge("0", Cause::StatusPortZero);
}
