//! Rule `rewrite-disabled-globally`.

use crate::context::{Conflict, Dataplane};
use crate::finding::{Finding, Label};
use crate::source::Role;

use super::rule::declare_rule;
use super::{Scene, scene};

declare_rule! {
    /// Finds installations that switch the probe rewrite off for the whole mesh.
    ///
    /// ## What it checks
    /// `sidecarInjectorWebhook.rewriteAppHTTPProbe` of an installation that is false, in Helm
    /// values, an IstioOperator or another carrier, or that is missing from the values which the
    /// injector reads itself: there a missing switch is off.
    ///
    /// ## Why it matters
    /// Without the rewrite the kubelet's probes meet the sidecar as they are. Under STRICT mutual
    /// TLS HTTP, HTTPS and gRPC probes then fail, and tcpSocket probes pass under every policy even
    /// when the application is dead. Each workload has to opt in by itself.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: mesh
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       rewriteAppHTTPProbe: false
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: mesh
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       rewriteAppHTTPProbe: true
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the switch changes every workload of the mesh at its next
    /// restart.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: values of the Helm chart `istiod`
    "rewrite-disabled-globally", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for plane in scene.context.control_planes.iter() {
        let off = plane.rewrite.as_ref().filter(|fact| !fact.value);
        let place = off.and_then(|fact| fact.because.first()?.place.as_ref());
        let Some(place) =
            place.filter(|place| is_target(scene, place) && !is_disputed(scene, place))
        else {
            continue;
        };
        if found.iter().all(|finding| !finding.primary.is_at(place)) {
            found.push(report(scene, place));
        }
    }
    found
}

fn is_target(scene: &Scene<'_, '_>, place: &Label) -> bool {
    let file = scene.context.sources.file(&place.path);
    file.is_some_and(|file| file.role == Role::Target)
}

/// Another installation, equally near, says the opposite: that is a fault of its own.
fn is_disputed(scene: &Scene<'_, '_>, place: &Label) -> bool {
    let disputes = |conflict: &Conflict| {
        let here = |(_, side): &(String, Label)| side.is_at(place);
        conflict.sides.iter().any(here)
    };
    scene.predictions.iter().any(|pod| {
        let install = scene.context.install(&pod.workload);
        install.conflicts().iter().any(disputes)
    })
}

fn report(scene: &Scene<'_, '_>, place: &Label) -> Finding {
    let (message, used) = match dependents(scene, place) {
        0 => ("no workload here depends on it".to_owned(), false),
        1 => (
            "1 workload here has its probes meet the sidecar as they are".to_owned(),
            true,
        ),
        count => (
            format!("{count} workloads here have their probes meet the sidecar as they are"),
            true,
        ),
    };
    let message = format!("the probe rewrite is switched off for the whole mesh: {message}");
    let mut finding = Finding::new(RULE.id, RULE.severity, place.clone(), message);
    if !used {
        finding.severity = finding.severity.lowered();
    }
    finding.document = scene::document_of(scene, place);
    finding.help = Some(
        "switch it on: a workload that needs its probes as they are can opt out by annotation"
            .to_owned(),
    );
    finding
}

/// Counts the workloads whose probes are left alone because of the switch at `place`.
fn dependents(scene: &Scene<'_, '_>, place: &Label) -> usize {
    let depends = scene.predictions.iter().filter(|pod| {
        let mut reasons = pod.rewrite.because.iter();
        let asks = |handler: &crate::predict::HandlerPrediction<'_>| handler.port.is_some();
        matches!(
            pod.dataplane.value,
            Dataplane::Sidecar | Dataplane::Uncaptured
        ) && pod.handlers.iter().any(asks)
            && reasons.any(|reason| reason.place.as_ref().is_some_and(|at| at.is_at(place)))
    });
    depends.count()
}
