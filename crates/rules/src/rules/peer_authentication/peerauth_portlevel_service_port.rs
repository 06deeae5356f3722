//! Rule `peerauth-portlevel-service-port`, documented in `docs/rules/peerauth-portlevel-service-port.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_yaml::{Change, FieldPath, Value};

use crate::rules::RuleContext;
use crate::rules::peer_authentication::port_exceptions::{self, Exception};
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::keeping_comment;

declare_rule! {
    "peerauth-portlevel-service-port", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    port_exceptions::unmet(cx)
        .iter()
        .filter_map(|exception| report(cx, exception))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, exception: &Exception<'_, 't>) -> Option<Finding> {
    let (service, service_port, target) = exception.service_ports.first()?;
    let (policy, port) = (exception.policy, exception.port);
    let message = format!(
        "the exception for port {port} has no effect: `portLevelMtls` uses the ports of the pod, and \
         {port} is the port of Service `{}`, which targets {target}",
        service.name(),
    );
    let span = exception.entry.key.span();
    let mut finding = RULE.finding_on_object(policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let message = format!("port {port} of the Service targets port {target} of the pods");
    let service_port = service_port.node;
    let number = service_port.get("port").unwrap_or(service_port);
    finding
        .related
        .push(service.label_at(number.span(), message));
    if let Some(pod) = exception.pods.first() {
        finding.cite(&cx.context.istio(&pod.workload).mtls(*target));
    }
    finding.help = Some(format!("use {target}, the port of the pods"));
    finding.fix = fix(exception, *target);
    Some(finding)
}

fn fix(exception: &Exception<'_, '_>, target: i64) -> Option<Fix> {
    let entry = exception.entry;
    let mut targets = exception.service_ports.iter();
    let is_free = exception.siblings.iter().all(|port| *port != target);
    let only_mode = entry.value.effective_entries().len() == 1 && !entry.merged;
    if !only_mode || !is_free || targets.any(|(_, _, other)| *other != target) {
        return None;
    }
    let mode = entry.value.get("mode")?.text()?;
    let policy = exception.policy;
    let route = policy
        .route
        .join(&FieldPath::keys(&["spec", "portLevelMtls"]));
    let change = Change::Replace {
        route: route.child(entry.key.text()?.to_owned()),
        key: target.to_string(),
        value: Value::Map(vec![("mode".to_owned(), Value::from(mode))]),
    };
    let wanted = Applicability::unsafe_because(format!(
        "the exception then takes effect on port {target} of the pods and changes which clients may connect"
    ));
    let degree = keeping_comment(entry, wanted);
    let title = format!("change the exception to port {target}");
    Some(Fix::of_object(policy, title, degree, vec![change]))
}
