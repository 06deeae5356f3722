//! One pod: which handlers are pointed at the agent, and the changes that do it.

use std::collections::BTreeMap;

use crate::context::{Context, Dataplane};
use crate::finding::{Finding, Severity};
use crate::kube::{Action, Slot};
use crate::mesh::Fact;
use crate::mesh::istio::prober_json::{self, NotRecorded};
use crate::mesh::istio::rewrite::{agent_path, is_agent_path, rewritten_since};
use crate::predict::{HandlerPrediction, WorkloadPrediction, hazard, predict_with};
use crate::yaml::{Change, Value};

use super::carrier;
use super::guard::{self, Refusal};

/// What comes of one pod.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) changes: Vec<Change>,
    pub(super) findings: Vec<Finding>,
}

/// Plans one pod. Pods that are not injected, and pods with nothing to rewrite, are left alone
/// without a word.
pub(super) fn rewrite(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> Outcome {
    if !matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Unknown
    ) {
        return Outcome::default();
    }
    let wanted: Vec<&HandlerPrediction<'_>> = pod
        .handlers
        .iter()
        .filter(|handler| is_wanted(pod, handler))
        .collect();
    // The opt-out beside a prober env is a rewrite written down earlier: it is extended.
    if !pod.rewrite.value && pod.prober_env.is_none() {
        return Outcome {
            findings: opt_out(pod, &wanted).into_iter().collect(),
            ..Outcome::default()
        };
    }
    match plan(context, pod, &wanted) {
        Ok(changes) => {
            let findings = if changes.is_empty() {
                Vec::new()
            } else {
                notes(pod)
            };
            Outcome { changes, findings }
        }
        Err(refusal) => Outcome {
            findings: vec![refusal.finding(pod)],
            ..Outcome::default()
        },
    }
}

/// Tells whether the pod holds handlers that a rewrite would change.
pub(super) fn has_work(pod: &WorkloadPrediction<'_>) -> bool {
    pod.handlers.iter().any(|handler| is_wanted(pod, handler))
}

fn plan(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> Result<Vec<Change>, Refusal> {
    if let Some(refusal) = guard::unreadable_env(pod) {
        return Err(refusal);
    }
    let lost = pod
        .handlers
        .iter()
        .find_map(|handler| guard::lost_entry(pod, handler));
    if let Some(lost) = lost.filter(|_| pod.dataplane.value == Dataplane::Sidecar) {
        return Err(lost);
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(refusal) = guard::refusal(context, pod) {
        return Err(refusal);
    }
    if pod.dataplane.value != Dataplane::Sidecar {
        // A proxyless template switches the rewrite off itself.
        return Ok(Vec::new());
    }
    if let Some(refusal) = spoiled_hook(context, pod) {
        return Err(refusal);
    }
    if guard::two_carriers(pod) {
        let span = pod.workload.object.name_span();
        let said = "its prober env stands in the annotation while it has an istio-proxy container";
        return Err(Refusal::new("prober-env-conflict", span, said));
    }
    let mut changes = Vec::new();
    let mut probers = BTreeMap::new();
    for handler in wanted {
        if let Some(hazard) = hazard(context, pod, handler) {
            let span = if hazard.field.is_empty() {
                handler.handler.kind_span()
            } else {
                handler.handler.field_span(hazard.field)
            };
            let said = format!("{}: {}", handler.title(), hazard.message);
            return Err(Refusal::new(hazard.guard, span, said));
        }
        // A hazard is reported for every handler without a prober.
        if let Ok((key, json)) = prober(handler) {
            probers.insert(key, json);
            changes.extend(point_at_agent(pod, handler));
        }
    }
    changes.extend(carrier::carry(pod, probers)?);
    Ok(changes)
}

/// The release rewrites this handler, and it does not point at the agent yet. While the release
/// is unknown hooks are left alone: agents before 1.25 refuse to start on their keys.
fn is_wanted(pod: &WorkloadPrediction<'_>, prediction: &HandlerPrediction<'_>) -> bool {
    let handler = &prediction.handler;
    let Ok(action) = &handler.action else {
        return !handler.slot.is_lifecycle();
    };
    if matches!(action, Action::HttpGet(http) if is_agent_path(&http.path)) {
        return false;
    }
    let Some(since) = rewritten_since(action, handler.slot, prediction.container.list) else {
        return false;
    };
    match pod.release.value {
        Some(version) => version >= since,
        None => !handler.slot.is_lifecycle(),
    }
}

/// While the release is unknown hooks stay as they are, and the opt-out keeps the mesh from
/// rewriting them. Where that would break one, nothing is written.
fn spoiled_hook<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Option<Refusal> {
    if pod.release.value.is_some() || !pod.rewrite.value {
        return None;
    }
    let off = Fact::settled(false, "the opt-out is written");
    let after = predict_with(context, &pod.workload, off);
    let hook = after.handlers.iter().find(|prediction| {
        prediction.handler.slot.is_lifecycle() && prediction.verdict.outcome.is_bad()
    })?;
    let said = format!(
        "{} would no longer work: {}",
        hook.title(),
        hook.verdict.cause.describe()
    );
    let help = "say the release: from `--mesh-version 1.25` on hooks are rewritten too";
    Some(Refusal::new("hooks-need-release", hook.handler.key.span(), said).with_help(help))
}

fn prober(prediction: &HandlerPrediction<'_>) -> Result<(String, String), NotRecorded> {
    let handler = &prediction.handler;
    let action = handler.action.as_ref().map_err(|_| NotRecorded)?;
    let port = prediction.port.ok_or(NotRecorded)?;
    let json = prober_json::prober(action, port, handler.timeout_seconds)?;
    Ok((agent_path(prediction.container.name(), handler.slot), json))
}

fn point_at_agent(pod: &WorkloadPrediction<'_>, prediction: &HandlerPrediction<'_>) -> Vec<Change> {
    let handler = &prediction.handler;
    let path = Value::Str(agent_path(prediction.container.name(), handler.slot));
    let port = Value::Int(pod.status_port.value);
    match &handler.action {
        Ok(Action::HttpGet(http)) => {
            let route = handler.route.child("httpGet");
            let mut changes = vec![
                Change::Set {
                    route: route.child("path"),
                    value: path,
                },
                Change::Set {
                    route: route.child("port"),
                    value: port,
                },
            ];
            if http.scheme == "HTTPS" {
                let value = Value::from("HTTP");
                changes.push(Change::Set {
                    route: route.child("scheme"),
                    value,
                });
            }
            changes
        }
        Ok(action) => vec![Change::Replace {
            route: handler.route.child(action.key()),
            key: "httpGet".to_owned(),
            value: Value::Map(vec![("path".to_owned(), path), ("port".to_owned(), port)]),
        }],
        Err(_) => Vec::new(),
    }
}

fn opt_out(pod: &WorkloadPrediction<'_>, wanted: &[&HandlerPrediction<'_>]) -> Option<Finding> {
    if wanted.is_empty() || pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let reason = pod.rewrite.because.first()?;
    let object = &pod.workload.object;
    let place = reason.place.clone();
    let title = pod.workload.title();
    let message = if place.is_some() {
        format!("{title} is left as it is: its owner has switched the rewrite off")
    } else {
        format!("{title} is left as it is: {}", reason.message)
    };
    let label = place.unwrap_or_else(|| object.label_at(object.name_span(), String::new()));
    let mut finding = Finding::new("opt-out", Severity::Note, label, message);
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    Some(finding)
}

/// What the user should know about a pod that was rewritten.
fn notes(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let object = &pod.workload.object;
    let note = |id, message: String| {
        let label = object.label_at(object.name_span(), String::new());
        let mut finding = Finding::new(id, Severity::Note, label, message);
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding
    };
    let mut notes = Vec::new();
    if object.kind == "Job" {
        let said = format!(
            "the pod template of a Job is immutable: an existing {} has to be deleted first",
            pod.workload.title()
        );
        notes.push(note("job-immutable", said));
    }
    let is_left = |slot: Slot| slot.is_lifecycle() && pod.release.value.is_none();
    let hooks = pod
        .handlers
        .iter()
        .filter(|handler| is_left(handler.handler.slot));
    let network = hooks.filter(|handler| {
        handler
            .handler
            .action
            .as_ref()
            .is_ok_and(|action| action.port().is_some())
    });
    if network.count() > 0 {
        let said = format!(
            "the hooks of {} are left as they are: agents before 1.25 do not start on their \
             probers; say `--mesh-version`",
            pod.workload.title()
        );
        notes.push(note("hooks-left", said));
    }
    notes
}
