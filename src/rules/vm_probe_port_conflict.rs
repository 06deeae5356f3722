//! Rule `vm-probe-port-conflict`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::predict;

declare_rule! {
    /// Finds checks of virtual machines that ask the sidecar.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` at a port of the machine that Envoy or the agent listens on. The
    /// agent's is `statusPort` of the annotation `proxy.istio.io/config` or of the mesh configuration,
    /// else 15020.
    ///
    /// ## Why it matters
    /// The check then says that the sidecar is up, which the agent looks at anyway, and nothing of
    /// the application.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   template:
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       path: /healthz/ready
    ///       port: 15021
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   template:
    ///     serviceAccount: reviews
    ///   probe:
    ///     failureThreshold: 3
    ///     httpGet:
    ///       path: /healthz
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know the port of the application.
    ///
    /// ## References
    /// - Istio documentation: "Virtual Machine Installation"
    /// - Istio documentation: "Application Requirements"
    "vm-probe-port-conflict", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(scene);
    groups.filter_map(|group| report(scene, group)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let own = predict::own_port(scene.context, group)?;
    let probe = workload_group::probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let message = format!(
        "the probe of {} asks port {} of the sidecar ({}), not the application",
        workload_group::title(group),
        own.port.value,
        own.owner,
    );
    let mut finding = scene::about_object(&RULE, group, own.place.span(), message);
    finding.field = Some(format!("spec.probe.{}.port", method.key()));
    finding.help = Some("write the port of the application".to_owned());
    scene::rest_on_fact(&mut finding, &own.port);
    Some(finding)
}
