//! Undoes rewrites: restores the probes that the prober env of the manifest records.
//!
//! The pod contains all information; of the mesh, only its default for rewriting matters. A pod gets all of its changes
//! or none.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{Certainty, Finding, GuardId, Severity};
use meshprobe_mesh::kube::{
    Container, HttpGet, Object, ObjectId, Port, Probe, ProbeHandler, Workload,
};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::recorded::{self, Recorded};
use meshprobe_mesh::mesh::istio::rewrite::{OLDEST_REWRITE, is_agent_path};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::{Role, SourceSet};
use meshprobe_yaml::{Change, NodeRef, Span, Value};

use crate::rewrite::carriers::{Carrier, has_comment};
use crate::rewrite::handlers::empty_value;
use crate::rewrite::overlay::{self, Overlays};
use crate::rewrite::plan::{
    Direction, GuardFailure, Plan, RewriteInput, not_undone, refuse, refused,
};
use crate::rewrite::{guards, planner};

/// Plans the undo for every target workload: handlers become what the prober env of their pod records, and the carrier
/// of the env is removed.
#[must_use]
pub fn undo(seen: &RewriteInput<'_, '_>) -> Plan {
    let mut plan = Plan {
        direction: Direction::Undo,
        ..Plan::default()
    };
    let overlays = Overlays::new(seen, plan.direction);
    let mut planned = BTreeSet::new();
    for pod in seen.plain.iter().filter(|pod| pod.is_target) {
        let object = &pod.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        match undone(seen.context, pod, &overlays) {
            Ok(None) => plan.add(pod, Vec::new(), Vec::new()),
            Ok(Some(Undone { changes, remarks })) => {
                let notes = undo_notes(pod, &remarks);
                plan.add(pod, changes, notes);
            }
            Err(refusal) => plan.refuse(object.id(), refused(refusal, pod)),
        }
    }
    planner::decide_not_given(&mut plan, seen);
    for (workload, refusal) in patch_refusals(seen.context.sources) {
        plan.refuse(workload, refusal);
    }
    plan
}

/// The undo of one pod.
pub(super) struct Undone {
    pub(super) changes: Vec<Change>,
    /// The values that are not restored literally, in sentences.
    pub(super) remarks: Vec<String>,
}

/// Undoes the rewrite of one pod; returns `None` if the pod is not pre-rewritten.
pub(super) fn undone<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Result<Option<Undone>, GuardFailure> {
    let carriers = Carrier::all_of(&pod.workload);
    if carriers.is_empty() && !pod.handlers.iter().any(targets_agent) {
        return Ok(None);
    }
    if pod.workload.object.document.encrypted {
        let message = "the document is encrypted with SOPS, and an edit would break its checksum";
        let refusal = refuse(GuardId::SOPS, pod.workload.object.name_span(), message);
        return Err(refusal.with_help("decrypt it, undo the rewrite, and encrypt it again"));
    }
    if let Some(refusal) = guards::ambiguous(context, pod) {
        return Err(refusal);
    }
    if let Some(refusal) = overlay::undo_refusal(pod, overlays) {
        return Err(refusal);
    }
    if let [_, second, ..] = carriers.as_slice() {
        let message = "it contains two prober envs, and only one of them reaches the sidecar";
        return Err(refuse(GuardId::PROBER_ENV_CONFLICT, second.span(), message));
    }
    if let Some(refusal) = guards::unreadable_env(pod) {
        return Err(refusal);
    }
    let mut changes = Vec::new();
    let mut remarks = Vec::new();
    let mut targeted = BTreeSet::new();
    for prediction in pod.handlers.iter().filter(|handler| targets_agent(handler)) {
        if let Some(lost) = guards::missing_entry(pod, prediction) {
            return Err(lost);
        }
        let restored = restored(pod, prediction)?;
        changes.extend(restored.changes);
        remarks.extend(restored.remarks);
        targeted.insert(restored.entry);
    }
    let env = pod.prober_env.as_ref();
    let probers = env.and_then(|env| env.probers.as_ref().ok());
    let untargeted = probers
        .into_iter()
        .flat_map(|probers| probers.keys())
        .filter(|key| !targeted.contains(*key));
    remarks
        .extend(untargeted.map(|key| format!("`{key}` is dropped, because no probe targets it")));
    for carrier in &carriers {
        let by_default = rewrite_default(context, &pod.workload);
        let (removed, left) = carrier.removed(&pod.workload, &by_default)?;
        changes.extend(removed);
        remarks.extend(left);
    }
    Ok(Some(Undone { changes, remarks }))
}

/// Returns whether the mesh rewrites probes by default. A release before the oldest supported one, which the image of a
/// partial container may name, is ignored, because the pod was rewritten.
pub(super) fn rewrite_default<'t>(context: &Context<'t>, workload: &Workload<'t>) -> Fact<bool> {
    let fact = context.pod_facts(workload).rewrite_default();
    let release = context.pod_facts(workload).version().value;
    let is_older = release.is_some_and(|release| release < OLDEST_REWRITE);
    if is_older && fact.certainty <= Certainty::Default {
        return Fact {
            value: true,
            ..fact
        };
    }
    fact
}

/// Returns the notes about a pod that was restored.
pub(super) fn undo_notes(pod: &WorkloadPrediction<'_>, remarks: &[String]) -> Vec<Finding> {
    let object = &pod.workload.object;
    let title = pod.workload.title();
    let note = |id, message: String| {
        Finding::on_object(object, object.name_span(), (id, Severity::Note), message)
    };
    let mut notes = Vec::new();
    if object.kind == "Job" {
        let message =
            format!("the pod template of a Job is immutable: delete an existing {title} first");
        notes.push(note(GuardId::JOB_IMMUTABLE, message));
    }
    if !remarks.is_empty() {
        let message = format!(
            "{title} behaves as before, but is not restored literally: {}",
            remarks.join("; ")
        );
        notes.push(note(GuardId::UNDO_NOT_LITERAL, message));
    }
    notes
}

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
        return Err(refuse(GuardId::TWO_HANDLERS, handler.key.span(), message));
    }
    let Ok(ProbeHandler::HttpGet(now)) = &handler.action else {
        let message = format!("{title} cannot be read");
        return Err(refuse(
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
        refuse(
            GuardId::UNDO_ENTRY_UNREADABLE,
            handler.field_span("path"),
            message,
        )
    })?;
    Ok(Restored {
        entry: now.path.clone(),
        changes: restoring_changes(pod, prediction, now, &before.action)?,
        remarks: handler_remarks(prediction, &before),
    })
}

fn restoring_changes(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    now: &HttpGet,
    before: &ProbeHandler,
) -> Result<Vec<Change>, GuardFailure> {
    let handler = &prediction.handler;
    let differs = |what: &str, field: &str| {
        let message = format!("{} and its entry have different {what}", prediction.title());
        refuse(GuardId::UNDO_DIFFERS, handler.field_span(field), message)
            .with_help("make the two agree, or restore the probe by hand")
    };
    let route = handler.route.child("httpGet");
    let set = |field: &'static str, value: Value| Change::set(route.child(field), value);
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
    Ok(vec![Change::replace(
        route,
        key.to_owned(),
        Value::Map(fields),
    )])
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

fn handler_remarks(prediction: &HandlerPrediction<'_>, before: &Recorded) -> Vec<String> {
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

/// Returns a refusal for each patch that contains a part of a rewrite.
pub(super) fn patch_refusals(sources: &SourceSet) -> Vec<(ObjectId, Finding)> {
    let documents = sources
        .files
        .iter()
        .filter(|file| file.role == Role::Target)
        .flat_map(|file| &file.documents);
    documents
        .filter(|document| document.patch)
        .flat_map(Object::all_in)
        .filter_map(|object| {
            let workload = Workload::from_object(&object)?;
            Some((
                object.id(),
                patch_refusal(&workload, rewritten_at(&workload)?),
            ))
        })
        .collect()
}

/// Returns the position of a part of a rewrite.
fn rewritten_at(workload: &Workload<'_>) -> Option<Span> {
    if let Some(carrier) = Carrier::all_of(workload).first() {
        return Some(carrier.span());
    }
    let containers = workload.template.containers();
    let mut paths = containers
        .iter()
        .flat_map(|container| container.handlers())
        .filter_map(|handler| handler.node.get("httpGet")?.get("path"));
    paths
        .find(|path| path.text().is_some_and(is_agent_path))
        .map(NodeRef::span)
}

fn patch_refusal(workload: &Workload<'_>, span: Span) -> Finding {
    let object = &workload.object;
    let id = (GuardId::KUSTOMIZE_PATCH, Severity::Error);
    let mut finding = Finding::on_object(object, span, id, String::new());
    finding.set_refusal(not_undone(workload, "it is in a patch of a kustomization"));
    let help = "undo it in what the overlay builds: `kustomize build DIR | meshprobe rewrite --undo \
                --context . -`";
    finding.help = Some(help.into());
    finding
}
