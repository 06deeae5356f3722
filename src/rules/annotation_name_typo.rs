//! Rule `annotation-name-typo`.

use super::label_use::keep_selected;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::suggest::is_close;
use super::{Scene, disable_rewrite, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Workload;
use crate::mesh::istio::annotations;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, NodeRef, Value};

declare_rule! {
    /// Finds annotations of Istio with a slip in their name.
    ///
    /// ## What it checks
    /// Annotations and labels of the pod under `istio.io` that Istio does not know and that are
    /// nearly one it knows, or a well-known mix-up such as `sidecar.istio.io/rewriteAppHTTPProbe`,
    /// which is the name of the Helm value.
    ///
    /// ## Why it matters
    /// Istio passes over what it does not know, without a word. The setting has no effect.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbe: "false"
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
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
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
    /// Writing the right name is unsafe: the setting then takes effect.
    /// There is no fix where the right name is there already.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    /// - Istio reference: "Resource Labels"
    "annotation-name-typo", Error, fix: Sometimes, scope: Workloads
}

/// The labels of a pod that decide something.
const LABELS: [&str; 3] = [keys::INJECT, keys::REVISION, keys::DATAPLANE_MODE];

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let pods = scene.pods();
    let places = [Place::Annotation, Place::Label];
    pods.flat_map(|pod| {
        places
            .into_iter()
            .flat_map(|place| report(scene, pod, place))
    })
    .collect()
}

fn report(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>, place: Place) -> Vec<Finding> {
    let workload = &pod.workload;
    let entries = place.of(&workload.template);
    let entries = entries.into_iter().flat_map(NodeRef::effective_entries);
    let findings = entries.filter_map(|entry| {
        let key = entry.key.text()?;
        let meant = meant(place, key)?;
        let word = place.word();
        let message = format!("Istio knows no {word} `{key}` and ignores it: it has no effect");
        let mut finding = pod_key::about(&RULE, workload, place, entry, message);
        finding.primary = workload.object.label_at(entry.key.span(), "");
        finding.help = Some(format!("did you mean `{meant}`?"));
        let is_free = place.of(&workload.template)?.get(meant).is_none();
        finding.fix = is_free.then(|| fix(workload, place, key, meant)).flatten();
        let off = entry.value.text().and_then(parse_bool) == Some(false);
        if place == Place::Annotation && meant == keys::REWRITE_PROBERS && off {
            disable_rewrite::show_where_it_spoils(scene, pod, &mut finding);
        }
        if place == Place::Label {
            keep_selected(scene.context, key, &mut finding);
        }
        Some(finding)
    });
    findings.collect()
}

fn fix(workload: &Workload<'_>, place: Place, key: &str, meant: &str) -> Option<Fix> {
    let template = &workload.template;
    let value = place.of(template)?.get(key)?.text()?;
    let change = Change::Replace {
        route: pod_key::route(template, place, key),
        key: meant.to_owned(),
        value: Value::from(value),
    };
    let title = format!("write `{meant}`");
    Some(scene::fix(
        &workload.object,
        title,
        Applicability::Unsafe,
        vec![change],
    ))
}

/// The name that was likely meant.
pub(super) fn meant(place: Place, key: &str) -> Option<&'static str> {
    let (domain, _) = key.split_once('/')?;
    let is_istio = domain == "istio.io" || domain.ends_with(".istio.io");
    if !is_istio || annotations::KNOWN.contains(&key) {
        return None;
    }
    let known: &[&'static str] = match place {
        Place::Annotation => annotations::KNOWN,
        Place::Label => &LABELS,
    };
    let mut mistaken = annotations::MISTAKEN
        .iter()
        .filter(|(wrong, _)| *wrong == key);
    let mistaken = mistaken.next().map(|(_, right)| *right);
    let close = || known.iter().copied().find(|known| is_slip(key, known));
    mistaken
        .filter(|right| known.contains(right))
        .or_else(close)
}

/// Domain and name are compared each by itself: of long keys nearly all is domain.
fn is_slip(key: &str, known: &str) -> bool {
    match (key.split_once('/'), known.split_once('/')) {
        (Some((domain, name)), Some((known_domain, known_name))) if domain == known_domain => {
            is_close(name, known_name)
        }
        (Some((domain, name)), Some((known_domain, known_name))) => {
            name == known_name && is_close(domain, known_domain)
        }
        _ => false,
    }
}
