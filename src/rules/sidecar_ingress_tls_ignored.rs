//! Rule `sidecar-ingress-tls-ignored`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::{Object, integer, selects_workload, workload_selector};
use crate::mesh::istio::mtls::MtlsMode;
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds TLS settings of a Sidecar that are passed over.
    ///
    /// ## What it checks
    /// `tls` under `spec.ingress` of a `Sidecar` that is for workloads of the tree, on a port whose
    /// mode of mutual TLS is not DISABLE.
    ///
    /// ## Why it matters
    /// The sidecar ends TLS of other clients only where mutual TLS is switched off on the port, and
    /// istiod runs with `ENABLE_TLS_ON_SIDECAR_INGRESS` (off by default). Otherwise the certificate
    /// is never shown, and the port does what the PeerAuthentication says.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: Sidecar
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   ingress:
    ///     - port:
    ///         number: 8443
    ///         protocol: HTTPS
    ///         name: https
    ///       tls:
    ///         mode: SIMPLE
    ///         credentialName: web
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
    /// ## Use instead
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: Sidecar
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   ingress:
    ///     - port:
    ///         number: 8443
    ///         protocol: HTTPS
    ///         name: https
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
    /// There is no fix by machine: switching mutual TLS off opens the port for plain text.
    ///
    /// ## References
    /// - Istio reference: "Sidecar"
    "sidecar-ingress-tls-ignored", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let sidecars = scene.context.inventory.mesh_signs.iter();
    let mut findings = Vec::new();
    for sidecar in sidecars {
        let spec = sidecar.node.get("spec");
        let listeners = spec.and_then(|spec| spec.get("ingress"));
        for (index, listener) in listeners.into_iter().flat_map(NodeRef::items).enumerate() {
            findings.extend(report(scene, sidecar, index, listener));
        }
    }
    findings
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    sidecar: &Object<'t>,
    index: usize,
    listener: NodeRef<'t>,
) -> Option<Finding> {
    let context = scene.context;
    let tls = listener.entry("tls").filter(|tls| !tls.value.is_null())?;
    let port = listener.get("port")?.get("number").and_then(integer)?;
    let hearing = scene.hearing_selected(sidecar, workload_selector(sidecar));
    let pods = hearing.into_iter().filter(|pod| {
        pod.dataplane.value == Dataplane::Sidecar && selects_workload(sidecar, &pod.workload)
    });
    let mode = pods
        .map(|pod| context.mtls(&pod.workload, port))
        .find(|mode| mode.value != MtlsMode::Disable)?;
    let message = format!(
        "`tls` of port {port} is passed over: it counts only where mutual TLS is DISABLE on that \
         port, and here it is {}",
        mode.value.as_str(),
    );
    let mut finding = scene::about_object(&RULE, sidecar, tls.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].tls"));
    scene::rest_on_fact(&mut finding, &mode);
    let help = format!(
        "set {port} to DISABLE in `portLevelMtls` and `ENABLE_TLS_ON_SIDECAR_INGRESS` on istiod, or \
         remove `tls`"
    );
    finding.help = Some(help);
    Some(finding)
}
