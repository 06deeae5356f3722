//! Rules that only state a verdict in words.

use std::borrow::Cow;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::{Cause, HandlerPrediction};

use crate::rules::{Rule, RuleContext};

/// What a rule reports about the handlers whose verdict has a cause: the cause; the field that the finding points at, or
/// nothing for the key of the handler, such as `httpGet`; the message after the name of the handler; the advice after
/// `help:`.
pub(in crate::rules) type Verdict = (
    Cause,
    &'static str,
    fn(&HandlerPrediction<'_>) -> Cow<'static, str>,
    &'static str,
);

/// Returns a finding for each handler of a mesh whose verdict has one of the causes.
pub(in crate::rules) fn report(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    mesh: Mesh,
    verdicts: &[Verdict],
) -> Vec<Finding> {
    let handlers = cx
        .handlers()
        .filter(|(pod, _)| pod.mesh.value == Some(mesh));
    handlers
        .filter_map(|(pod, handler)| {
            let mut verdicts = verdicts.iter();
            let (_, field, text, help) =
                verdicts.find(|(cause, ..)| handler.verdict.cause == *cause)?;
            let span = match *field {
                "" => handler.handler.kind_span(),
                field => handler.handler.field_span(field),
            };
            let message = format!("{} {}", handler.title(), text(handler));
            let mut finding = rule.finding_on_handler(pod, handler, span, message);
            finding.help = Some((*help).to_owned());
            Some(finding)
        })
        .collect()
}
