//! The cure that several rules share: let the application wait for the sidecar.

use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Value};

use super::scene;

/// Gives a finding the fix that holds the application back; none where the pod configures its
/// proxy already, which is a text of its own.
pub(super) fn offer(pod: &WorkloadPrediction<'_>, finding: &mut Finding) {
    let template = &pod.workload.template;
    if template.annotation(keys::PROXY_CONFIG).is_some() {
        return;
    }
    let change = Change::Set {
        route: template.annotation_route(keys::PROXY_CONFIG),
        value: Value::from("{holdApplicationUntilProxyStarts: true}"),
    };
    let title = format!(
        "hold the application back until the sidecar is up, in `{}`",
        keys::PROXY_CONFIG
    );
    let object = &pod.workload.object;
    let fix = scene::fix(object, title, Applicability::Unsafe, vec![change]);
    finding.fix = Some(fix);
}
