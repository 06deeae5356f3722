//! Rule `inject-label-invalid`.

use super::inject_annotation_never_seen::never_injected;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Change, Value};

/// Since when only "true" and "false" count (Istio 1.27, `pkg/kube/inject/inject.go`; measured).
pub(super) const STRICT_SINCE: Version = Version::new(1, 27);

declare_rule! {
    /// Finds words for injection that Istio does not read any more.
    ///
    /// ## What it checks
    /// A value of the pod label or annotation `sidecar.istio.io/inject` other than "true" and
    /// "false", with Istio 1.27 or later: `no`, `False`, `yes`, `0`.
    ///
    /// ## Why it matters
    /// From 1.27 on Istio ignores such a word and goes by its policy: in an injected namespace a pod
    /// that says "no" gets a sidecar. Up to 1.26 `no` meant no. Where a pod that says "no" gets none
    /// all the same, this is a note.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.28
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
    ///   labels:
    ///     sidecar.istio.io/inject: "no"
    /// spec:
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
    /// # meshprobe check --mesh-version 1.28
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
    ///   labels:
    ///     sidecar.istio.io/inject: "false"
    /// spec:
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
    /// Writing "true" or "false" is unsafe: it may change whether the pod is injected.
    /// There is no fix for a word that means neither.
    ///
    /// ## References
    /// - Istio reference: "Resource Labels"
    /// - Istio 1.27 upgrade notes
    "inject-label-invalid", Warning, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    // Where there is a label nobody reads the annotation.
    let (place, entry) = match template.label(keys::INJECT) {
        Some(entry) => (Place::Label, entry),
        None => (Place::Annotation, template.annotation(keys::INJECT)?),
    };
    let word = entry.value.as_str()?;
    let is_old = pod
        .release
        .value
        .is_some_and(|release| release < STRICT_SINCE);
    let is_fine = matches!(word, "" | "true" | "false") || placeholder::contains(word);
    if is_fine || is_old || never_injected(pod) {
        return None;
    }
    let outcome = match pod.dataplane.value {
        Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Other => "the pod gets a sidecar",
        Dataplane::None | Dataplane::Ambient => "the pod gets no sidecar",
        Dataplane::Unknown => "the policy of the mesh decides",
    };
    let message = format!(
        "`{}: \"{word}\"` says neither \"true\" nor \"false\", so Istio ignores it: {outcome}",
        keys::INJECT,
    );
    let mut finding = pod_key::about(&RULE, workload, place, entry, message);
    let outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if outside && meaning(word) == Some("false") {
        // Ignored or not, the pod stays without a sidecar, as it was meant to.
        finding.severity = finding.severity.lowered();
    }
    scene::rest_on_fact(&mut finding, &pod.release);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("write \"true\" or \"false\", in quotes".to_owned());
    finding.fix = meaning(word).map(|meant| {
        let change = Change::Set {
            route: pod_key::route(template, place, keys::INJECT),
            value: Value::from(meant),
        };
        let title = format!("write \"{meant}\", which is what the word means");
        scene::fix(&workload.object, title, Applicability::Unsafe, vec![change])
    });
    Some(finding)
}

/// What a person evidently meant.
fn meaning(word: &str) -> Option<&'static str> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" | "enabled" => Some("true"),
        "false" | "no" | "n" | "off" | "0" | "disabled" => Some("false"),
        _ => None,
    }
}
