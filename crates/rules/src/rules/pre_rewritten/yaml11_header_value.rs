//! Rule `yaml11-header-value`, documented in `docs/rules/yaml11-header-value.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::{Object, Probe, Unreadable};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, FieldPath, NodeRef, Scalar, Step, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "yaml11-header-value", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

/// Returns the header value that makes a handler unreadable, with its route; `None` if another field does, or
/// none.
pub(in crate::rules) fn culprit<'t>(handler: &Probe<'t>) -> Option<(NodeRef<'t>, FieldPath)> {
    let Err(Unreadable::Malformed(error)) = &handler.action else {
        return None;
    };
    let is_value = matches!(
        error.route.steps(),
        [_, Step::Key(list), Step::Index(_), Step::Key(key)] if list == "httpHeaders" && key == "value"
    );
    let node = handler.node.at(&error.route).filter(|_| is_value)?;
    let scalar = node.scalar()?;
    (!matches!(scalar, Scalar::Str(_))).then(|| (node, error.route.clone()))
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let (node, route) = culprit(&handler.handler)?;
    let (text, scalar) = (node.text()?, node.scalar()?);
    let message = format!(
        "the API server refuses {}: header value `{text}` is {}, not a string",
        handler.title(),
        scalar.type_name(),
    );
    let mut finding = RULE.finding_on_handler(pod, handler, node.span(), message);
    finding.field = Some(handler.handler.within.join(&route).to_string());
    let route = handler.handler.route.join(&route);
    quote(&mut finding, &pod.workload.object, route, node);
    Some(finding)
}

/// Adds the fix that quotes a value, and its help, to a finding. The fix is safe if the text is the usual
/// spelling of the value.
pub(in crate::rules) fn quote(
    finding: &mut Finding,
    object: &Object<'_>,
    route: FieldPath,
    node: NodeRef<'_>,
) {
    let text = node.text().unwrap_or_default();
    let is_plain = match node.scalar() {
        Some(Scalar::Bool(value)) => value.to_string() == text,
        Some(Scalar::Int(value)) => value.to_string() == text,
        _ => false,
    };
    let degree = if is_plain {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(format!(
            "`{text}` is not the usual spelling of the value, and another text may be intended"
        ))
    };
    let value = Value::from(text);
    let changes = vec![Change::Set { route, value }];
    finding.help = Some(format!("quote the value: `\"{text}\"`"));
    finding.fix = Some(Fix::of_object(object, "quote the value", degree, changes));
}
