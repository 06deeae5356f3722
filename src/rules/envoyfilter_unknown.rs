//! Rule `envoyfilter-unknown`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::inbound_patch;
use crate::finding::Finding;
use crate::kube::{Object, workload_selector};

declare_rule! {
    /// Finds EnvoyFilters that change what an unrewritten probe meets.
    ///
    /// ## What it checks
    /// An `EnvoyFilter` that patches listeners, filter chains or network filters of inbound
    /// traffic, for pods with a probe that goes out as it is to a port that the sidecar captures.
    ///
    /// ## Why it matters
    /// Such a patch can let the probe pass or stop it, and no static tool can tell. What is said of
    /// these probes holds only if the patch leaves the filter chains alone, so it is told one step
    /// milder.
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
    /// apiVersion: networking.istio.io/v1alpha3
    /// kind: EnvoyFilter
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   configPatches:
    ///     - applyTo: FILTER_CHAIN
    ///       match:
    ///         context: SIDECAR_INBOUND
    ///       patch:
    ///         operation: MERGE
    ///         value: {}
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
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
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: networking.istio.io/v1alpha3
    /// kind: EnvoyFilter
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   configPatches:
    ///     - applyTo: FILTER_CHAIN
    ///       match:
    ///         context: SIDECAR_INBOUND
    ///       patch:
    ///         operation: MERGE
    ///         value: {}
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
    /// There is no fix by machine.
    ///
    /// ## References
    /// - Istio reference: "Envoy Filter"
    "envoyfilter-unknown", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let filters = scene.context.inventory.envoy_filters.iter();
    filters.filter_map(|filter| report(scene, filter)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, filter: &Object<'t>) -> Option<Finding> {
    let (index, place) = inbound_patch(filter)?;
    let pods = scene
        .hearing_selected(filter, workload_selector(filter))
        .into_iter()
        .filter(|pod| scene.context.filters(filter, &pod.workload));
    let mut met = pods.flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)));
    let (pod, handler) = met.find(|(_, handler)| {
        !handler.rewritten
            && handler
                .captured
                .as_ref()
                .is_some_and(|captured| captured.value)
    })?;
    let message = format!(
        "EnvoyFilter `{}` patches inbound traffic of {}: what is said of its probes holds only if \
         the patch lets them be",
        filter.name(),
        pod.workload.title(),
    );
    let mut finding = scene::about_object(&RULE, filter, place.span(), message);
    finding.field = Some(format!("spec.configPatches[{index}].applyTo"));
    let object = &pod.workload.object;
    let said = "this probe meets the sidecar";
    finding
        .related
        .push(object.label_at(handler.handler.key.span(), said));
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let help =
        "try the probe in a cluster, or have the mesh rewrite it: then it passes the filter by";
    finding.help = Some(help.to_owned());
    Some(finding)
}
