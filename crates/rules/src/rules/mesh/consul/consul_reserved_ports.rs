//! Rule `consul-reserved-ports`, documented in `docs/rules/consul-reserved-ports.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction, port_owner};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::proxy_ports;

declare_rule! {
    "consul-reserved-ports", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let probes = cx
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler));
    let declared = proxy_ports::findings(cx, &RULE, Mesh::CONSUL);
    probes.chain(declared).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::CONSUL)
        || handler.verdict.cause != Cause::Other(&shared_faults::PORT_OF_PROXY)
    {
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
    finding.help =
        Some("set the port of the application; Consul rewrites the probe at admission".to_owned());
    Some(finding)
}
