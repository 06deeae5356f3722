//! Linkerd.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, NodeRef};

use crate::rules::support::chart_values::{ChartValues, of_chart};
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    GRPC_PROBE_DENIED = "linkerd-grpc-probe-denied", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &GRPC_PROBE_DENIED, Mesh::LINKERD, &[
            (Cause::Other(&faults::GRPC_DENIED), "",
            |_, _| Sentence::verb(("is", "are"), " denied: the port admits only clients of the mesh, and Linkerd creates no \
             routes for gRPC probes"),
            "use `httpGet` or `exec`, or exclude the port with `config.linkerd.io/skip-inbound-ports`"),
        ]);
    HOOK_DENIED = "linkerd-hook-denied", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HOOK_DENIED, Mesh::LINKERD, &[
            (Cause::Other(&faults::HOOK_DENIED), "",
            |_, _| Sentence::verb(("is", "are"), " denied: the port admits only clients of the mesh, and Linkerd creates no \
             routes for hooks"),
            "use `exec`, or exclude the port with `config.linkerd.io/skip-inbound-ports`"),
        ]);
    HTTPS_PROBE_DENIED = "linkerd-https-probe-denied", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HTTPS_PROBE_DENIED, Mesh::LINKERD, &[
            (Cause::Other(&faults::NO_PROBE_ROUTE), "",
            |_, handler| {
                let mut because = handler.verdict.because.iter();
                let reason = because.find(|reason| reason.place.is_none());
                let why = reason.map_or("Linkerd creates no route", |reason| &reason.message);
                Sentence::verb(("is", "are"), format!(" denied: {why}"))
            },
            "target a plain-text port, or exclude the port with `config.linkerd.io/skip-inbound-ports`"),
        ]);
    PATH_WITHOUT_SLASH = "linkerd-path-without-slash", Error, fix: Always, scope: Workloads,
        |cx| cx.each_handler(path_without_slash);
    PROBE_NETWORK = "linkerd-probe-network", Note, fix: None, scope: Tree,
        |cx| of_chart(cx, "linkerd-control-plane").filter_map(|chart| probe_network(&chart)).collect();
    ROUTE_HIDES_PROBE = "linkerd-route-hides-probe", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &ROUTE_HIDES_PROBE, Mesh::LINKERD, &[
            (Cause::Other(&faults::ROUTE_HIDES_PROBE), "",
            |_, _| Sentence::verb(("is", "are"), " denied: the Server has an HTTPRoute, so Linkerd creates no route for probes"),
            "add an HTTPRoute for the path of the probe, with an AuthorizationPolicy that requires no certificate"),
        ]);
    STARTUP_PORT_UNDECLARED = "linkerd-startup-port-undeclared", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &STARTUP_PORT_UNDECLARED, Mesh::LINKERD, &[
            (Cause::Other(&faults::PORT_UNDECLARED), "port",
            |_, _| "may be denied: Linkerd does not announce the undeclared port of a startup probe to its proxy".into(),
            "declare the port in `ports` of the container"),
        ]);
    TCP_PROBE_ALWAYS_TRUE = "linkerd-tcp-probe-always-true", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &TCP_PROBE_ALWAYS_TRUE, Mesh::LINKERD, &[
            (Cause::SidecarAccepts, "",
            |_, _| Sentence::verb(("always succeeds", "always succeed"), ": the Linkerd proxy accepts every connection"),
            "use `httpGet` or `exec`, or exclude the port with `config.linkerd.io/skip-inbound-ports`"),
        ]);
}

fn path_without_slash(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::LINKERD)
        || handler.verdict.cause != Cause::Other(&faults::PATH_WITHOUT_SLASH)
    {
        return None;
    }
    let sentence = Sentence::verb(
        ("is", "are"),
        " denied: Linkerd creates no working route for a path without a leading slash",
    );
    let span = handler.handler.field_span("path");
    let mut finding = PATH_WITHOUT_SLASH.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some("add a leading slash to the path".to_owned());
    finding.fix = fix(pod, handler);
    Some(finding)
}

fn fix(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Fix> {
    let Ok(ProbeHandler::HttpGet(http)) = &handler.handler.action else {
        return None;
    };
    let path = format!("/{}", http.path);
    let title = format!("set the path to `{path}`");
    let change = Change::set(
        handler.handler.route.child("httpGet").child("path"),
        path.as_str(),
    );
    let object = &pod.workload.object;
    Some(Fix::of_object(
        object,
        title,
        Applicability::Safe,
        vec![change],
    ))
}

fn probe_network(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let controller = chart.values.get("policyController")?;
    let networks = controller.get("probeNetworks")?;
    let listed: Vec<&str> = networks.items().filter_map(NodeRef::text).collect();
    let is_open = |network: &&str| network.ends_with("/0") || placeholder::contains(network);
    if listed.is_empty() || listed.iter().any(is_open) {
        return None;
    }
    let message = format!(
        "Linkerd admits probes only from {}: at ports that a policy closes, it denies probes from nodes \
         with other addresses",
        listed.join(", ")
    );
    let mut finding = PROBE_NETWORK.finding_on_object(chart.object, networks.span(), message);
    finding.help = Some("list the networks of all nodes, or remove the value".to_owned());
    Some(finding)
}
