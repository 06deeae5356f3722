//! Rule `consul-port-name-shared`, documented in `docs/rules/consul-port-name-shared.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, ProbeHandler};
use meshprobe_mesh::mesh::consul::faults;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "consul-port-name-shared", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(&faults::PORT_NAME_OF_OTHER_CONTAINER) {
        return None;
    }
    let name = handler
        .handler
        .action
        .as_ref()
        .ok()
        .and_then(ProbeHandler::port);
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    let containers = pod.workload.template.containers_in(ContainerList::Main);
    let other = containers.iter().find_map(|container| {
        let mut ports = container.ports();
        ports.find(|port| port.name == Some(name.as_str()))
    });
    let message = format!(
        "{} checks port {} of another container: Consul resolves `{name}` to the first port of the pod \
         with this name",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    if let Some(entry) = other.and_then(|port| port.node.entry("name")) {
        let object = &pod.workload.object;
        let place = object.label_at(entry.value.span(), "first port with this name");
        finding.related.insert(0, place);
    }
    finding.help =
        Some("give each port of the pod a unique name, or set the port number".to_owned());
    Some(finding)
}
