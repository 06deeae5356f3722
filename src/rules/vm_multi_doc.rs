//! Rule `vm-multi-doc`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::Finding;
use crate::kube::Object;

declare_rule! {
    /// Finds groups of virtual machines that istioctl does not see in their file.
    ///
    /// ## What it checks
    /// A `WorkloadGroup` that stands behind another one in the same file.
    ///
    /// ## Why it matters
    /// `istioctl x workload entry configure -f` reads the first document of a file and says nothing
    /// of the others: machines of the second group would be configured as machines of the first.
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
    ///       path: /healthz
    ///       port: 8080
    /// ---
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadGroup
    /// metadata:
    ///   name: ratings
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
    /// There is no fix by machine: documents are moved to other files by hand.
    ///
    /// ## References
    /// - Istio reference: "istioctl"
    /// - Istio documentation: "Virtual Machine Installation"
    "vm-multi-doc", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups: Vec<_> = workload_group::groups(scene)
        .filter(|group| group.rendered_by.is_none())
        .collect();
    let behind = groups.iter().filter_map(|group| {
        let mut before = groups
            .iter()
            .filter(|one| one.path() == group.path() && one.document.index < group.document.index);
        before.next().map(|first| report(group, first))
    });
    behind.collect()
}

fn report(group: &Object<'_>, first: &Object<'_>) -> Finding {
    let message = format!(
        "`istioctl x workload entry configure -f` does not see {}: it reads the first document of \
         a file only",
        workload_group::title(group),
    );
    let mut finding = scene::about_object(&RULE, group, group.name_span(), message);
    let said = "this one is configured instead";
    finding
        .related
        .push(first.label_at(first.name_span(), said));
    finding.help = Some(
        "give it a file of its own, or have `meshprobe rewrite --vm -o DIR` write both".to_owned(),
    );
    finding
}
