//! Rule `peerauth-portlevel-unknown-port`, documented in `docs/rules/peerauth-portlevel-unknown-port.md`.

use meshprobe_mesh::finding::Finding;

use crate::rules::RuleContext;
use crate::rules::peer_authentication::port_exceptions::{self, Exception};
use crate::rules::rule::declare_rule;

declare_rule! {
    "peerauth-portlevel-unknown-port", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    port_exceptions::unmet(cx)
        .iter()
        .filter(|exception| exception.service_ports.is_empty() && !exception.is_mentioned())
        .filter_map(report)
        .collect()
}

fn report(exception: &Exception<'_, '_>) -> Option<Finding> {
    let (policy, port) = (exception.policy, exception.port);
    let first = exception.pods.first()?;
    let subject = match exception.pods.len() {
        1 => format!("{} does not use", first.workload.title()),
        count => format!("none of the {count} selected workloads uses"),
    };
    let message = format!(
        "the exception for port {port} has no effect: {subject} this port, and no Service targets it"
    );
    let span = exception.entry.key.span();
    let mut finding = RULE.finding_on_object(policy, span, message);
    finding.field = Some(format!("spec.portLevelMtls.{port}"));
    let object = &first.workload.object;
    let message = "selected by the policy";
    finding
        .related
        .push(object.label_at(object.name_span(), message));
    let help = "set the port that the container listens on, or declare the port under `ports` of the \
                container";
    finding.help = Some(help.to_owned());
    Some(finding)
}
