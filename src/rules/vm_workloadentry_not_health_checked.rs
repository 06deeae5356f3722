//! Rule `vm-workloadentry-not-health-checked`.

use super::rule::declare_rule;
use super::{Scene, scene, workload_group};
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::vm;
use crate::source::placeholder;
use crate::yaml::{Change, Route, Value};

declare_rule! {
    /// Finds virtual machines whose health checks count for nothing.
    ///
    /// ## What it checks
    /// A `WorkloadEntry` without the annotation `proxy.istio.io/health-checks-enabled: "true"`,
    /// where a `WorkloadGroup` with a probe in its namespace has the same service account or
    /// labels.
    ///
    /// ## Why it matters
    /// Entries that machines register themselves carry the annotation. One that is written by hand
    /// has none, and istiod then ignores all results of the agent: the machine gets traffic, dead
    /// or alive.
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
    /// kind: WorkloadEntry
    /// metadata:
    ///   name: reviews-1
    ///   namespace: bookinfo
    /// spec:
    ///   address: 10.0.0.7
    ///   serviceAccount: reviews
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
    /// ---
    /// apiVersion: networking.istio.io/v1
    /// kind: WorkloadEntry
    /// metadata:
    ///   name: reviews-1
    ///   namespace: bookinfo
    ///   annotations:
    ///     proxy.istio.io/health-checks-enabled: "true"
    /// spec:
    ///   address: 10.0.0.7
    ///   serviceAccount: reviews
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: the machine gets no traffic until its first check has succeeded, and never if its
    /// agent makes none.
    ///
    /// ## References
    /// - Istio reference: "Workload Group"
    /// - Istio reference: "Workload Entry"
    "vm-workloadentry-not-health-checked", Warning, fix: Always, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let groups = workload_group::groups(scene);
    groups
        .filter(|group| workload_group::probe(group).is_some())
        .flat_map(|group| {
            let entries = scene.context.machines_of(group);
            entries.filter_map(move |entry| report(group, entry))
        })
        .collect()
}

fn report(group: &Object<'_>, entry: &Object<'_>) -> Option<Finding> {
    let annotation = entry.annotation(vm::HEALTH_CHECKS_ENABLED);
    let value = annotation.map(|one| one.value.text().unwrap_or_default());
    if value.is_some_and(|value| value == "true" || placeholder::contains(value)) {
        return None;
    }
    let message = format!(
        "the health of machine `{}` counts for nothing: without `{}` the results of its checks are \
         ignored",
        entry.name(),
        vm::HEALTH_CHECKS_ENABLED,
    );
    let span = annotation.map_or_else(|| entry.name_span(), |one| one.value.span());
    let mut finding = scene::about_object(&RULE, entry, span, message);
    let probe = workload_group::probe(group)?;
    let said = "this check is made for nobody";
    finding.related.push(group.label_at(probe.key.span(), said));
    finding.help = Some(format!(
        "add the annotation `{}: \"true\"`, or let the machine register itself",
        vm::HEALTH_CHECKS_ENABLED
    ));
    let annotations = Route::keys(&["metadata", "annotations", vm::HEALTH_CHECKS_ENABLED]);
    let change = Change::Set {
        route: entry.route.join(&annotations),
        value: Value::from("true"),
    };
    let title = "let the results of its checks count";
    let changes = vec![change];
    finding.fix = Some(scene::fix(entry, title, Applicability::Unsafe, changes));
    Some(finding)
}
