//! The predictions as plain data: one type for a probe, which every output reads. It is also the JSON of `predict`.

use std::sync::Arc;

use meshprobe_mesh::finding::{Assumption, Certainty, Label, ObjectRef};
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::predict::{Cause, Outcome, RouteFacts, handler_title};
use meshprobe_tree::source::{Fault, SourceSet};
use meshprobe_yaml::Position;
use serde::{Serialize, Serializer};

/// A workload with its probes and hooks, or a `WorkloadGroup` with its check, in one environment.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadReport {
    /// The file that the user edits.
    pub path: String,
    /// The number of the document in the file.
    pub document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<RenderedEntry>,
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
    /// Whether its probes are rewritten ahead of deployment.
    #[serde(skip)]
    pub is_prerewritten: bool,
    /// The place of its name.
    #[serde(skip)]
    pub place: Label,
    /// The name of the environment; `None` if it is deployed as it is written.
    #[serde(skip)]
    pub environment: Option<Arc<str>>,
    /// Whether several environments deploy a workload of this name, also environments that are not reported.
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
    pub certainty: Certainty,
    pub because: Vec<ReasonEntry>,
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
    pub rendered: Option<RenderedEntry>,
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
    pub(super) becomes: Option<BecomesReport>,
    /// The assumptions, each with the option that settles it.
    pub assumptions: Vec<Assumption>,
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
    /// All facts, in the order in which they are consulted.
    #[serde(skip)]
    pub facts: Vec<FactLine>,
    /// Additional lines of the explanation, for a mesh other than Istio.
    #[serde(skip)]
    pub trail: Vec<(&'static str, String)>,
    /// The outcomes under other assumptions.
    #[serde(skip)]
    pub otherwise: Vec<Assumption>,
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
    pub(super) fn all(set: &SourceSet, because: &[Reason]) -> Vec<Self> {
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
pub(super) struct BecomesReport {
    pub(super) http_get: AgentTarget,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentTarget {
    pub(super) path: String,
    pub(super) port: i64,
    #[serde(skip_serializing_if = "is_plain")]
    pub(super) scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) http_headers: Vec<HeaderReport>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct HeaderReport {
    pub(super) name: String,
    pub(super) value: String,
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

impl ProbeReport {
    /// Returns the report of a probe about which only its place is known.
    pub(super) const fn at(place: Label) -> Self {
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
    pub(super) const fn unknown(value: T) -> Self {
        Self {
            value,
            certainty: Certainty::Unknown,
            because: Vec::new(),
        }
    }
}

/// The line and column of the start and end of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionRange {
    pub start: Position,
    pub end: Position,
}

/// Returns the position of a label in the file that was read; `None` if the file has no text.
pub(crate) fn position_range(set: &SourceSet, label: &Label) -> Option<PositionRange> {
    let file = set.file(&label.path)?;
    if file.fault.as_ref().is_some_and(Fault::is_without_text) {
        return None;
    }
    Some(PositionRange {
        start: file.position(label.span.start),
        end: file.position(label.span.end.max(label.span.start)),
    })
}

/// The location of a label in the source file, which people edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The source file.
    pub path: Arc<str>,
    /// The position in the source file, if it is known.
    pub place: Option<PositionRange>,
    /// The rendered file and the position in it, if the label is in a rendered file.
    pub rendered: Option<(Arc<str>, Option<PositionRange>)>,
}

/// Returns the location of a label in the source file.
pub fn source_location(set: &SourceSet, label: &Label) -> SourceLocation {
    let read = position_range(set, label);
    match set.source_of(&label.path, label.span) {
        Some(source) => SourceLocation {
            path: source.path,
            place: source
                .place
                .map(|(start, end)| PositionRange { start, end }),
            rendered: Some((Arc::clone(&label.path), read)),
        },
        None => SourceLocation {
            path: Arc::clone(&label.path),
            place: read,
            rendered: None,
        },
    }
}

impl SourceLocation {
    /// Returns the line in the source file, if it is known.
    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.start.line)
    }

    /// Returns path, line and column, as far as known.
    pub fn shown(&self) -> String {
        with_place(&self.path, self.place)
    }

    /// Returns path, line and column in the rendered file; `None` if the label is not in a rendered file.
    pub fn shown_rendered(&self) -> Option<String> {
        let (path, place) = self.rendered.as_ref()?;
        Some(with_place(path, *place))
    }
}

fn with_place(path: &str, place: Option<PositionRange>) -> String {
    match place {
        Some(PositionRange { start, .. }) => format!("{path}:{}:{}", start.line, start.column),
        None => path.to_owned(),
    }
}

/// The line of a rendered file, if a tool has generated it.
#[derive(Clone, Debug, Serialize)]
pub struct RenderedEntry {
    path: String,
    line: Option<usize>,
}

impl RenderedEntry {
    pub fn of(location: &SourceLocation) -> Option<Self> {
        let (path, place) = location.rendered.as_ref()?;
        Some(Self {
            path: path.to_string(),
            line: place.map(|place| place.start.line),
        })
    }
}
