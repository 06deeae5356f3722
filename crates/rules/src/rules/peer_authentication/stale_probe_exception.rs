//! Rule `stale-probe-exception`, documented in `docs/rules/stale-probe-exception.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_mesh::kube::{Object, PeerAuthentication};
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Entry, Span};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "stale-probe-exception", Note, fix: None, scope: Tree
}

/// Identifies an entry of a policy by the file and span of its mode.
type ModeLocation = (Arc<str>, Span);

/// A port for which no policy has an exception: its mode is the general mode of the pod.
const ANY_PORT: i64 = 0;

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut stale: BTreeMap<ModeLocation, Finding> = BTreeMap::new();
    let mut needed: BTreeSet<ModeLocation> = BTreeSet::new();
    // Pods of context files also need their exceptions.
    for pod in cx.predictions {
        for handler in &pod.handlers {
            let Some((location, finding)) = exception(cx, pod, handler) else {
                continue;
            };
            match finding {
                Some(finding) => {
                    stale.entry(location).or_insert(finding);
                }
                None => {
                    needed.insert(location);
                }
            }
        }
    }
    stale.retain(|location, _| !needed.contains(location));
    stale.into_values().collect()
}

/// Returns the location of the exception that applies to a probe, and the finding unless a client needs the
/// exception.
fn exception<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<(ModeLocation, Option<Finding>)> {
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let workload = &pod.workload;
    let port = pod.application_port(handler)?;
    let mtls = cx.context.istio(workload).mtls(port);
    let in_general = cx.context.istio(workload).mtls(ANY_PORT);
    if mtls.value == MtlsMode::Strict || in_general.value != MtlsMode::Strict {
        return None;
    }
    let written = mtls.because.first()?.place.as_ref()?;
    let location = (Arc::clone(&written.path), written.span);
    let is_used = cx.context.services(workload).exposing(port).is_some();
    if is_used || handler.verdict.cause != Cause::Rewritten {
        return Some((location, None));
    }
    let (policy, mode) = cx
        .context
        .namespace_of(&workload.object)
        .facts(&cx.context.inventory.peer_authentications)
        .find_map(|policy| Some((policy, mode_at(policy, port, written)?)))?;
    let message = format!(
        "port {port} accepts plain text (`{}`), probably for the {}: the agent makes this check, which \
         does not need the exception",
        mtls.value.as_str(),
        handler.title(),
    );
    let mut finding = RULE.finding_on_object(policy, mode.value.span(), message);
    let message = "the agent makes this check";
    let probe = workload
        .object
        .label_at(handler.handler.key.span(), message);
    finding.related.push(probe);
    finding.depend_on(&in_general);
    finding.depend_on(&pod.dataplane);
    finding.help =
        Some("remove the exception, unless other clients use plain text on this port".to_owned());
    Some((location, Some(finding)))
}

/// Returns the mode of a policy for a port if `place` is its location.
fn mode_at<'t>(policy: &Object<'t>, port: i64, place: &Label) -> Option<Entry<'t>> {
    PeerAuthentication::of(policy)
        .ports()
        .filter(|exception| exception.port == Some(port))
        .filter_map(|exception| exception.mode)
        .find(|mode| policy.label_at(mode.value.span(), "").is_at(place))
}
