//! One handler that asks the agent, and the changes that make it what the env records.

use crate::kube::{Action, Container, Handler, HttpGet, Port};
use crate::mesh::istio::recorded::{self, Recorded};
use crate::mesh::istio::rewrite::is_agent_path;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef, Value};

use super::super::guard::Refusal;
use super::super::handlers::empty_value;
use super::comment::has_comment;

/// A handler on its way back.
pub(super) struct Restored {
    /// The entry that records it.
    pub(super) entry: String,
    pub(super) changes: Vec<Change>,
    /// What could not be restored to the letter.
    pub(super) remarks: Vec<String>,
}

/// Tells whether a handler points at the agent, whatever else is wrong with it.
pub(super) fn asks_agent(prediction: &HandlerPrediction<'_>) -> bool {
    written_path(prediction).is_some_and(is_agent_path)
}

fn written_path<'t>(prediction: &HandlerPrediction<'t>) -> Option<&'t str> {
    let handler = prediction.handler.node.get("httpGet")?;
    handler.get("path").and_then(NodeRef::text)
}

/// Returns what makes the handler the recorded one.
pub(super) fn restored(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Result<Restored, Refusal> {
    let handler = &prediction.handler;
    let title = prediction.title();
    if handler.written > 1 {
        let said = format!("{title} holds two handlers");
        return Err(Refusal::new("two-handlers", handler.key.span(), said));
    }
    let Ok(Action::HttpGet(now)) = &handler.action else {
        let said = format!("{title} can't be read");
        return Err(Refusal::new("invalid-handler", handler.key.span(), said));
    };
    let probers = pod.prober_env.as_ref();
    let json = probers
        .and_then(|env| env.probers.as_ref().ok())
        .and_then(|probers| probers.get(&now.path));
    let recorded = json.map_or_else(
        || Err("it is missing".to_owned()),
        |json| recorded::read(json),
    );
    let before = recorded.map_err(|error| {
        let said = format!("the entry of {title} is no prober: {error}");
        Refusal::new("undo-entry-unreadable", handler.field_span("path"), said)
    })?;
    Ok(Restored {
        entry: now.path.clone(),
        changes: changes(pod, prediction, now, &before.action)?,
        remarks: remarks(prediction, &before),
    })
}

fn changes(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    now: &HttpGet,
    before: &Action,
) -> Result<Vec<Change>, Refusal> {
    let handler = &prediction.handler;
    let differs = |what: &str, field: &str| {
        let said = format!("{} and its entry name different {what}", prediction.title());
        Refusal::new("undo-differs", handler.field_span(field), said)
            .with_help("make the two agree, or restore the probe by hand")
    };
    let route = handler.route.child("httpGet");
    let set = |field: &'static str, value: Value| Change::Set {
        route: route.child(field),
        value,
    };
    let (key, fields) = match before {
        Action::HttpGet(http) => {
            if http.host != now.host.clone().filter(|host| !host.is_empty()) {
                return Err(differs("hosts", "host"));
            }
            if http.headers != now.headers {
                return Err(differs("headers", "httpHeaders"));
            }
            let mut changes = vec![
                set("path", Value::Str(http.path.clone())),
                set("port", number(&http.port)),
            ];
            if http.scheme != now.scheme {
                changes.push(set("scheme", Value::Str(http.scheme.clone())));
            }
            return Ok(changes);
        }
        Action::TcpSocket { port, host } => {
            let host = host.as_deref().map(Value::from);
            ("tcpSocket", tcp(port, host.or_else(|| kept_empty(handler))))
        }
        Action::Grpc { port, service } => {
            let service = Some(service.as_str()).filter(|service| !service.is_empty());
            let empty = || kept_empty(handler).or_else(|| empty_by_comment(pod, handler));
            ("grpc", grpc(*port, service.map(Value::from).or_else(empty)))
        }
        // No entry records them.
        Action::Exec | Action::Sleep | Action::Missing => return Ok(Vec::new()),
    };
    // The agent's request carries neither: somebody has added them to the rewritten probe.
    if now.host.is_some() {
        return Err(differs("hosts", "host"));
    }
    if !now.headers.is_empty() {
        return Err(differs("headers", "httpHeaders"));
    }
    Ok(vec![Change::Replace {
        route,
        key: key.to_owned(),
        value: Value::Map(fields),
    }])
}

fn number(port: &Port) -> Value {
    match port {
        Port::Number(number) => Value::Int(*number),
        Port::Name(name) => Value::Str(name.clone()),
    }
}

/// Returns the empty `host` or `service` that the rewritten probe keeps as an empty `host`.
fn kept_empty(handler: &Handler<'_>) -> Option<Value> {
    empty_value(handler.node.get("httpGet")?.get("host")?)
}

/// A line with a comment was one of the probe: only that of the service can have become the path's.
fn empty_by_comment(pod: &WorkloadPrediction<'_>, handler: &Handler<'_>) -> Option<Value> {
    let line = handler.node.get("httpGet")?.entry("path")?;
    has_comment(&pod.workload.object, &line).then(|| Value::from(""))
}

fn tcp(port: &Port, host: Option<Value>) -> Vec<(String, Value)> {
    let host = host.map(|host| ("host".to_owned(), host));
    let port = ("port".to_owned(), number(port));
    std::iter::once(port).chain(host).collect()
}

fn grpc(port: i64, service: Option<Value>) -> Vec<(String, Value)> {
    let service = service.map(|service| ("service".to_owned(), service));
    let port = ("port".to_owned(), Value::Int(port));
    std::iter::once(port).chain(service).collect()
}

fn remarks(prediction: &HandlerPrediction<'_>, before: &Recorded) -> Vec<String> {
    let title = prediction.title();
    let mut remarks = Vec::new();
    let named = !matches!(before.action, Action::Grpc { .. });
    if let Some(port) = before.action.port().filter(|_| named)
        && let Some(name) = name_of(&prediction.container, &port)
    {
        remarks.push(format!(
            "{title} names port {port}, which may have been written `{name}`"
        ));
    }
    if let Action::HttpGet(http) = &before.action
        && http.path == "/"
    {
        remarks.push(format!(
            "{title} names the path `/`, which may have been left out"
        ));
    }
    // A longer timeout of the probe has no effect while the agent gives up earlier.
    if let (Some(now), Some(seconds)) = (prediction.handler.timeout_seconds, before.timeout_seconds)
        && seconds != now
    {
        remarks.push(format!(
            "{title} keeps its timeout of {now} s, where the entry says {seconds} s"
        ));
    }
    remarks
}

fn name_of<'t>(container: &Container<'t>, port: &Port) -> Option<&'t str> {
    let declared = container
        .ports()
        .find(|declared| declared.number.map(Port::Number).as_ref() == Some(port));
    declared.and_then(|declared| declared.name)
}
