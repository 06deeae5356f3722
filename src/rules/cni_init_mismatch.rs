//! Rule `cni-init-mismatch`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::ContainerList;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds pods that bring `istio-init` along into a mesh with the CNI plugin.
    ///
    /// ## What it checks
    /// A pod with an init container `istio-init`, as `istioctl kube-inject` writes it, where the
    /// installation says that the CNI plugin sets up the redirect.
    ///
    /// ## Why it matters
    /// The plugin leaves such pods alone. The redirect then rests on the init container, which needs
    /// the very privileges that the plugin is there to spare.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     pilot:
    ///       cni:
    ///         enabled: true
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
    ///   initContainers:
    ///     - name: istio-init
    ///       image: registry.example/proxyv2:1
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///     - name: istio-proxy
    ///       image: registry.example/proxyv2:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     pilot:
    ///       cni:
    ///         enabled: true
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
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: have the webhook inject the pod, or run `istioctl kube-inject`
    /// with the values of this mesh.
    ///
    /// ## References
    /// - Istio documentation: "Install the Istio CNI node agent"
    "cni-init-mismatch", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let containers = workload.template.containers_in(ContainerList::Init);
    let init = containers
        .iter()
        .find(|container| container.name() == keys::INIT_CONTAINER)?;
    let cni = scene.context.cni(workload);
    if !cni.value {
        return None;
    }
    let message = format!(
        "the CNI plugin skips {}: the pod brings its own `{}`, so its redirect rests on that \
         container alone",
        workload.title(),
        init.name(),
    );
    let span = init.node.get("name")?.span();
    let mut finding = scene::about_workload(&RULE, workload, span, message);
    finding.container = Some(init.name().to_owned());
    finding.field = Some(init.field("name").to_string());
    scene::rest_on_fact(&mut finding, &cni);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some(
        "leave the injection to the webhook, or inject by hand with the values of this mesh"
            .to_owned(),
    );
    Some(finding)
}
