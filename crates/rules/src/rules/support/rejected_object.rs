//! The finding about an object that the API server, or a webhook, rejects.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::admission::Rejection;

use crate::rules::rule::Rule;

/// Returns the finding at the rejected field. `kind` and `noun` name the object in the message and in the help.
pub(in crate::rules) fn finding(
    rule: &Rule,
    object: &Object<'_>,
    (kind, noun): (&str, &str),
    rejection: &Rejection,
) -> Finding {
    let message = format!(
        "{} rejects {kind} `{}`: `{}` {}",
        rejection.by.as_str(),
        object.name(),
        rejection.route,
        rejection.reason
    );
    let mut finding = rule.finding_on_object(object, rejection.span, message);
    finding.field = Some(rejection.route.to_string());
    finding.help = Some(format!(
        "correct the field; until then, the cluster keeps the previous version of the {noun}"
    ));
    finding
}
