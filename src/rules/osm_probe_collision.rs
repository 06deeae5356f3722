//! Rule `osm-probe-collision`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::osm::Era;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes of which another container of the pod takes the place, in OSM.
    ///
    /// ## What it checks
    /// A pod that OSM injects, in which several containers have a liveness probe, or a readiness
    /// probe, or a startup probe, and they ask for different things. Up to 1.2 the proxy has room for
    /// one probe of each kind in a pod, and the last container wins; on the development head a
    /// container is struck whose name begins with that of another. HTTPS probes have a rule of their
    /// own.
    ///
    /// ## Why it matters
    /// The kubelet restarts a container, or takes it out of service, for what another one answers.
    /// Where the last probe is a `tcpSocket` the listener of the others is not made at all and they
    /// fail for ever; where it is an `httpGet` the helper that tries TCP ports is missing.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /alive
    ///           port: 9090
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///     - name: admin
    ///       image: registry.example/admin:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /alive
    ///           port: 9090
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: somebody has to decide which container the pod is judged by.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go` and `envoy_config_health_probes.go`
    /// - Issues #3773 and #4948 of openservicemesh/osm
    "osm-probe-collision", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let era = Era::of(scene.context.other_release(Some(Mesh::Osm)));
    let Cause::Other(trouble) = handler.verdict.cause else {
        return None;
    };
    let what = match trouble {
        Trouble::AnsweredByOther => "is answered by the probe of another container",
        Trouble::ListenerTaken => "finds no listener: the last probe of its kind is a tcpSocket",
        Trouble::HelperTaken => "finds no helper: the last probe of its kind is no tcpSocket",
        _ => return None,
    };
    let (why, help) = match era {
        Era::PerContainer => (
            "the path for this container begins with that of the other",
            "name the container so that its name does not begin with that of another",
        ),
        _ => (
            "OSM passes on one such probe per pod",
            "let one container have such a probe, or make the check of the others an `exec`",
        ),
    };
    let message = format!("{} {what}; {why}", handler.title());
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(help.to_owned());
    Some(finding)
}
