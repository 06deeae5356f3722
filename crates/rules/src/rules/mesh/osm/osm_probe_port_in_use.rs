//! Rule `osm-probe-port-in-use`, documented in `docs/rules/osm-probe-port-in-use.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction, port_owner};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::proxy_ports;

declare_rule! {
    "osm-probe-port-in-use", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let probes = cx
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler));
    let declared = proxy_ports::findings(cx, &RULE, Mesh::OSM);
    probes.chain(declared).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::OSM);
    if !is_osm || handler.verdict.cause != Cause::Other(&shared_faults::PORT_OF_PROXY) {
        return None;
    }
    let port = handler.port?;
    let owner = port_owner(pod, port)?;
    let message = format!(
        "{} targets port {port}, which belongs to the proxy ({owner})",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("set a port of the application".to_owned());
    Some(finding)
}
