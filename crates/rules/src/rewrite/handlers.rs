//! Rewriting one handler: whether it is due, the changes, and its entry in the prober env.

use meshprobe_mesh::kube::{Probe, ProbeHandler};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::prober_json::{self, NotRecorded};
use meshprobe_mesh::mesh::istio::rewrite::{HOOKS, agent_path, is_agent_path, rewritten_since};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Change, NodeRef, Scalar, Value};

/// Returns the handlers that the release rewrites and that do not target the agent yet. While
/// the release is unknown, hooks are excluded: agents before 1.25 do not start with their entries. Handlers that a
/// rewrite has left as written are excluded, too.
pub(super) fn wanted<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    let mut due = due(pod);
    if is_rewritten(pod) {
        due.retain(|handler| !targets_other_host(handler));
    }
    due
}

/// Returns the handlers that stay as written because they target another host: with the opt-out, the injector does not
/// change them. There are none if they cannot be kept, or in a pod in which no other handler is rewritten; the guard
/// `probe-host` then refuses the pod.
pub(super) fn kept<'a, 't>(
    pod: &'a WorkloadPrediction<'t>,
    can_keep: bool,
) -> Vec<&'a HandlerPrediction<'t>> {
    let mut due = due(pod);
    let has_others = due.iter().any(|handler| !targets_other_host(handler));
    if !can_keep || !(has_others || is_rewritten(pod)) {
        return Vec::new();
    }
    due.retain(|handler| targets_other_host(handler));
    due
}

fn due<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    pod.handlers
        .iter()
        .filter(|handler| since(handler).is_some_and(|since| is_due(pod, handler, since)))
        .collect()
}

/// Returns whether the pod has a prober env and the opt-out, which an earlier rewrite writes.
const fn is_rewritten(pod: &WorkloadPrediction<'_>) -> bool {
    pod.prober_env.is_some() && !pod.rewrite.value
}

/// Returns whether a handler has a `host`. A host that another tool fills in may become empty, which means the pod.
fn targets_other_host(prediction: &HandlerPrediction<'_>) -> bool {
    let handler = &prediction.handler;
    let host = handler.action.as_ref().ok().and_then(ProbeHandler::host);
    handler.written == 1 && host.is_some_and(|host| !placeholder::contains(host))
}

/// Returns the handlers that only a later release than that of the mesh rewrites.
pub(super) fn left<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    pod.handlers
        .iter()
        .filter(|handler| since(handler).is_some_and(|since| !is_due(pod, handler, since)))
        .collect()
}

fn is_due(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    since: Version,
) -> bool {
    match pod.release.value {
        Some(release) => release >= since,
        None => !prediction.handler.slot.is_lifecycle(),
    }
}

/// Returns the first release that rewrites a handler; `None` if no release does, or if it is already rewritten.
pub(super) fn since(prediction: &HandlerPrediction<'_>) -> Option<Version> {
    let handler = &prediction.handler;
    match &handler.action {
        Ok(ProbeHandler::HttpGet(http)) if is_agent_path(&http.path) => None,
        Ok(action) => rewritten_since(action, handler.slot, prediction.container.list),
        // The kind of the handler is unknown; a guard reports it.
        Err(_) if handler.slot.is_lifecycle() => Some(HOOKS),
        Err(_) => Some(Version::new(1, 1)),
    }
}

/// Returns the entry of the env for a handler.
///
/// # Errors
/// [`NotRecorded`] if the agent cannot run the handler, or its port cannot be resolved.
pub(super) fn prober(prediction: &HandlerPrediction<'_>) -> Result<(String, String), NotRecorded> {
    let handler = &prediction.handler;
    let action = handler.action.as_ref().map_err(|_| NotRecorded)?;
    let port = prediction.port.ok_or(NotRecorded)?;
    let json = prober_json::prober(action, port, handler.timeout_seconds)?;
    Ok((agent_path(prediction.container.name(), handler.slot), json))
}

/// Returns the changes that make a handler target the agent, which listens on `port`.
pub(super) fn point_at_agent(prediction: &HandlerPrediction<'_>, port: i64) -> Vec<Change> {
    let handler = &prediction.handler;
    let path = Value::Str(agent_path(prediction.container.name(), handler.slot));
    let port = Value::Int(port);
    match &handler.action {
        Ok(ProbeHandler::HttpGet(http)) => {
            let route = handler.route.child("httpGet");
            let mut changes = vec![
                Change::set(route.child("path"), path),
                Change::set(route.child("port"), port),
            ];
            if http.scheme == "HTTPS" {
                let value = Value::from("HTTP");
                changes.push(Change::set(route.child("scheme"), value));
            }
            changes
        }
        Ok(action) => {
            let mut fields = vec![("path".to_owned(), path), ("port".to_owned(), port)];
            fields.extend(empty_field(handler, action).map(|empty| ("host".to_owned(), empty)));
            vec![Change::replace(
                handler.route.child(action.key()),
                "httpGet".to_owned(),
                Value::Map(fields),
            )]
        }
        Err(_) => Vec::new(),
    }
}

/// Returns the value of `host` or `service` if it is written and empty. The prober env does not record
/// an empty value. The rewritten probe keeps it for `--undo` as an empty `host`, which means the pod, as a missing
/// `host` does.
fn empty_field(handler: &Probe<'_>, action: &ProbeHandler) -> Option<Value> {
    let name = match action {
        ProbeHandler::TcpSocket { .. } => "host",
        ProbeHandler::Grpc { .. } => "service",
        _ => return None,
    };
    empty_value(handler.node.get(action.key())?.get(name)?)
}

/// Returns the value of a node that is null or the empty string.
pub(super) fn empty_value(node: NodeRef<'_>) -> Option<Value> {
    match node.scalar()? {
        Scalar::Null => Some(Value::Null),
        Scalar::Str("") => Some(Value::from("")),
        _ => None,
    }
}
