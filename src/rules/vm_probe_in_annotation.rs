//! Rule `vm-probe-in-annotation`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::yaml::Entry;

declare_rule! {
    /// Finds checks of virtual machines that are thrown away.
    ///
    /// ## What it checks
    /// A `readinessProbe` in the annotation `proxy.istio.io/config` of a `WorkloadGroup`, its own
    /// or that of its machines.
    ///
    /// ## Why it matters
    /// `istioctl x workload entry configure` takes the annotation into `mesh.yaml`, and then puts
    /// `spec.probe` over its `readinessProbe`, also where there is none: the check in the
    /// annotation never runs.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: reviews
    ///   namespace: bookinfo
    /// spec:
    ///   metadata:
    ///     annotations:
    ///       proxy.istio.io/config: |
    ///         readinessProbe:
    ///           httpGet:
    ///             port: 8080
    ///   template:
    ///     serviceAccount: reviews
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
    /// There is no fix by machine: the annotation may hold other settings that are kept.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio reference: "istioctl"
    "vm-probe-in-annotation", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(scene);
    groups
        .flat_map(|group| {
            let annotated = vm::annotated_probes(group).into_iter();
            annotated.map(move |entry| report(group, entry))
        })
        .collect()
}

fn report(group: &Object<'_>, annotation: Entry<'_>) -> Finding {
    let instead = match workload_group::probe(group) {
        Some(_) => "`spec.probe` takes its place",
        None => "`spec.probe` takes its place, and there is none: its machines are not checked",
    };
    let message = format!(
        "the readinessProbe in an annotation of {} is thrown away: {instead}",
        workload_group::title(group),
    );
    let mut finding = scene::about_object(&RULE, group, annotation.key.span(), message);
    if let Some(probe) = workload_group::probe(group) {
        let said = "this is the check that counts";
        finding.related.push(group.label_at(probe.key.span(), said));
    }
    finding.help = Some("move it to `spec.probe`".to_owned());
    finding
}
