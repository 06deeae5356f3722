//! The predictions as plain data: one type for a probe, which every output reads. It is also the JSON of `predict`.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Certainty, Label, ObjectRef, sentence_list};
use meshprobe_mesh::kube::{ContainerList, Object};
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::rewrite::rewritten_since;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason};
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{
    self, Alternative, Cause, EnvironmentNames, HandlerPrediction, MachinePrediction, Outcome,
    RouteFacts, WorkloadPrediction, handler_text, handler_title, rewritten_text,
};
use meshprobe_tree::source::{SourceSet, chart_of_output};
use serde::{Serialize, Serializer};

use super::source_location::{RenderedEntry, SourceLocation, source_location};

/// A workload with its probes and hooks, or a `WorkloadGroup` with its check, in one environment.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadReport {
    /// The file that the user edits.
    pub path: String,
    /// The number of the document in the file.
    pub document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rendered: Option<RenderedEntry>,
    /// The object, with the namespace that the manifest, an option or its deployment sets.
    pub object: ObjectRef,
    /// The kustomization or the deploying object of the environment.
    pub overlay: Option<String>,
    /// The mesh.
    pub mesh: FactReport<Option<&'static str>>,
    /// How the pod takes part in the mesh.
    pub dataplane: FactReport<&'static str>,
    /// The probes and hooks.
    pub handlers: Vec<ProbeReport>,
    /// `shop/Deployment/web`, with its namespace if one is known.
    #[serde(skip)]
    pub title: String,
    /// Whether it is a `WorkloadGroup`.
    #[serde(skip)]
    pub is_machine: bool,
    /// The place of its name.
    #[serde(skip)]
    pub place: Label,
    /// The name of the environment; `None` if it is deployed as it is written.
    #[serde(skip)]
    pub environment: Option<Arc<str>>,
    /// Whether several environments deploy it, also environments that are not reported.
    #[serde(skip)]
    pub is_shared: bool,
    /// The file and the document for people; the folder for a chart, of which each output is a file.
    #[serde(skip)]
    pub written_in: DocumentKey,
    /// The kustomization that renders the object.
    #[serde(skip)]
    pub rendered_by: Option<Arc<str>>,
    /// The end of the description of each cause, which names the other meshes that inject the pod.
    #[serde(skip)]
    pub claims: String,
}

/// The path of a file, and the number of the document in it.
pub type DocumentKey = (String, usize);

/// A fact with its provenance.
#[derive(Clone, Debug, Serialize)]
pub struct FactReport<T> {
    /// The value.
    pub value: T,
    #[serde(serialize_with = "certainty")]
    pub(crate) certainty: Certainty,
    pub(crate) because: Vec<ReasonEntry>,
}

/// The prediction for a probe, a hook or the check of a virtual machine.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    /// The container; empty for a virtual machine.
    pub container: String,
    /// The list of the container; `None` for a virtual machine.
    #[serde(serialize_with = "list")]
    pub list: Option<ContainerList>,
    /// The slot, such as `readinessProbe`.
    pub slot: &'static str,
    /// The kind of the handler, such as `httpGet`.
    pub kind: &'static str,
    /// The path of the handler in the object.
    pub field: String,
    /// The file of the line if it is not that of the workload, because a patch added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line of the key.
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rendered: Option<RenderedEntry>,
    /// Whether the mesh rewrites it.
    pub rewritten: bool,
    /// Whether the sidecar captures the port; `None` if it does not matter.
    pub captured: Option<bool>,
    /// The mutual TLS mode on the port; `None` if it does not matter.
    pub mtls: Option<&'static str>,
    /// The outcome.
    #[serde(serialize_with = "outcome")]
    pub outcome: Outcome,
    /// The certainty of the outcome.
    #[serde(serialize_with = "certainty")]
    pub certainty: Certainty,
    /// The text that the kubelet prints, if it is known.
    pub kubelet: Option<String>,
    becomes: Option<BecomesReport>,
    /// The assumptions, each with the option that settles it.
    pub assumptions: Vec<String>,
    /// The facts that decided, the most important first.
    pub because: Vec<ReasonEntry>,
    /// The place of the key.
    #[serde(skip)]
    pub place: Label,
    /// The handler as written: `http :8080/healthz`.
    #[serde(skip)]
    pub written: String,
    /// The handler after the rewrite; empty if it is not rewritten.
    #[serde(skip)]
    pub rewritten_to: String,
    /// The cause of the outcome; `None` for a virtual machine.
    #[serde(skip)]
    pub cause: Option<Cause>,
    /// A short description of the cause.
    #[serde(skip)]
    pub why: &'static str,
    /// What determines its way from the kubelet to the application.
    #[serde(skip)]
    pub route: RouteFacts,
    /// All facts, in the order in which they are consulted; empty without [`Detail::Facts`].
    #[serde(skip)]
    pub facts: Vec<FactLine>,
    /// Additional lines of the explanation, for a mesh other than Istio.
    #[serde(skip)]
    pub trail: Vec<(&'static str, String)>,
    /// The outcomes under other assumptions; empty without [`Detail::Facts`].
    #[serde(skip)]
    pub otherwise: Vec<String>,
}

/// A fact as a line of an explanation.
#[derive(Clone, Debug)]
pub struct FactLine {
    /// The name of the fact: `dataplane`, `mTLS` …
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Its certainty; empty if it is not known.
    pub certainty: &'static str,
    /// Its provenance.
    pub because: Vec<Reason>,
    /// What the release does not do yet.
    pub note: Option<String>,
}

/// A reason for an outcome, with its place in the file that the user edits.
#[derive(Clone, Debug, Serialize)]
pub struct ReasonEntry {
    /// The file; `None` if no file states the reason.
    pub path: Option<String>,
    /// The line.
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    /// The reason, of which the JSON contains the message.
    #[serde(rename = "message", serialize_with = "message")]
    pub reason: Reason,
}

impl ReasonEntry {
    /// Finds the place of a reason.
    #[must_use]
    pub fn new(set: &SourceSet, reason: &Reason) -> Self {
        let location = reason.place.as_ref();
        let location = location.map(|label| source_location(set, label));
        let location = location.as_ref();
        Self {
            path: location.map(|location| location.path.to_string()),
            line: location.and_then(SourceLocation::line),
            rendered: location.and_then(RenderedEntry::of),
            reason: reason.clone(),
        }
    }

    /// Returns the entries of all reasons.
    fn all(set: &SourceSet, because: &[Reason]) -> Vec<Self> {
        let because = because.iter();
        because.map(|reason| Self::new(set, reason)).collect()
    }

    /// Returns the reason without the line of the rendered file.
    #[must_use]
    pub fn without_rendered(self) -> Self {
        Self {
            rendered: None,
            ..self
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BecomesReport {
    http_get: AgentTarget,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentTarget {
    path: String,
    port: i64,
    #[serde(skip_serializing_if = "is_plain")]
    scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    http_headers: Vec<HeaderReport>,
}

#[derive(Clone, Debug, Serialize)]
struct HeaderReport {
    name: String,
    value: String,
}

fn is_plain(scheme: &str) -> bool {
    scheme == "HTTP"
}

fn certainty<S: Serializer>(value: &Certainty, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.as_str())
}

fn list<S: Serializer>(list: &Option<ContainerList>, to: S) -> Result<S::Ok, S::Error> {
    list.map(ContainerList::key).serialize(to)
}

fn message<S: Serializer>(reason: &Reason, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&reason.message)
}

fn outcome<S: Serializer>(value: &Outcome, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.as_str())
}

impl ProbeReport {
    /// Returns the request of the kubelet after the rewrite, such as `HTTP GET :15020/app-health/web/readyz`.
    #[must_use]
    pub fn rewritten_request(&self) -> Option<String> {
        let target = &self.becomes.as_ref()?.http_get;
        Some(format!(
            "{} GET :{}{}",
            target.scheme, target.port, target.path
        ))
    }

    /// Returns the name of the handler for messages: "readinessProbe of container `web`".
    #[must_use]
    pub fn title(&self) -> String {
        match self.container.as_str() {
            "" => self.slot.to_owned(),
            container => handler_title(self.slot, container),
        }
    }

    /// Returns whether both are about the same handler of a workload.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.container, self.slot) == (&other.container, other.slot)
    }

    /// Returns whether both have the same handler, written and rewritten in the same way.
    #[must_use]
    pub fn is_same_probe(&self, other: &Self) -> bool {
        self.is_of(other)
            && (&self.written, &self.rewritten_to) == (&other.written, &other.rewritten_to)
    }
}

/// How much a report contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The outcomes with their reasons.
    Outcomes,
    /// All facts, and the outcomes under other assumptions, which takes more time.
    Facts,
}

/// Reports the handlers of all workloads that are targets, then the checks of virtual machines, in the order of the
/// predictions. Omits handlers whose key is at a place that is not wanted.
#[must_use]
pub fn report(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    detail: Detail,
    is_wanted: &dyn Fn(&Label) -> bool,
) -> Vec<WorkloadReport> {
    let names = EnvironmentNames::of(predictions);
    let shared = shared_workloads(predictions, &names);
    let reporter = Reporter {
        context,
        names: &names,
        detail,
    };
    let mut reports = Vec::new();
    for pod in predictions.iter().filter(|pod| pod.is_target) {
        let object = &pod.workload.object;
        let key = |handler: &HandlerPrediction<'_>| object.label_at(handler.handler.key.span(), "");
        let handlers = pod.handlers.iter();
        let handlers: Vec<_> = handlers
            .filter(|handler| is_wanted(&key(handler)))
            .collect();
        if handlers.is_empty() && !pod.handlers.is_empty() {
            continue;
        }
        let mut workload = reporter.workload(pod, &handlers);
        let key = (workload.written_in.clone(), workload.title.clone());
        workload.is_shared = shared.contains(&key);
        reports.push(workload);
    }
    let machines = predict::machines(context).into_iter();
    let machines = machines.filter(|machine| {
        let key = machine.probe.key.span();
        is_wanted(&machine.group.label_at(key, ""))
    });
    reports.extend(machines.map(|machine| reporter.machine(&machine)));
    reports
}

/// Returns the workloads that several environments deploy, also environments that are not reported.
fn shared_workloads(
    predictions: &[WorkloadPrediction<'_>],
    names: &EnvironmentNames,
) -> HashSet<(DocumentKey, String)> {
    let mut first: HashMap<(DocumentKey, String), Arc<str>> = HashMap::new();
    let mut shared = HashSet::new();
    for pod in predictions {
        let object = &pod.workload.object;
        if let Some(environment) = object.overlay.as_ref().map(|overlay| names.name(overlay)) {
            let key = (document_of(object), pod.full_name());
            let known = first.entry(key.clone());
            if *known.or_insert_with(|| Arc::clone(&environment)) != environment {
                shared.insert(key);
            }
        }
    }
    shared
}

fn document_of(object: &Object<'_>) -> DocumentKey {
    match chart_of_output(object.path()) {
        Some(folder) => (folder.to_owned(), 0),
        None => (object.path().to_string(), object.document.index),
    }
}

struct Reporter<'a, 't> {
    context: &'a Context<'t>,
    names: &'a EnvironmentNames,
    detail: Detail,
}

impl Reporter<'_, '_> {
    fn workload(
        &self,
        pod: &WorkloadPrediction<'_>,
        handlers: &[&HandlerPrediction<'_>],
    ) -> WorkloadReport {
        let set = self.context.sources;
        let alternatives = match self.detail {
            Detail::Facts if !handlers.is_empty() => predict::alternatives(self.context, pod),
            _ => Vec::new(),
        };
        let handlers = handlers
            .iter()
            .map(|handler| self.handler(pod, handler, &alternatives));
        WorkloadReport {
            mesh: fact_report(set, &pod.mesh, |mesh| mesh.map(Mesh::as_str)),
            dataplane: fact_report(set, &pod.dataplane, |dataplane| dataplane.as_str()),
            handlers: handlers.collect(),
            title: pod.full_name(),
            claims: other_claims(pod),
            ..self.object(&pod.workload.object, pod.namespace.as_ref())
        }
    }

    fn machine(&self, machine: &MachinePrediction<'_>) -> WorkloadReport {
        let (set, group) = (self.context.sources, &machine.group);
        let key = machine.probe.key.span();
        let mut own = group.label_at(key, "");
        (own.path, own.span) = (Arc::clone(group.path()), key);
        let location = source_location(set, &own);
        let probe = ProbeReport {
            slot: "probe",
            kind: machine.kind,
            field: "spec.probe".to_owned(),
            line: location.line(),
            rendered: RenderedEntry::of(&location),
            outcome: machine.outcome,
            certainty: machine.certainty,
            assumptions: predict::assumptions(&machine.because),
            because: ReasonEntry::all(set, &machine.because),
            written: machine.written.clone(),
            why: machine.why,
            route: RouteFacts::of_machine(machine),
            ..ProbeReport::at(group.label_at(key, ""))
        };
        let namespace = machine.namespace.as_ref();
        let prefix = namespace.map(|namespace| format!("{namespace}/"));
        WorkloadReport {
            path: location.path.to_string(),
            rendered: RenderedEntry::of(&location),
            handlers: vec![probe],
            title: format!(
                "{}WorkloadGroup/{}",
                prefix.unwrap_or_default(),
                group.name()
            ),
            is_machine: true,
            ..self.object(group, namespace)
        }
    }

    /// Returns the report of an object without its probes and facts.
    fn object(&self, object: &Object<'_>, namespace: Option<&String>) -> WorkloadReport {
        let mut place = object.label_at(object.name_span(), "");
        let shown = place.clone();
        (place.path, place.span) = (Arc::clone(object.path()), object.name_span());
        let location = source_location(self.context.sources, &place);
        let rendering = object.rendered_by;
        WorkloadReport {
            path: location.path.to_string(),
            document: object.document.index,
            rendered: RenderedEntry::of(&location),
            object: ObjectRef {
                namespace: namespace.cloned(),
                ..object.reference()
            },
            overlay: object.overlay.as_ref().map(ToString::to_string),
            mesh: FactReport::unknown(None),
            dataplane: FactReport::unknown(Dataplane::Unknown.as_str()),
            handlers: Vec::new(),
            title: String::new(),
            is_machine: false,
            place: shown,
            environment: object
                .overlay
                .as_ref()
                .map(|overlay| self.names.name(overlay)),
            is_shared: false,
            written_in: document_of(object),
            rendered_by: rendering.map(|rendering| Arc::clone(&rendering.root)),
            claims: String::new(),
        }
    }

    fn handler(
        &self,
        pod: &WorkloadPrediction<'_>,
        of: &HandlerPrediction<'_>,
        alternatives: &[Alternative<'_>],
    ) -> ProbeReport {
        let (set, object) = (self.context.sources, &pod.workload.object);
        let (handler, verdict) = (&of.handler, &of.verdict);
        let place = object.label_at(handler.key.span(), "");
        let location = source_location(set, &place);
        let has_facts = self.detail == Detail::Facts;
        let other = has_facts.then(|| otherwise(alternatives, of)).flatten();
        let other = other.into_iter().chain(of.by_other_release.clone());
        let rewritten_to = of.rewritten_to.as_ref();
        ProbeReport {
            container: of.container.name().to_owned(),
            list: Some(of.container.list),
            slot: handler.slot.key(),
            kind: handler
                .action
                .as_ref()
                .map_or("unreadable", |action| action.key()),
            field: handler.within.to_string(),
            path: (place.path != *object.path()).then(|| location.path.to_string()),
            line: location.line(),
            rendered: RenderedEntry::of(&location),
            rewritten: of.rewritten,
            captured: of.captured.as_ref().map(|fact| fact.value),
            mtls: of.mtls.as_ref().map(mode_text),
            outcome: verdict.outcome,
            certainty: verdict.certainty,
            kubelet: verdict.kubelet.clone(),
            becomes: becomes(of),
            assumptions: verdict.assumptions(),
            because: ReasonEntry::all(set, &verdict.because),
            written: handler_text(handler),
            rewritten_to: rewritten_to
                .map(|to| rewritten_text(to, of.rewritten_host()))
                .unwrap_or_default(),
            cause: Some(verdict.cause),
            why: verdict.cause.describe(),
            route: RouteFacts::of_handler(pod, of),
            facts: if has_facts {
                facts(pod, of)
            } else {
                Vec::new()
            },
            trail: of.explanation.clone(),
            otherwise: if has_facts {
                other.collect()
            } else {
                Vec::new()
            },
            ..ProbeReport::at(place)
        }
    }
}

impl ProbeReport {
    /// Returns the report of a probe about which only its place is known.
    const fn at(place: Label) -> Self {
        Self {
            container: String::new(),
            list: None,
            slot: "",
            kind: "",
            field: String::new(),
            path: None,
            line: None,
            rendered: None,
            rewritten: false,
            captured: None,
            mtls: None,
            outcome: Outcome::Unknown,
            certainty: Certainty::Unknown,
            kubelet: None,
            becomes: None,
            assumptions: Vec::new(),
            because: Vec::new(),
            place,
            written: String::new(),
            rewritten_to: String::new(),
            cause: None,
            why: "",
            route: RouteFacts::UNKNOWN,
            facts: Vec::new(),
            trail: Vec::new(),
            otherwise: Vec::new(),
        }
    }
}

impl<T> FactReport<T> {
    const fn unknown(value: T) -> Self {
        Self {
            value,
            certainty: Certainty::Unknown,
            because: Vec::new(),
        }
    }
}

fn fact_report<T: Copy, U>(
    set: &SourceSet,
    fact: &Fact<T>,
    value: impl FnOnce(T) -> U,
) -> FactReport<U> {
    FactReport {
        value: value(fact.value),
        certainty: fact.certainty,
        because: ReasonEntry::all(set, &fact.because),
    }
}

/// Returns the handler after the rewrite, if it is rewritten.
fn becomes(of: &HandlerPrediction<'_>) -> Option<BecomesReport> {
    let rewritten_to = of.rewritten_to.as_ref()?;
    let headers = of.rewritten_headers().iter().cloned();
    let http_get = AgentTarget {
        path: rewritten_to.path.clone(),
        port: rewritten_to.port,
        scheme: rewritten_to.scheme,
        host: of.rewritten_host().map(str::to_owned),
        http_headers: headers
            .map(|(name, value)| HeaderReport { name, value })
            .collect(),
    };
    Some(BecomesReport { http_get })
}

/// Returns the name of a mode; `unknown` if another tool fills it in.
fn mode_text(mode: &Fact<MtlsMode>) -> &'static str {
    match mode.certainty {
        Certainty::Unknown => "unknown",
        _ => mode.value.as_str(),
    }
}

/// Returns the end of the description of a cause that names the other meshes which inject the pod.
fn other_claims(pod: &WorkloadPrediction<'_>) -> String {
    let others = || pod.claims.iter().skip(1);
    let titles: Vec<&str> = others().map(|claim| claim.mesh.title()).collect();
    let is_certain = others().all(|claim| claim.is_certain);
    match (titles.as_slice(), pod.mesh.value) {
        ([], _) | (_, None) => String::new(),
        (titles, Some(mesh)) => format!(
            " (judged for {}; {}also injected by {})",
            mesh.title(),
            if is_certain { "" } else { "possibly " },
            sentence_list(titles)
        ),
    }
}

/// Returns the facts behind a prediction, in the order in which they are consulted.
fn facts(pod: &WorkloadPrediction<'_>, of: &HandlerPrediction<'_>) -> Vec<FactLine> {
    let on_or_off = |on: &bool| if *on { "on" } else { "off" }.to_owned();
    let yes_no = |yes: &bool| if *yes { "yes" } else { "no" }.to_owned();
    let mut lines = vec![
        fact_line("mesh", &pod.mesh, |mesh| {
            mesh.map_or("none", Mesh::as_str).to_owned()
        }),
        fact_line("dataplane", &pod.dataplane, |value| {
            value.as_str().to_owned()
        }),
    ];
    if matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    ) {
        lines.push(release_line(pod, of));
    }
    if pod.mesh.value.is_none_or(|mesh| mesh == Mesh::ISTIO) {
        lines.push(fact_line("rewrite", &pod.rewrite, on_or_off));
        let port = &pod.status_port;
        lines.push(fact_line("agent port", port, ToString::to_string));
    }
    let captured = of.captured.iter();
    lines.extend(captured.map(|captured| fact_line("captured", captured, yes_no)));
    let mtls = of.mtls.iter();
    lines.extend(mtls.map(|mtls| fact_line("mTLS", mtls, |_| mode_text(mtls).to_owned())));
    lines
}

/// Returns the line about the release, with a note if it does not rewrite the handler yet.
fn release_line(pod: &WorkloadPrediction<'_>, of: &HandlerPrediction<'_>) -> FactLine {
    let action = of.handler.action.as_ref().ok();
    let since =
        action.and_then(|action| rewritten_since(action, of.handler.slot, of.container.list));
    let later = since
        .zip(pod.release.value)
        .filter(|(since, release)| release < since);
    FactLine {
        note: later.map(|(since, _)| {
            format!("this release does not rewrite the handler; {since} and later do")
        }),
        ..fact_line("release", &pod.release, |release| {
            release.map_or_else(|| "the latest".to_owned(), |release| release.to_string())
        })
    }
}

fn fact_line<T>(name: &'static str, fact: &Fact<T>, value: impl FnOnce(&T) -> String) -> FactLine {
    // The value of an unknown fact is only assumed.
    let (value, certainty) = match fact.certainty {
        Certainty::Unknown => ("unknown".to_owned(), ""),
        certainty => (value(&fact.value), certainty.as_str()),
    };
    FactLine {
        name,
        value,
        certainty,
        because: fact.because.clone(),
        note: None,
    }
}

/// Returns the line about the first alternative that breaks a handler, if there is one.
fn otherwise(alternatives: &[Alternative<'_>], of: &HandlerPrediction<'_>) -> Option<String> {
    let (alternative, other) = alternatives.iter().find_map(|alternative| {
        let mut handlers = alternative.prediction.handlers.iter();
        let same = handlers.find(|other| other.handler.within == of.handler.within);
        Some((alternative, same?))
    })?;
    let verdict = &other.verdict;
    let (outcome, cause) = (verdict.outcome.as_str(), verdict.cause.describe());
    let suppositions = alternative.suppositions.iter();
    let settles: Vec<&str> = suppositions.map(|(_, settle)| *settle).collect();
    Some(format!(
        "{outcome} if {}: {cause} [{}]",
        alternative.description(),
        settles.join(", ")
    ))
}
