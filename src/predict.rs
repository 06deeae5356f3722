//! What the mesh will do to each probe handler, and what the kubelet will then meet.
//!
//! Source of the outcomes: measured with Istio 1.31, Envoy 1.40 and the prober of Kubernetes
//! 1.36; the decision order is in `docs/prediction.md`.

mod agent;
mod cause;
mod chain;
mod env;
mod explain;
mod hazard;
mod hidden;
mod kubelet;
mod machine;
mod other;
mod outcome;
mod owner;
mod report;
mod row;
mod ties;
mod verdict;
mod worlds;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::context::{Context, Dataplane, Doubt, ProberEnv, Refusal};
use crate::finding::Certainty;
use crate::kube::{self, Action, Container, ContainerList, Handler, Workload};
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::istio::rewrite::{agent_path, is_agent_path, rewritten_since};
use crate::mesh::other::Target;
use crate::mesh::{Fact, Mesh, Reason, Version};

pub use crate::mesh::other::Trouble;
pub use cause::Cause;
pub use env::EnvRefusal;
use env::Reinjection;
pub use explain::{Explanation, Line, explanations};
pub use hazard::{Hazard, hazard, hazards, unrecorded_field};
pub use machine::{
    MachinePrediction, OwnPort, machines, other_host, own_port, unknown_release, verified,
};
pub use outcome::Outcome;
pub use owner::port_owner;
pub use report::Report;
pub use row::{Row, rows, table};
pub use worlds::{World, evident_worlds, worlds};

/// An outcome with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What the kubelet meets.
    pub outcome: Outcome,
    /// Why.
    pub cause: Cause,
    /// As sure as the weakest fact that decided.
    pub certainty: Certainty,
    /// The facts that decided, the most important first.
    pub because: Vec<Reason>,
    /// The text the kubelet will print, where it is known.
    pub kubelet: Option<String>,
}

impl Verdict {
    /// Returns what had to be taken for granted, each with the option that settles it.
    #[must_use]
    pub fn assumptions(&self) -> Vec<String> {
        assumptions(&self.because)
    }
}

fn assumptions(because: &[Reason]) -> Vec<String> {
    let unwritten = because.iter().filter(|reason| reason.place.is_none());
    let mut settled: Vec<&str> = Vec::new();
    let mut assumptions = Vec::new();
    for reason in unwritten {
        // One line per fact: what one option settles is one fact.
        let Some(settle) = reason.settle.filter(|one| !settled.contains(one)) else {
            continue;
        };
        settled.push(settle);
        assumptions.push(format!("{} [{settle}]", reason.message));
    }
    assumptions
}

/// Why a handler is left alone that later releases rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The first release that rewrites it is a later one.
    Release(Version),
    /// istiod is told not to rewrite tcpSocket probes, which it can be up to 1.18.
    TcpSwitch,
}

/// What a handler is turned into: always an `httpGet`.
pub type Becomes = Target;

/// One handler and what becomes of it.
#[derive(Clone, Debug)]
pub struct HandlerPrediction<'t> {
    /// The container.
    pub container: Container<'t>,
    /// The handler as written.
    pub handler: Handler<'t>,
    /// The injector points it at the agent.
    pub rewritten: bool,
    /// Why the injector would leave it alone even with the rewrite on, where a later release would
    /// not.
    pub gap: Option<Gap>,
    /// The port the handler resolves to, if it does.
    pub port: Option<i64>,
    /// A connection to that port ends at the sidecar; `None` where the question does not arise.
    pub captured: Option<Fact<bool>>,
    /// The mode on that port; `None` where the question does not arise.
    pub mtls: Option<Fact<MtlsMode>>,
    /// What it is turned into.
    pub becomes: Option<Becomes>,
    /// More lines for an explanation, of a mesh that is not Istio.
    pub trail: Vec<(&'static str, String)>,
    /// What becomes of it in another release, where nobody names the release and that matters; of
    /// a mesh that is not Istio.
    pub otherwise: Option<String>,
    /// What the kubelet meets.
    pub verdict: Verdict,
}

impl<'t> HandlerPrediction<'t> {
    /// Names the handler for messages: "readinessProbe of container `web`".
    #[must_use]
    pub fn title(&self) -> String {
        format!(
            "{} of container `{}`",
            self.handler.slot.key(),
            self.container.name()
        )
    }

    /// Returns the port for a message: a number in quotes is told as the number, and 0 stands for none.
    #[must_use]
    pub fn port_said(&self) -> i64 {
        let action = self.handler.action.as_ref().ok();
        let written = || action?.port()?.to_string().parse().ok();
        self.port.or_else(written).unwrap_or_default()
    }

    /// Returns why the API server refuses the handler; `None` where it takes it, or where its type
    /// is wrong already.
    #[must_use]
    pub fn refused_by_api(&self) -> Option<kube::Refusal> {
        // The verdict says so before anything else.
        let is_refused = self.verdict.cause == Cause::Malformed;
        is_refused
            .then(|| kube::refused_by_api(&self.container, &self.handler))
            .flatten()
    }

    /// Returns the path of the agent that the handler asks for as it is written; `None` where it
    /// asks for another.
    #[must_use]
    pub fn agent_path(&self) -> Option<&str> {
        match &self.handler.action {
            Ok(Action::HttpGet(http)) if is_agent_path(&http.path) => Some(&http.path),
            _ => None,
        }
    }

    /// Tells whether the request of the handler, sent to the port of the application as it is, is
    /// HTTP for the sidecar, and not bytes to be passed on.
    #[must_use]
    pub fn is_seen_as_http(&self, context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> bool {
        chain::request_of(context, pod, self).is_some_and(|request| request.is_http)
    }

    /// Says which AuthorizationPolicy refuses the handler of `pod`, and why; `None` where the
    /// verdict has another cause.
    #[must_use]
    pub fn refusal(
        &self,
        context: &Context<'t>,
        pod: &WorkloadPrediction<'t>,
    ) -> Option<Refusal<'t>> {
        chain::refusal(context, pod, self)
    }

    /// Says which AuthorizationPolicy leaves open whether the handler of `pod` passes, and on what
    /// that depends; `None` where the verdict has another cause.
    #[must_use]
    pub fn doubt(&self, context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Option<Doubt<'t>> {
        chain::doubt(context, pod, self)
    }
}

/// One workload and what becomes of its handlers.
#[derive(Clone, Debug)]
pub struct WorkloadPrediction<'t> {
    /// The workload.
    pub workload: Workload<'t>,
    /// Findings about it are wanted.
    pub is_target: bool,
    /// The namespace it goes to, where something says so.
    pub namespace: Option<String>,
    /// The mesh by which it is judged; `None` where there is none.
    pub mesh: Fact<Option<Mesh>>,
    /// How it takes part in the mesh.
    pub dataplane: Fact<Dataplane>,
    /// The injector is asked about it; a sidecar that the manifest brings along may be all there is.
    pub is_asked: bool,
    /// Whether the injector rewrites its probes, should it be asked.
    pub rewrite: Fact<bool>,
    /// The release that injects it; `None` stands for the latest.
    pub release: Fact<Option<Version>>,
    /// Where rewritten probes are pointed at.
    pub status_port: Fact<i64>,
    /// Where the agent listens.
    pub agent_port: Fact<i64>,
    /// A connection to the status port ends at the sidecar; `None` without one.
    pub status_port_captured: Option<Fact<bool>>,
    /// The prober env that the manifest carries.
    pub prober_env: Option<ProberEnv>,
    /// That the injector refuses the pod, with the annotation for which it does; `None` where it
    /// does not.
    pub refused: Option<Fact<()>>,
    /// Why the agent does not start on it, where it does not.
    pub env_refusal: Option<EnvRefusal>,
    /// What the injector does to the prober env.
    pub(crate) reinjection: Reinjection,
    /// Its probes and hooks.
    pub handlers: Vec<HandlerPrediction<'t>>,
}

impl WorkloadPrediction<'_> {
    /// Returns the port of the application that a handler tests: of one that was rewritten ahead
    /// it stands in the prober env.
    #[must_use]
    pub fn application_port(&self, handler: &HandlerPrediction<'_>) -> Option<i64> {
        match handler.agent_path() {
            Some(path) => self.prober_env.as_ref()?.port_of(path),
            None => handler.port,
        }
    }

    /// Tells whether the manifest holds any part of a rewrite that was made ahead of deployment:
    /// a handler at a path of the agent, readable or not, or the name of the prober env anywhere.
    /// What such a pod does rests on how all its parts go together.
    #[must_use]
    pub fn is_rewritten_ahead(&self) -> bool {
        let path = |handler: &Handler<'_>| {
            let path = handler.node.get("httpGet")?.get("path")?;
            path.text().map(is_agent_path)
        };
        let holds_env = self
            .workload
            .object
            .node
            .source()
            .contains(keys::PROBERS_ENV);
        let mut handlers = self.handlers.iter();
        self.prober_env.is_some()
            || holds_env
            || handlers.any(|one| path(&one.handler).unwrap_or(false))
    }
}

/// Predicts all workloads, in the order of the tree.
#[must_use]
pub fn predict_all<'t>(context: &Context<'t>) -> Vec<WorkloadPrediction<'t>> {
    let subjects = context.inventory.workloads.par_iter();
    subjects
        .map(|subject| WorkloadPrediction {
            is_target: subject.is_target,
            ..predict_workload(context, &subject.workload)
        })
        .collect()
}

/// Brings predictions in the order of the files; of one document, by the kustomization that
/// renders it.
pub fn sort_by_place(predictions: &mut [WorkloadPrediction<'_>]) {
    predictions.sort_by(|a, b| {
        let (a, b) = (&a.workload.object, &b.workload.object);
        let files = a.path().cmp(b.path());
        files
            .then(a.document.index.cmp(&b.document.index))
            .then(a.rendered_by.cmp(&b.rendered_by))
            .then(a.overlay.cmp(&b.overlay))
    });
}

/// Predicts one workload as it stands. Where control planes that are equally near differ, what
/// comes out whichever serves is no assumption.
#[must_use]
pub fn predict_workload<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
) -> WorkloadPrediction<'t> {
    let mut prediction = predict_with(context, workload, context.rewrite(workload));
    ties::settle(context, workload, &mut prediction);
    hidden::settle(context, workload, &mut prediction);
    prediction
}

/// Predicts one workload as if `rewrite` held for its pods.
#[must_use]
pub fn predict_with<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    rewrite: Fact<bool>,
) -> WorkloadPrediction<'t> {
    let injection = context.injection(workload);
    let mut prediction = WorkloadPrediction {
        workload: workload.clone(),
        is_target: true,
        namespace: match context.namespace_of(&workload.object) {
            (namespace, true) => Some(namespace.to_owned()),
            (_, false) => None,
        },
        mesh: context.mesh(workload),
        is_asked: matches!(injection.value, Dataplane::Sidecar | Dataplane::Uncaptured),
        dataplane: context.dataplane_after(workload, || injection),
        rewrite,
        release: context.version(workload),
        status_port: context.status_port(workload),
        agent_port: context.agent_port(workload),
        status_port_captured: None,
        prober_env: context.prober_env(workload),
        refused: None,
        env_refusal: None,
        reinjection: Reinjection::Untouched,
        handlers: Vec::new(),
    };
    if let Some(other) = context.other_pod(workload) {
        prediction.handlers = other::handlers(context, &prediction, &other);
        return prediction;
    }
    prediction.reinjection = env::reinjection(context, &prediction);
    if prediction.is_asked {
        prediction.refused = refused(workload);
    }
    if prediction.dataplane.value.has_agent() {
        prediction.env_refusal = env::refusal(&prediction);
    }
    if prediction.dataplane.value == Dataplane::Sidecar {
        let captured = context.capture(workload, prediction.status_port.value);
        prediction.status_port_captured = Some(captured);
    }
    let handlers = judged_handlers(workload)
        .into_iter()
        .map(|(container, handler)| predict_handler(context, &prediction, &container, handler));
    prediction.handlers = handlers.collect();
    prediction
}

/// Returns the first annotation for which the injector refuses the pods of a workload. The port of
/// the agent has a cause of its own.
fn refused(workload: &Workload<'_>) -> Option<Fact<()>> {
    let (entry, why) = annotations::refused_in(&workload.template)
        .find(|(entry, _)| entry.key.text() != Some(keys::STATUS_PORT))?;
    let message = format!("the injector refuses the pod: {why}");
    let place = workload.object.label_at(entry.value.span(), message);
    Some(Fact::known((), place))
}

/// Returns the handlers of a workload that are judged: those of its own containers.
#[must_use]
pub fn judged_handlers<'t>(workload: &Workload<'t>) -> Vec<(Container<'t>, Handler<'t>)> {
    let containers = workload.template.containers().into_iter();
    let own = containers.filter(|container| {
        container.name() != keys::PROXY_CONTAINER && container.list != ContainerList::Ephemeral
    });
    own.flat_map(|container| {
        let handlers = container.handlers().into_iter();
        handlers.map(move |handler| (container.clone(), handler))
    })
    .collect()
}

/// Returns the number of the port that a handler asks, if it resolves to one.
#[must_use]
pub fn port_of<'t>(
    workload: &Workload<'t>,
    container: &Container<'t>,
    handler: &Handler<'t>,
) -> Option<i64> {
    let port = handler.action.as_ref().ok().and_then(Action::port)?;
    verdict::resolve(&port, container, workload).ok()
}

fn predict_handler<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: Handler<'t>,
) -> HandlerPrediction<'t> {
    let port = port_of(&pod.workload, container, &handler);
    let in_sidecar = pod.dataplane.value == Dataplane::Sidecar;
    let is_injected = pod.is_asked;
    let rewritten =
        is_injected && pod.rewrite.value && is_supported(context, pod, container, &handler);
    let question = port.filter(|_| in_sidecar && !rewritten);
    let captured = question.map(|port| context.capture(&pod.workload, port));
    let mtls = question
        .filter(|_| captured.as_ref().is_some_and(|captured| captured.value))
        .map(|port| context.mtls(&pod.workload, port));
    let becomes = rewritten.then(|| Becomes {
        path: agent_path(container.name(), handler.slot),
        port: pod.status_port.value,
        scheme: "HTTP",
        headers: None,
        drops_origin: false,
    });
    let mut prediction = HandlerPrediction {
        container: container.clone(),
        gap: gap(context, pod, container, &handler),
        handler,
        rewritten,
        port,
        captured,
        mtls,
        becomes,
        trail: Vec::new(),
        otherwise: None,
        verdict: verdict::pending(),
    };
    prediction.verdict = verdict::of(context, pod, &prediction);
    prediction
}

/// Tells whether the release rewrites this handler; an unknown release is taken as the latest.
fn is_supported<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Handler<'t>,
) -> bool {
    let action = handler.action.as_ref().ok();
    action.is_some_and(|action| rewritten_since(action, handler.slot, container.list).is_some())
        && gap(context, pod, container, handler).is_none()
}

/// Returns why a handler is left alone that a later release rewrites.
fn gap<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Handler<'t>,
) -> Option<Gap> {
    let action = handler.action.as_ref().ok()?;
    let release = pod.release.value?;
    let since = rewritten_since(action, handler.slot, container.list)?;
    if release < since {
        return Some(Gap::Release(since));
    }
    // The switch was there from 1.12 to 1.18.
    let has_switch = matches!(action, Action::TcpSocket { .. }) && release < Version::new(1, 19);
    let switch = has_switch.then(|| context.rewrites_tcp(&pod.workload));
    let is_off = switch.flatten().is_some_and(|on| !on.value);
    is_off.then_some(Gap::TcpSwitch)
}
