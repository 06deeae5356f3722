//! The fix that makes the application wait for the sidecar.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;

/// Adds the fix that delays the application until the sidecar is up to a finding, unless the pod already has a
/// proxy configuration, because the annotation contains it as text, or the installation makes the setting ineffective.
pub(in crate::rules) fn add_fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    let template = &pod.workload.template;
    let startup = cx.context.istio(&pod.workload).startup();
    if template.annotation(keys::PROXY_CONFIG).is_some() || startup.replaced_hold().is_some() {
        return;
    }
    let change = Change::Set {
        route: template.annotation_route(keys::PROXY_CONFIG),
        value: Value::from("{holdApplicationUntilProxyStarts: true}"),
    };
    let title = format!(
        "set `holdApplicationUntilProxyStarts: true` in `{}`: the application then waits for the sidecar",
        keys::PROXY_CONFIG
    );
    let object = &pod.workload.object;
    let applicability = Applicability::unsafe_because(
        "it changes the start order of the containers and delays the start of the application",
    );
    let fix = Fix::of_object(object, title, applicability, vec![change]);
    finding.fix = Some(fix);
}
