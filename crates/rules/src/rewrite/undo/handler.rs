//! Restores one handler that targets the agent to what the env records.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::{Container, HttpGet, Port, Probe, ProbeHandler};
use meshprobe_mesh::mesh::istio::recorded::{self, Recorded};
use meshprobe_mesh::mesh::istio::rewrite::is_agent_path;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, NodeRef, Value};

use super::super::handlers::empty_value;
use super::comment::has_comment;
use crate::rewrite::guard::failure::GuardFailure;

/// The changes that restore a handler.
pub(super) struct Restored {
    /// The key of the entry that records it.
    pub(super) entry: String,
    pub(super) changes: Vec<Change>,
    /// The values that are not restored literally.
    pub(super) remarks: Vec<String>,
}

/// Returns whether a handler targets the agent, even if it has other faults.
pub(super) fn targets_agent(prediction: &HandlerPrediction<'_>) -> bool {
    written_path(prediction).is_some_and(is_agent_path)
}

fn written_path<'t>(prediction: &HandlerPrediction<'t>) -> Option<&'t str> {
    let handler = prediction.handler.node.get("httpGet")?;
    handler.get("path").and_then(NodeRef::text)
}

/// Returns the changes that restore the recorded handler.
///
/// # Errors
/// A refusal if the handler or its entry cannot be read, or if they contradict each other.
pub(super) fn restored(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Result<Restored, GuardFailure> {
    let handler = &prediction.handler;
    let title = prediction.title();
    if handler.written > 1 {
        let message = format!("{title} has more than one handler");
        return Err(GuardFailure::new(
            GuardId::TWO_HANDLERS,
            handler.key.span(),
            message,
        ));
    }
    let Ok(ProbeHandler::HttpGet(now)) = &handler.action else {
        let message = format!("{title} cannot be read");
        return Err(GuardFailure::new(
            GuardId::INVALID_HANDLER,
            handler.key.span(),
            message,
        ));
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
        let message = format!("the entry of {title} is not a prober: {error}");
        GuardFailure::new(
            GuardId::UNDO_ENTRY_UNREADABLE,
            handler.field_span("path"),
            message,
        )
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
    before: &ProbeHandler,
) -> Result<Vec<Change>, GuardFailure> {
    let handler = &prediction.handler;
    let differs = |what: &str, field: &str| {
        let message = format!("{} and its entry have different {what}", prediction.title());
        GuardFailure::new(GuardId::UNDO_DIFFERS, handler.field_span(field), message)
            .with_help("make the two agree, or restore the probe by hand")
    };
    let route = handler.route.child("httpGet");
    let set = |field: &'static str, value: Value| Change::Set {
        route: route.child(field),
        value,
    };
    let port_value = |port: &Port| match name_of(&prediction.container, port) {
        Some(name) => Value::from(name),
        None => number(port),
    };
    let (key, fields) = match before {
        ProbeHandler::HttpGet(http) => {
            if http.host != now.host.clone().filter(|host| !host.is_empty()) {
                return Err(differs("hosts", "host"));
            }
            if http.headers != now.headers {
                return Err(differs("headers", "httpHeaders"));
            }
            let mut changes = vec![
                set("path", Value::Str(http.path.clone())),
                set("port", port_value(&http.port)),
            ];
            if http.scheme != now.scheme {
                changes.push(set("scheme", Value::Str(http.scheme.clone())));
            }
            return Ok(changes);
        }
        ProbeHandler::TcpSocket { port, host } => {
            let host = host.as_deref().map(Value::from);
            (
                "tcpSocket",
                tcp(port_value(port), host.or_else(|| kept_empty_value(handler))),
            )
        }
        ProbeHandler::Grpc { port, service } => {
            let service = Some(service.as_str()).filter(|service| !service.is_empty());
            let empty = || kept_empty_value(handler).or_else(|| empty_by_comment(pod, handler));
            ("grpc", grpc(*port, service.map(Value::from).or_else(empty)))
        }
        // The prober env does not record these.
        ProbeHandler::Exec | ProbeHandler::Sleep | ProbeHandler::Missing => return Ok(Vec::new()),
    };
    // A request from the agent contains neither, so a person added them to the rewritten probe.
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
fn kept_empty_value(handler: &Probe<'_>) -> Option<Value> {
    empty_value(handler.node.get("httpGet")?.get("host")?)
}

/// Returns an empty `service` if the line of the path has a comment: the rewrite writes no comments, so the line
/// existed before, and only the line of the service can have become that of the path.
fn empty_by_comment(pod: &WorkloadPrediction<'_>, handler: &Probe<'_>) -> Option<Value> {
    let line = handler.node.get("httpGet")?.entry("path")?;
    has_comment(&pod.workload.object, &line).then(|| Value::from(""))
}

fn tcp(port: Value, host: Option<Value>) -> Vec<(String, Value)> {
    let host = host.map(|host| ("host".to_owned(), host));
    let port = ("port".to_owned(), port);
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
    let named = !matches!(before.action, ProbeHandler::Grpc { .. });
    if let Some(port) = before.action.port().filter(|_| named)
        && let Some(name) = name_of(&prediction.container, &port)
    {
        remarks.push(format!(
            "{title} gets port `{name}`, which may have been {port}"
        ));
    }
    if let ProbeHandler::HttpGet(http) = &before.action
        && http.path == "/"
    {
        remarks.push(format!(
            "{title} gets the path `/`, which may have been absent"
        ));
    }
    // A longer timeout of the probe has no effect while the agent gives up earlier.
    if let (Some(now), Some(seconds)) = (prediction.handler.timeout_seconds, before.timeout_seconds)
        && seconds != now
    {
        remarks.push(format!(
            "{title} keeps its timeout of {now} s, although the entry records {seconds} s"
        ));
    }
    remarks
}

/// Returns the name of the only port that a container declares with a number.
fn name_of<'t>(container: &Container<'t>, port: &Port) -> Option<&'t str> {
    let ports = || container.ports();
    let mut declared =
        ports().filter(|found| found.number.map(Port::Number).as_ref() == Some(port));
    let (first, second) = (declared.next()?, declared.next());
    let name = first.name.filter(|_| second.is_none())?;
    let is_unique = ports().filter(|found| found.name == Some(name)).count() == 1;
    is_unique.then_some(name)
}
