//! Rule `hostnetwork-not-in-mesh`.

use super::label_use::keep_selected;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Entry, NodeRef};

declare_rule! {
    /// Finds settings of the sidecar on pods that never get one.
    ///
    /// ## What it checks
    /// A pod on the host network (`hostNetwork: true`) with annotations for the sidecar, or with the
    /// label `sidecar.istio.io/inject: "true"`. To say "false" is no fault.
    ///
    /// ## Why it matters
    /// Istio never injects or captures such pods: it would redirect the traffic of the node. The
    /// settings have no effect.
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "true"
    /// spec:
    ///   hostNetwork: true
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   hostNetwork: true
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
    /// Removing the settings is safe: they have no effect. On a pod that was rewritten ahead it is
    /// unsafe. A label that a selector in the tree asks for is not removed.
    ///
    /// ## References
    /// - Istio documentation: "Sidecar Injection Problems"
    "hostnetwork-not-in-mesh", Note, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let network = template.host_network()?;
    if pod.dataplane.value == Dataplane::Sidecar {
        return None;
    }
    let annotations = dead(template.annotations(), is_setting);
    let label =
        |key: &str, entry: &Entry<'_>| key == keys::INJECT && entry.value.text() == Some("true");
    let labels = dead(template.labels(), label);
    let place = if annotations.is_empty() {
        Place::Label
    } else {
        Place::Annotation
    };
    let found: Vec<Entry<'_>> = annotations.iter().chain(&labels).copied().collect();
    let first = found.first()?;
    let message = format!(
        "{} no effect: {} is on the host network, where it gets no sidecar",
        named(&found),
        workload.title(),
    );
    let mut finding = pod_key::about(&RULE, workload, place, *first, message);
    finding.primary = workload.object.label_at(first.key.span(), "");
    let said = "pods on the host network get no sidecar";
    finding
        .related
        .push(workload.object.label_at(network.key.span(), said));
    finding.help = Some("remove the setting, or take the pod off the host network".to_owned());
    let mut changes = Vec::new();
    for (place, entries) in [(Place::Annotation, &annotations), (Place::Label, &labels)] {
        let keys: Vec<&str> = entries
            .iter()
            .filter_map(|entry| entry.key.text())
            .collect();
        if !keys.is_empty() {
            changes.extend(pod_key::removal(template, place, &keys));
        }
    }
    let degree = pod_key::degree(pod, &found, Applicability::Safe);
    let title = "remove what has no effect";
    finding.fix = Some(scene::fix(&workload.object, title, degree, changes));
    if !labels.is_empty() {
        keep_selected(scene.context, keys::INJECT, &mut finding);
    }
    Some(finding)
}

/// All that goes, by its names.
fn named(found: &[Entry<'_>]) -> String {
    let keys = found.iter().filter_map(|entry| entry.key.text());
    let mut names: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} and {last} have", names.join(", ")),
        (last, _) => format!("{} has", last.unwrap_or_default()),
    }
}

fn dead<'t>(
    holder: Option<NodeRef<'t>>,
    wanted: impl Fn(&str, &Entry<'t>) -> bool,
) -> Vec<Entry<'t>> {
    let entries = holder.into_iter().flat_map(NodeRef::effective_entries);
    let wanted = |entry: &Entry<'t>| entry.key.text().is_some_and(|key| wanted(key, entry));
    entries.filter(wanted).collect()
}

/// What the injector wrote is no setting, and to opt out of what never comes does no harm.
fn is_setting(key: &str, entry: &Entry<'_>) -> bool {
    let of_sidecar = [
        "sidecar.istio.io/",
        "traffic.sidecar.istio.io/",
        "status.sidecar.istio.io/",
    ];
    let value = entry.value.text();
    let opts_out = matches!(key, keys::INJECT | keys::REWRITE_PROBERS)
        && value.and_then(parse_bool) != Some(true);
    of_sidecar.iter().any(|prefix| key.starts_with(prefix)) && key != keys::STATUS && !opts_out
}
