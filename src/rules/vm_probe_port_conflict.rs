//! Rule `vm-probe-port-conflict`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::{Object, integer};
use crate::mesh::istio::keys;
use crate::mesh::istio::vm;

declare_rule! {
    /// Finds checks of virtual machines that ask the sidecar.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` at a port of the machine that Envoy or the agent listens on.
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
    workload_group::groups(scene).filter_map(report).collect()
}

fn report(group: &Object<'_>) -> Option<Finding> {
    let probe = workload_group::probe(group)?;
    let (method, entry) = vm::kept(probe.value)?;
    let port = entry.value.get("port")?;
    let number = integer(port)?;
    let owner = vm::own_port(number, i64::from(keys::DEFAULT_STATUS_PORT))?;
    let message = format!(
        "the probe of {} asks port {number} of the sidecar ({owner}), not the application",
        workload_group::title(group),
    );
    let mut finding = scene::about_object(&RULE, group, port.span(), message);
    finding.field = Some(format!("spec.probe.{}.port", method.key()));
    finding.help = Some("write the port of the application".to_owned());
    Some(finding)
}
