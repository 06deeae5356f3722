//! Rule `interception-none-no-ingress`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::Workload;
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;

/// No policy has an exception for it: it shows what holds for the pod in general.
const ANY_PORT: i64 = 0;

declare_rule! {
    /// Finds pods without interception whose mutual TLS is void.
    ///
    /// ## What it checks
    /// A pod with a sidecar and STRICT mutual TLS whose interception mode is `NONE`, with no
    /// `Sidecar` in its namespace that declares `ingress`.
    ///
    /// ## Why it matters
    /// Without interception the sidecar listens only where a `Sidecar` says so. Probes and clients
    /// reach the application directly, and STRICT holds nowhere.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/interceptionMode: NONE
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: declare the ingress ports in a `Sidecar`, or leave the
    /// interception on.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio reference: "Sidecar"
    "interception-none-no-ingress", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let in_mesh = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar);
    in_mesh.filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let mode = scene.context.interception_mode(workload)?;
    let mtls = scene.context.mtls(workload, ANY_PORT);
    let open = mode.value == "NONE" && mtls.value == MtlsMode::Strict;
    if !open || scene.context.declared_ingress(workload).is_some() {
        return None;
    }
    let message = "interception is off (NONE) and no `Sidecar` declares ingress ports: probes and \
                   clients reach the application directly, so STRICT mutual TLS is void"
        .to_owned();
    let template = &workload.template;
    let own = template
        .annotation(keys::INTERCEPTION_MODE)
        .or_else(|| template.annotation(keys::PROXY_CONFIG));
    let by_pod = own.filter(|_| is_own(workload, &mode));
    let mut finding = match by_pod {
        Some(entry) => pod_key::about(&RULE, workload, Place::Annotation, entry, message),
        None => {
            let span = workload.object.name_span();
            let mut finding = scene::about_workload(&RULE, workload, span, message);
            scene::rest_on_fact(&mut finding, &mode);
            finding
        }
    };
    scene::rest_on_fact(&mut finding, &mtls);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some(
        "declare the ports under `ingress` of a `Sidecar`, or leave the interception on".to_owned(),
    );
    Some(finding)
}

fn is_own<T>(workload: &Workload<'_>, fact: &Fact<T>) -> bool {
    let places = fact
        .because
        .iter()
        .filter_map(|reason| reason.place.as_ref());
    let mut paths = places.map(|place| &place.path);
    let own = workload
        .object
        .label_at(workload.object.name_span(), "")
        .path;
    paths.any(|path| *path == own)
}
