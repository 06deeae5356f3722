//! Rule `inject-value-changed-in-1-27`.

use super::inject_annotation_never_seen::never_injected;
use super::inject_label_invalid::STRICT_SINCE;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, label_use, scene};
use crate::finding::{Applicability, Finding};
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Change, Entry, Value};

declare_rule! {
    /// Finds words of `sidecar.istio.io/inject` that mean another thing after an upgrade to Istio 1.27.
    ///
    /// ## What it checks
    /// The label `sidecar.istio.io/inject` of a pod, or its annotation (before 1.12 only this is read), that is
    /// neither `"true"` nor `"false"`, where Istio before 1.27 injects. From 1.27 on it is
    /// `inject-label-invalid` that reports it.
    ///
    /// ## Why it matters
    /// Up to 1.26 `y`, `yes`, `true` and `on` mean true in any case of letters, and everything else means false.
    /// From 1.27 on only `"true"` and `"false"` count, and anything else is ignored: a pod that says `"no"` in an
    /// injected namespace gets a sidecar with the upgrade, and its probes are rewritten.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.26
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
    ///     sidecar.istio.io/inject: 'no'
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
    /// # meshprobe check --mesh-version 1.26
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
    ///     sidecar.istio.io/inject: 'false'
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
    /// Writing the word that means the same today is safe where the pod is what the word says. It is unsafe where
    /// it is not: a pod that says `"yes"` in a namespace that nobody injects would get a sidecar.
    ///
    /// ## References
    /// - Istio documentation: "Resource Annotations"
    /// - Istio documentation: "Installing the Sidecar"
    /// - Istio documentation: "Upgrade Notes"
    "inject-value-changed-in-1-27", Warning, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let release = pod.release.value.filter(|one| *one < STRICT_SINCE)?;
    let (place, entry) = read(pod, release)?;
    let word = entry.value.as_str()?;
    let is_fine = matches!(word, "" | "true" | "false") || placeholder::contains(word);
    if is_fine || never_injected(pod) {
        return None;
    }
    let meaning = if is_true(word) { "true" } else { "false" };
    let later = scene.context.as_of(STRICT_SINCE).dataplane(&pod.workload);
    let (now, then) = (pod.dataplane.value.has_agent(), later.value.has_agent());
    let outcome = match (now, then) {
        (false, true) => "the pod gets a sidecar with the upgrade",
        (true, false) => "the pod loses its sidecar with the upgrade",
        (true, true) => "the pod then has its sidecar by the default alone",
        (false, false) => "the pod stays without a sidecar either way",
    };
    let message = format!(
        "`{}: \"{word}\"` means {meaning} to Istio {release} and nothing from 1.27 on: {outcome}",
        keys::INJECT,
    );
    let workload = &pod.workload;
    let mut finding = pod_key::about(&RULE, workload, place, entry, message);
    if now == then {
        finding.severity = finding.severity.lowered();
    }
    scene::rest_on_fact(&mut finding, &pod.release);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let degree = if now == (meaning == "true") && !is_selected_by(scene, place) {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let change = Change::Set {
        route: pod_key::route(&workload.template, place, keys::INJECT),
        value: Value::from(meaning),
    };
    let title = format!("write \"{meaning}\", which is what it means today");
    let degree = pod_key::degree(pod, &[], degree);
    finding.fix = Some(scene::fix(&workload.object, title, degree, vec![change]));
    Some(finding)
}

/// The label, which counts since 1.12, else the annotation.
fn read<'t>(pod: &WorkloadPrediction<'t>, release: Version) -> Option<(Place, Entry<'t>)> {
    let template = &pod.workload.template;
    let label = template
        .label(keys::INJECT)
        .filter(|_| release >= Version::new(1, 12));
    match label {
        Some(entry) => Some((Place::Label, entry)),
        None => Some((Place::Annotation, template.annotation(keys::INJECT)?)),
    }
}

/// What Istio up to 1.26 takes for true (`pkg/kube/inject/inject.go`; measured).
fn is_true(word: &str) -> bool {
    let words = ["y", "yes", "true", "on"];
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// A label that something selects by can't be changed alone.
fn is_selected_by(scene: &Scene<'_, '_>, place: Place) -> bool {
    place == Place::Label && label_use::is_selected(scene.context, keys::INJECT)
}
