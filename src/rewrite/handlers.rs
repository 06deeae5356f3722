//! One handler: whether it is pointed at the agent, how, and what the agent is told of it.

use crate::kube::{Action, Handler};
use crate::mesh::Version;
use crate::mesh::istio::prober_json::{self, NotRecorded};
use crate::mesh::istio::rewrite::{HOOKS, agent_path, is_agent_path, rewritten_since};
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Scalar, Value};

/// Returns the handlers that the release rewrites and that do not point at the agent yet. While
/// the release is unknown hooks are left alone: agents before 1.25 do not start on their keys.
pub(super) fn wanted<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    let handlers = pod.handlers.iter();
    handlers
        .filter(|one| since(one).is_some_and(|since| is_due(pod, one, since)))
        .collect()
}

/// Returns the handlers that a later release than the one of the mesh rewrites.
pub(super) fn left<'a, 't>(pod: &'a WorkloadPrediction<'t>) -> Vec<&'a HandlerPrediction<'t>> {
    let handlers = pod.handlers.iter();
    handlers
        .filter(|one| since(one).is_some_and(|since| !is_due(pod, one, since)))
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

/// Returns the first release that rewrites a handler; `None` if none does, or it is done.
pub(super) fn since(prediction: &HandlerPrediction<'_>) -> Option<Version> {
    let handler = &prediction.handler;
    match &handler.action {
        Ok(Action::HttpGet(http)) if is_agent_path(&http.path) => None,
        Ok(action) => rewritten_since(action, handler.slot, prediction.container.list),
        // Nobody can tell what it is; a guard will say so.
        Err(_) if handler.slot.is_lifecycle() => Some(HOOKS),
        Err(_) => Some(Version::new(1, 1)),
    }
}

/// Returns the entry of the env for a handler.
///
/// # Errors
/// [`NotRecorded`] where the agent cannot run it, or its port resolves to nothing.
pub(super) fn prober(prediction: &HandlerPrediction<'_>) -> Result<(String, String), NotRecorded> {
    let handler = &prediction.handler;
    let action = handler.action.as_ref().map_err(|_| NotRecorded)?;
    let port = prediction.port.ok_or(NotRecorded)?;
    let json = prober_json::prober(action, port, handler.timeout_seconds)?;
    Ok((agent_path(prediction.container.name(), handler.slot), json))
}

/// Returns the changes that point a handler at the agent, which listens on `port`.
pub(super) fn point_at_agent(prediction: &HandlerPrediction<'_>, port: i64) -> Vec<Change> {
    let handler = &prediction.handler;
    let path = Value::Str(agent_path(prediction.container.name(), handler.slot));
    let port = Value::Int(port);
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
        Ok(action) => {
            let mut fields = vec![("path".to_owned(), path), ("port".to_owned(), port)];
            fields.extend(empty_field(handler, action).map(|empty| ("host".to_owned(), empty)));
            vec![Change::Replace {
                route: handler.route.child(action.key()),
                key: "httpGet".to_owned(),
                value: Value::Map(fields),
            }]
        }
        Err(_) => Vec::new(),
    }
}

/// Returns the value of `host` or `service` where it is written and empty. The env does not record
/// that: an empty `host` of the rewritten probe, which means the pod as no `host` does, keeps it for
/// `--undo`.
fn empty_field(handler: &Handler<'_>, action: &Action) -> Option<Value> {
    let name = match action {
        Action::TcpSocket { .. } => "host",
        Action::Grpc { .. } => "service",
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
