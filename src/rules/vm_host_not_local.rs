//! Rule `vm-host-not-local`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::predict;

declare_rule! {
    /// Finds checks of virtual machines that ask another machine.
    ///
    /// ## What it checks
    /// The probe of a `WorkloadGroup` with a `host` that is neither a loopback address nor the
    /// address of one of its machines, as far as the tree shows them.
    ///
    /// ## Why it matters
    /// All machines of the group then ask that one host: its health decides whether they get
    /// traffic, and their own never does. Without `host` the agent asks its own machine.
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
    ///       host: reviews.example.com
    ///       port: 8080
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
    ///       host: 127.0.0.1
    ///       port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the application may listen on one address only.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio documentation: "Virtual Machine Installation"
    "vm-host-not-local", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(scene);
    groups.filter_map(|group| report(scene, group)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let host = predict::other_host(scene.context, group)?;
    let probe = workload_group::probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let name = host.text()?;
    let message = format!(
        "the probe of {} asks {name} on every machine of the group: their own health never counts",
        workload_group::title(group),
    );
    let mut finding = scene::about_object(&RULE, group, host.span(), message);
    finding.field = Some(format!("spec.probe.{}.host", method.key()));
    finding.help = Some("delete `host`: the agent then asks its own machine".to_owned());
    Some(finding)
}
