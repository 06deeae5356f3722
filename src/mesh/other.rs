//! The small interface through which the other layers ask a mesh that is not Istio.
//!
//! Istio's answers depend on policies, Services and installations, so its facts are put together
//! in `context`; the meshes here decide from the pod, its Namespace and their own
//! objects beside it.

use crate::finding::{Certainty, Label};
use crate::kube::{Container, Handler, Object, Port, Workload};

use crate::source::placeholder;
use crate::yaml::{Route, Value};

use super::{Fact, Mesh, Reason, Version};

/// What a mesh is told about a pod.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a, 't> {
    /// The workload.
    pub workload: &'a Workload<'t>,
    /// Its Namespace, where the tree holds it.
    pub namespace: Option<&'a Object<'t>>,
    /// The name of that.
    pub namespace_name: &'a str,
    /// The objects of the mesh in its namespace: policies, listeners, routes.
    pub objects: Vec<&'a Object<'t>>,
    /// The release that the user names.
    pub release: Option<Version>,
    /// What the user says about native sidecars.
    pub native_sidecars: Option<bool>,
    /// What the user says about injection where the Namespace is not in the tree, or in its place.
    pub supposed: Option<Fact<bool>>,
}

/// How a pod takes part in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    /// The webhook adds the proxy at admission.
    Injected,
    /// The manifest carries the proxy: it was injected already.
    Brought,
    /// The webhook leaves it alone.
    Outside,
    /// The webhook refuses the pod.
    Refused,
    /// The tree does not say.
    Unknown,
}

/// A handler of a pod, with its container.
pub(crate) type Each<'t> = (Container<'t>, Handler<'t>);

/// The `httpGet` that the webhook makes of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The path.
    pub path: String,
    /// The port.
    pub port: i64,
    /// The scheme that the kubelet will use.
    pub scheme: &'static str,
    /// All headers, where the webhook changes them.
    pub headers: Option<Vec<(String, String)>>,
    /// `host` and `scheme` are taken out.
    pub drops_origin: bool,
}

/// What the check of the kubelet meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meets {
    /// Nothing that a mesh has to do with.
    Nothing,
    /// The application, through a listener of the proxy.
    Application,
    /// A helper in the pod, which makes the check.
    Helper,
    /// The application: the redirect leaves the port alone.
    Direct,
    /// Another host.
    Elsewhere,
    /// The proxy, which accepts every connection.
    Accepted,
    /// Nobody can tell: it depends on what only the mesh itself knows.
    Unknown,
    /// Something that is not what was meant.
    Trouble(Trouble),
}

/// What a mesh beside Istio does wrong to a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// A probe of the same kind in another container takes its place.
    AnsweredByOther,
    /// A probe of the same kind in another container takes its listener away.
    ListenerTaken,
    /// A probe of the same kind in another container takes the helper away.
    HelperTaken,
    /// Of several HTTPS probes of a kind one alone is passed on.
    TlsAnsweredByOther,
    /// HTTP and HTTPS probes of a kind share one listener, which speaks one of them.
    TlsMixed,
    /// gRPC in plain text meets mutual TLS.
    GrpcAtMtls,
    /// HTTP in plain text meets mutual TLS: the mesh left the probe as it is.
    PlainAtMtls,
    /// A hook in plain text meets mutual TLS.
    HookAtMtls,
    /// The rewrite drops `tcpSocket.host`.
    HostLost,
    /// The rewrite keeps `httpGet.host` and changes the port.
    HostKept,
    /// The mesh takes the port name for that of another container.
    NameOfOther,
    /// The port is one of the proxy.
    PortOfProxy,
    /// The handler points at a listener of the proxy, which is told to ask itself.
    AsksItself,
    /// The handler points at a proxy that is not there.
    WithoutProxy,
    /// The proxy is there, and the probe does not point at it.
    NotChanged,
    /// The probe points at the proxy, which has no listener for it.
    NoListener,
    /// The probe points at the helper, which is not there or is not told the port.
    NoHelper,
    /// The webhook drops `restartPolicy`: the pod never gets past its init containers.
    NeverStarts,
    /// HTTPS at a listener that speaks plain HTTP.
    PlainListener,
    /// The mesh asks the application with another `Host` header.
    HostHeaderLost,
    /// The mesh asks the pod itself in place of `httpGet.host`.
    HttpHostLost,
    /// The probe points at the agent, which is switched off.
    AgentOff,
    /// The webhook refuses the pod for the port of the probe.
    PodRefused,
    /// The webhook leaves probes of native sidecars alone.
    SidecarLeft,
    /// The path is exposed to the letter, with its query.
    QueryInPath,
    /// A route for the port takes the place of the one that the mesh makes for the probe.
    RouteHidesProbe,
    /// The port lets in clients of the mesh alone, and gRPC probes get no route of their own.
    GrpcDenied,
    /// The port lets in clients of the mesh alone, and hooks get no route of their own.
    HookDenied,
    /// The port lets in clients of the mesh alone, and the mesh can make no route for the probe.
    NoProbeRoute,
    /// The route that the mesh makes for the probe never fits: its path has no slash in front.
    PathWithoutSlash,
    /// The proxy is not told of the port.
    PortUndeclared,
    /// The listener of the port accepts TLS alone, or asks for the client's certificate.
    PlainAtStrict,
}

/// What becomes of a handler in trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It fails although the application is up.
    Fails,
    /// It tests something else.
    TestsOther,
}

impl Trouble {
    /// Returns what becomes of the handler.
    #[must_use]
    pub const fn effect(self) -> Effect {
        match self {
            Self::AnsweredByOther
            | Self::TlsAnsweredByOther
            | Self::HostLost
            | Self::HostHeaderLost
            | Self::HttpHostLost
            | Self::NameOfOther => Effect::TestsOther,
            _ => Effect::Fails,
        }
    }

    /// Returns the trouble in a few words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::AnsweredByOther => "a probe of another container is asked in its place",
            Self::ListenerTaken => "a probe of another container takes its listener away",
            Self::HelperTaken => "a probe of another container takes the helper away",
            Self::TlsAnsweredByOther => "an HTTPS probe of another container is asked in its place",
            Self::TlsMixed => "HTTP and HTTPS share one listener, which speaks one of them",
            Self::GrpcAtMtls => "gRPC in plain text at a port that demands mutual TLS",
            Self::PlainAtMtls => "plain text at a port that demands mutual TLS",
            Self::NameOfOther => "the port name stands for the port of another container",
            Self::HookAtMtls => "a hook in plain text at a port that demands mutual TLS",
            Self::HostLost => "the pod itself is tested in place of `host`",
            Self::HostKept => "the kubelet asks `host` on the port of the proxy",
            Self::PortOfProxy => "the port is the proxy's own",
            Self::AsksItself => "points at the proxy already, which would ask itself without end",
            Self::WithoutProxy => "points at a proxy that is not there",
            Self::NotChanged => "the proxy is there, but the probe was not changed",
            Self::NoListener => "points at the proxy, which has no listener for it",
            Self::NoHelper => "points at the helper, which cannot make the check",
            Self::NeverStarts => "the webhook drops `restartPolicy`: the pod never starts",
            Self::PlainListener => "HTTPS at a listener that speaks plain HTTP",
            Self::HostHeaderLost => "the application is asked without the `Host` header",
            Self::HttpHostLost => "the pod itself is asked in place of `host`",
            Self::AgentOff => "points at an agent that is switched off",
            Self::PodRefused => "the webhook refuses the pod for the port of the probe",
            Self::SidecarLeft => "the webhook leaves probes of native sidecars alone",
            Self::QueryInPath => "the path is exposed to the letter, with its query",
            Self::RouteHidesProbe => "a route for the port takes the place of the probe's own",
            Self::GrpcDenied => "the port lets in the mesh alone, and gRPC gets no exception",
            Self::HookDenied => "the port lets in the mesh alone, and hooks get no exception",
            Self::NoProbeRoute => "the port lets in the mesh alone, without exception",
            Self::PathWithoutSlash => "the exception for the probe never fits: no slash in front",
            Self::PortUndeclared => "the proxy is not told of the port",
            Self::PlainAtStrict => "the listener of the port accepts TLS of the mesh alone",
        }
    }
}

/// What a mesh does to one handler.
#[derive(Clone, Debug)]
pub(crate) struct Treatment {
    /// The port it resolves to, as the webhook resolves it.
    pub port: Option<i64>,
    /// What it is turned into; `None` where it stays.
    pub target: Option<Target>,
    /// What the kubelet meets.
    pub meets: Meets,
    /// What decided, beside the membership of the pod.
    pub because: Vec<Reason>,
    /// The release decided.
    pub by_release: bool,
    /// No surer than this is what decided, beside the membership of the pod.
    pub certainty: Certainty,
    /// Lines for an explanation: what they are about, and what they say.
    pub trail: Vec<(&'static str, String)>,
}

impl Treatment {
    /// The mesh leaves the handler alone.
    #[must_use]
    pub(crate) const fn left(port: Option<i64>, meets: Meets) -> Self {
        Self {
            port,
            target: None,
            meets,
            because: Vec::new(),
            by_release: false,
            certainty: Certainty::Known,
            trail: Vec::new(),
        }
    }

    /// Something decided that is no surer than this, as the reasons say.
    pub(crate) fn no_surer_than(&mut self, certainty: Certainty) {
        self.certainty = self.certainty.min(certainty);
    }

    /// Lets the treatment rest on a fact: it is no surer, and says what the fact says.
    pub(crate) fn rest_on<T>(&mut self, fact: &Fact<T>) {
        self.no_surer_than(fact.certainty);
        self.because.extend(fact.because.iter().cloned());
    }
}

/// What the webhook adds to a pod beside its proxy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Addition {
    /// A container, last in the list.
    Container(Value),
    /// An annotation of the pod.
    Annotation(&'static str, String),
    /// A field of the pod template that it takes out.
    Removal(Route),
}

/// How a rewrite ahead of deployment gets on with the webhook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The oldest release that is rewritten; those before are only linted.
    pub oldest: Version,
    /// Why manifests that were rewritten ahead cannot be deployed.
    pub why_not: &'static str,
    /// What to know about what a preview shows.
    pub caution: &'static str,
}

impl Shape {
    /// The mesh changes no probes, which `said` says of it.
    pub(super) const fn unchanged(oldest: Version, said: &'static str) -> Self {
        Self {
            oldest,
            why_not: said,
            caution: said,
        }
    }
}

/// A mesh beside Istio.
pub(crate) trait Model: Sync {
    /// Returns the release to judge by, given the one that the user names.
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>>;

    /// Returns a release of each kind that treats probes in another way than the one that is taken
    /// where the user names none.
    fn other_releases(&self) -> &'static [Version] {
        &[]
    }

    /// Names a release: "2.8".
    fn name_of(&self, release: Version) -> String {
        release.to_string()
    }

    /// Returns the names of the containers that the webhook adds.
    fn own_containers(&self) -> &'static [&'static str];

    /// Tells whether the Namespace says which of its pods are injected; else the pods do, or how the
    /// mesh is installed.
    fn namespace_decides(&self) -> bool {
        true
    }

    /// Decides how the pod takes part.
    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership>;

    /// Says for each handler of the pod, in their order, what the mesh does to it.
    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment>;

    /// Returns how a rewrite ahead gets on with the webhook.
    fn shape(&self) -> Shape;

    /// Returns what the webhook adds to an injected pod for the sake of its probes.
    ///
    /// # Errors
    /// Where something of the pod's owner is in the way, and what.
    fn additions(
        &self,
        _asked: &Asked<'_, '_>,
        _handlers: &[Each<'_>],
    ) -> Result<Vec<Addition>, (Label, String)> {
        Ok(Vec::new())
    }

    /// Tells whether the mesh writes what its proxies are told of probes into a configuration that
    /// is made at admission.
    fn has_bootstrap(&self) -> bool {
        false
    }

    /// Returns what the proxy of an injected pod is told of its probes; `None` where the mesh
    /// writes no such configuration for it.
    fn proxy(&self, _asked: &Asked<'_, '_>, _handlers: &[Each<'_>]) -> Option<serde_json::Value> {
        None
    }

    /// Returns what the proxy uses a port of the pod for.
    fn port_owner(&self, _port: i64) -> Option<&'static str> {
        None
    }
}

/// Takes the release that the user names for a mesh; else `latest` says what is taken.
pub(super) fn release_of(
    mesh: Mesh,
    given: Option<Version>,
    latest: &'static str,
) -> Fact<Option<Version>> {
    match given {
        Some(release) => {
            let said = format!("{} {release} (--mesh-version)", mesh.title());
            Fact::settled(Some(release), said)
        }
        None => Fact::default(None, latest, mesh.settle_release()),
    }
}

/// Returns the model of a mesh: `None` for Istio, which has its own layers.
#[must_use]
pub(crate) fn model(mesh: Mesh) -> Option<&'static dyn Model> {
    match mesh {
        Mesh::Osm => Some(&super::osm::Osm),
        Mesh::Kuma => Some(&super::kuma::Kuma),
        Mesh::Consul => Some(&super::consul::Consul),
        Mesh::Linkerd => Some(&super::linkerd::Linkerd),
        Mesh::AppMesh => Some(&super::app_mesh::AppMesh),
        Mesh::Cilium => Some(&super::cilium::Cilium),
        Mesh::Istio => None,
    }
}

/// Returns that nobody can tell, where one of these annotations of the pod is filled in by another
/// tool.
pub(super) fn filled_in(asked: &Asked<'_, '_>, keys: &[&str]) -> Option<Fact<Membership>> {
    let template = &asked.workload.template;
    let mut entries = keys.iter().filter_map(|key| template.annotation(key));
    let entry = entries.find(|entry| entry.value.text().is_some_and(placeholder::contains))?;
    let said = "this decides about the probes, and another tool fills it in";
    let place = asked.workload.object.label_at(entry.value.span(), said);
    Some(Fact {
        certainty: Certainty::Unknown,
        ..Fact::known(Membership::Unknown, place)
    })
}

/// Returns the annotation `key` of the pod where it names `port` among those that the redirect leaves
/// alone.
pub(super) fn exclusion(asked: &Asked<'_, '_>, key: &str, port: Option<i64>) -> Option<Reason> {
    let entry = asked.workload.template.annotation(key)?;
    let mut listed = entry.value.text()?.split(',').map(str::trim);
    listed.find(|one| one.parse::<i64>().is_ok_and(|one| Some(one) == port))?;
    let said = "the redirect leaves these ports alone";
    let object = &asked.workload.object;
    Some(Reason::written(object.label_at(entry.value.span(), said)))
}

/// Returns the port of the pod that a handler asks for, if it has one that resolves.
pub(super) fn port_of((container, handler): &Each<'_>) -> Option<i64> {
    let port = handler.action.as_ref().ok()?.port()?;
    resolve(&port, container)
}

/// Resolves a port as the webhooks do: a number, digits in quotes, or the first declaration of
/// that name in the same container, of any protocol.
#[must_use]
pub(crate) fn resolve(port: &Port, container: &Container<'_>) -> Option<i64> {
    match port {
        Port::Number(number) => Some(*number),
        Port::Name(name) => name.parse().ok().or_else(|| {
            let mut ports = container.ports();
            ports.find(|one| one.name == Some(name.as_str()))?.number
        }),
    }
}
