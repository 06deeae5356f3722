//! The interface between other layers and a mesh that is not Istio.
//!
//! Istio's behaviour depends on policies, Services and installations, so `context` combines its
//! facts. The meshes here decide from the pod, its Namespace and their own objects in that
//! namespace.
//!
//! The release of a mesh if the user sets none.
//!
//! Booleans as programs in Go read them.
//!
//! What a mesh is registered with.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, FieldPath, Value};

use super::description::{KnownKey, Mesh, MeshMarkers, MeshSetup};
use super::fact::{Fact, Reason};
use super::fault::ProbeFault;
use super::version::Version;
use crate::finding::{Certainty, Label};
use crate::kube::{Container, Object, Port, Probe, ProbeHandler, Workload};

/// The input of a mesh for a pod.
#[derive(Clone, Debug)]
pub struct PodInput<'a, 't> {
    /// The workload.
    pub workload: &'a Workload<'t>,
    /// Its Namespace, if the tree contains it.
    pub namespace: Option<&'a Object<'t>>,
    /// The name of its namespace.
    pub namespace_name: &'a str,
    /// The objects of the mesh in its namespace: policies, listeners, routes.
    pub objects: Vec<&'a Object<'t>>,
    /// The release that the user sets.
    pub release: Option<Version>,
    /// The user's setting for native sidecars: known if it overrides the tree, otherwise assumed.
    pub native_sidecars: Option<Fact<bool>>,
    /// The user's setting for injection, if the Namespace is not in the tree, or instead of it.
    pub supposed: Option<Fact<bool>>,
}

/// The relation of a pod to the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The webhook adds the proxy at admission.
    Injected,
    /// The manifest contains the proxy: the pod was injected before.
    AlreadyInjected,
    /// The webhook does not change the pod.
    Outside,
    /// The webhook rejects the pod.
    Refused,
    /// The tree does not contain the answer.
    Unknown,
}

/// A handler of a pod, with its container.
pub type HandlerRef<'t> = (Container<'t>, Probe<'t>);

/// The `httpGet` that the webhook writes for a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The path.
    pub path: String,
    /// The port.
    pub port: i64,
    /// The scheme that the kubelet will use.
    pub scheme: &'static str,
    /// All headers, if the webhook changes them.
    pub headers: Option<Vec<(String, String)>>,
    /// Whether the webhook removes `host` and `scheme`.
    pub drops_origin: bool,
}

/// What receives the request of the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDestination {
    /// Nothing that concerns a mesh.
    Nothing,
    /// The application, through a listener of the proxy.
    Application,
    /// A helper in the pod, which performs the check.
    Helper,
    /// The application: the port is excluded from traffic capture.
    Direct,
    /// Another host.
    Elsewhere,
    /// The proxy, which accepts every connection.
    Accepted,
    /// Not known: it depends on facts that only the mesh has.
    Unknown,
    /// Something other than intended.
    Fault(&'static ProbeFault),
}

/// The treatment of one handler by a mesh.
#[derive(Clone, Debug)]
pub struct ProbeTreatment {
    /// The port that the webhook resolves it to.
    pub port: Option<i64>,
    /// The rewritten handler; `None` if it is not rewritten.
    pub target: Option<Target>,
    /// What receives the request of the kubelet.
    pub destination: ProbeDestination,
    /// The deciding reasons, in addition to the membership of the pod.
    pub because: Vec<Reason>,
    /// Whether the release decides.
    pub by_release: bool,
    /// The certainty of the deciding reasons, without the membership of the pod.
    pub certainty: Certainty,
    /// Lines of an explanation: subject and text.
    pub explanation: Vec<(&'static str, String)>,
}

impl ProbeTreatment {
    /// Returns the treatment of a handler that the mesh does not change.
    #[must_use]
    pub(crate) const fn unchanged(port: Option<i64>, destination: ProbeDestination) -> Self {
        Self {
            port,
            target: None,
            destination,
            because: Vec::new(),
            by_release: false,
            certainty: Certainty::Known,
            explanation: Vec::new(),
        }
    }

    /// Limits the certainty: a deciding reason is only this certain.
    pub(crate) fn limit_certainty(&mut self, certainty: Certainty) {
        self.certainty = self.certainty.min(certainty);
    }

    /// Adds a fact to the deciding reasons, and limits the certainty to that of the fact.
    pub(crate) fn depend_on<T>(&mut self, fact: &Fact<T>) {
        self.limit_certainty(fact.certainty);
        self.because.extend(fact.because.iter().cloned());
    }
}

/// The additions of the webhook to a pod, apart from its proxy.
#[derive(Clone, Debug, PartialEq)]
pub enum Addition {
    /// A container, last in the list.
    Container(Value),
    /// An annotation of the pod.
    Annotation(&'static str, String),
    /// A field of the pod template that it removes.
    Removal(FieldPath),
}

/// How a rewrite ahead of deployment works together with the webhook.
#[derive(Clone, Copy, Debug)]
pub struct RewriteSupport {
    /// The oldest supported release of `rewrite`; for earlier ones, only findings are reported.
    pub oldest: Version,
    /// Why pre-rewritten manifests cannot be deployed.
    pub not_deployable: &'static str,
    /// A caution about the output of a preview.
    pub caution: &'static str,
}

impl RewriteSupport {
    /// Returns the value for a mesh that does not change probes; `reason` states it.
    pub(super) const fn unchanged(oldest: Version, reason: &'static str) -> Self {
        Self {
            oldest,
            not_deployable: reason,
            caution: reason,
        }
    }
}

/// A mesh other than Istio.
pub trait MeshModel: Sync {
    /// Returns the release to apply, given the one that the user sets.
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>>;

    /// Returns the release that an image of a control plane contains.
    fn release_of_image(&self, _image: &str) -> Option<Version> {
        None
    }

    /// Returns the release that a version of a chart, or a range of versions, installs.
    fn release_of_chart(&self, _name: &str, _version: &str) -> Option<Version> {
        None
    }

    /// Returns one release for each other treatment of probes than that of the default release.
    fn other_releases(&self) -> &'static [Version] {
        &[]
    }

    /// Returns the name of a release, such as "2.8".
    fn name_of(&self, release: Version) -> String {
        release.to_string()
    }

    /// Returns the names of the containers that the webhook adds.
    fn own_containers(&self) -> &'static [&'static str];

    /// Returns whether the Namespace decides which of its pods are injected; otherwise the pods do, or the
    /// installation of the mesh.
    fn namespace_decides(&self) -> bool {
        true
    }

    /// Decides whether the pod is a member of the mesh.
    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership>;

    /// Returns the treatment of each handler of the pod, in order.
    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment>;

    /// Returns how a pre-rewritten manifest works together with the webhook.
    fn shape(&self) -> RewriteSupport;

    /// Returns the caution about the output of a preview for a release.
    fn caution(&self, _release: Option<Version>) -> &'static str {
        self.shape().caution
    }

    /// Returns what the webhook adds to an injected pod because of its probes.
    ///
    /// # Errors
    /// The position and the reason, if a value in the manifest conflicts with the additions.
    fn additions(
        &self,
        _input: &PodInput<'_, '_>,
        _handlers: &[HandlerRef<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        Ok(Vec::new())
    }

    /// Returns whether the mesh writes the configuration of its proxies for probes at
    /// admission.
    fn has_bootstrap(&self) -> bool {
        false
    }

    /// Returns the configuration of an injected pod's proxy for its probes; `None` if the mesh
    /// writes none.
    fn bootstrap_config(
        &self,
        _input: &PodInput<'_, '_>,
        _handlers: &[HandlerRef<'_>],
    ) -> Option<serde_json::Value> {
        None
    }

    /// Returns the purpose of a port that the proxy of a pod uses.
    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        _port: i64,
    ) -> Option<&'static str> {
        None
    }
}

/// Returns an unknown membership if another tool fills in one of these annotations of the
/// pod.
pub(super) fn placeholder_membership(
    input: &PodInput<'_, '_>,
    keys: &[&str],
) -> Option<Fact<Membership>> {
    let template = &input.workload.template;
    let entry = keys
        .iter()
        .filter_map(|key| template.annotation(key))
        .find(|entry| entry.value.text().is_some_and(placeholder::contains))?;
    let message = "fills in this value, which affects the probes";
    Some(filled_in(&input.workload.object, &entry, message))
}

fn filled_in(object: &Object<'_>, entry: &Entry<'_>, message: &str) -> Fact<Membership> {
    let place = object.placeholder_at(entry.value.span(), message);
    Fact {
        certainty: Certainty::Unknown,
        ..Fact::known(Membership::Unknown, place)
    }
}

/// The option that settles whether pods are injected.
pub(super) const SETTLE_INJECTION: &str = "--assume injection=all|none";

/// The values of a switch that [`by_switch`] names if the webhook accepts no other.
pub(super) const SWITCH_VALUES: &str = "one of `enabled`, `yes`, `true`, `disabled`, `no`, `false`";

/// Decides membership by a label or an annotation that switches injection on or off. If the webhook does not accept its
/// value, which is then not `expected`, it rejects the pod.
pub(super) fn by_switch(
    object: &Object<'_>,
    entry: &Entry<'_>,
    switch: Option<bool>,
    expected: &str,
) -> Fact<Membership> {
    let text = entry.value.text().unwrap_or_default();
    if placeholder::contains(text) {
        let message = "fills in this value, which decides about injection";
        return filled_in(object, entry, message);
    }
    let (membership, message) = match switch {
        Some(true) => (Membership::Injected, "injection is on".to_owned()),
        Some(false) => (
            Membership::Outside,
            "injection is switched off here".to_owned(),
        ),
        None => {
            let message = format!("the webhook rejects the pod: `{text}` is not {expected}");
            (Membership::Refused, message)
        }
    };
    Fact::known(membership, object.label_at(entry.value.span(), message))
}

/// Decides membership by the option of the user.
pub(super) fn by_option(hypothesis: &Fact<bool>) -> Fact<Membership> {
    hypothesis.clone().map(|on| match on {
        true => Membership::Injected,
        false => Membership::Outside,
    })
}

/// Returns the unknown membership of a pod whose Namespace decides, and is not in the tree.
pub(super) fn without_namespace(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let message = format!(
        "the Namespace manifest `{}` is not in scope, so it is not known whether the pod is injected",
        input.namespace_name
    );
    Fact::unknown(Membership::Unknown, message, Some(SETTLE_INJECTION))
}

/// Returns the membership of a pod that contains the container of the proxy.
pub(super) fn with_container(
    input: &PodInput<'_, '_>,
    container: &str,
    message: &str,
) -> Option<Fact<Membership>> {
    let containers = input.workload.template.containers();
    let own = containers.iter().find(|own| own.name() == container)?;
    let name = own.node.get("name")?;
    let place = input.workload.object.label_at(name.span(), message);
    Some(Fact::known(Membership::AlreadyInjected, place))
}

/// Returns a reason at the annotation `key` of the pod if it lists `port` as excluded from traffic
/// capture.
pub(super) fn exclusion(input: &PodInput<'_, '_>, key: &str, port: Option<i64>) -> Option<Reason> {
    let entry = input.workload.template.annotation(key)?;
    entry
        .value
        .text()?
        .split(',')
        .map(str::trim)
        .find(|entry| entry.parse::<i64>().is_ok_and(|entry| Some(entry) == port))?;
    let message = "these ports are excluded from traffic capture";
    let object = &input.workload.object;
    Some(Reason::written(
        object.label_at(entry.value.span(), message),
    ))
}

/// Returns the treatment of each handler by a mesh that does not change probes. `judge` decides for handlers with a port,
/// if the pod takes part in the mesh.
pub(super) fn treatments_of_unchanged_probes(
    membership: Membership,
    handlers: &[HandlerRef<'_>],
    judge: impl Fn(&HandlerRef<'_>, &ProbeHandler, i64) -> ProbeTreatment,
) -> Vec<ProbeTreatment> {
    let takes_part = matches!(
        membership,
        Membership::Injected | Membership::AlreadyInjected
    );
    handlers
        .iter()
        .map(|handler| {
            let action = handler.1.action.as_ref().ok();
            let number = port_of(handler);
            match (action, number) {
                (Some(action), Some(number)) if takes_part => judge(handler, action, number),
                _ => ProbeTreatment::unchanged(number, ProbeDestination::Nothing),
            }
        })
        .collect()
}

/// Returns the port that a handler targets, if it can be resolved.
pub(super) fn port_of((container, handler): &HandlerRef<'_>) -> Option<i64> {
    let port = handler.action.as_ref().ok()?.port()?;
    resolve(&port, container)
}

/// Resolves a port as the webhooks do: a number, digits in quotes, or the first declaration of
/// that name in the same container, with any protocol.
#[must_use]
pub(crate) fn resolve(port: &Port, container: &Container<'_>) -> Option<i64> {
    match port {
        Port::Number(number) => Some(*number),
        Port::Name(name) => name.parse().ok().or_else(|| {
            let mut ports = container.ports();
            ports
                .find(|declared| declared.name == Some(name.as_str()))?
                .number
        }),
    }
}

/// Returns the release that the user sets for a mesh; without one, `latest` describes the default.
pub(super) fn release_of(
    mesh: Mesh,
    given: Option<Version>,
    latest: &'static str,
) -> Fact<Option<Version>> {
    match given {
        Some(release) => {
            let message = format!("{} {release} (--mesh-version)", mesh.title());
            Fact::settled(Some(release), message)
        }
        None => Fact::default(None, latest, mesh.settle_release()),
    }
}

/// Parses a boolean as Go's `strconv.ParseBool` does; `None` if it returns an error.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// A mesh as the registry lists it: its names, its behaviour and the evidence for it.
pub(in crate::mesh) struct MeshDefinition {
    /// Its names.
    pub mesh: Mesh,
    /// How it treats probes; `None` for Istio, which has its own layers.
    pub model: Option<&'static dyn MeshModel>,
    /// How it is recognized.
    pub markers: MeshMarkers,
    /// The labels and annotations that users write.
    pub keys: &'static [KnownKey],
    /// The faults that only this mesh has.
    pub faults: &'static [&'static ProbeFault],
    /// The configurations that `docs/meshes.md` shows; at least one.
    pub setups: &'static [MeshSetup],
    /// The file of the releases that the mesh's oracle has compared with meshprobe; empty without an oracle.
    pub proven: &'static str,
}
