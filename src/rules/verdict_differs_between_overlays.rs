//! Rule `verdict-differs-between-overlays`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rule::declare_rule;
use super::{Scene, overlay, scene};
use crate::finding::{Finding, Label};
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use crate::yaml::Span;

declare_rule! {
    /// Finds probes that the mesh spoils in one overlay and not in another.
    ///
    /// ## What it checks
    /// A probe or hook of a workload that several kustomizations render, or that several clusters
    /// deploy, whose outcome is bad in one of them and another one in another. Where the outcomes are
    /// all good (rewritten here, no mesh there) nothing is said.
    ///
    /// ## Why it matters
    /// A line that is shared is tested where it is fine, and fails where it is promoted to: the
    /// environment with STRICT mutual TLS is usually the last one. The bad outcome is a finding of its
    /// own; this note shows that the line is right for one environment and wrong for another, so it
    /// should be mended in the overlay or made right for both.
    ///
    /// ## Example
    /// ```yaml
    /// # file: base/kustomization.yaml
    /// resources: [web.yaml]
    /// # file: base/web.yaml
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
    /// # file: overlays/prod/kustomization.yaml
    /// resources: [../../base, mesh.yaml]
    /// # file: overlays/prod/mesh.yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// # file: overlays/stage/kustomization.yaml
    /// resources: [../../base, mesh.yaml]
    /// # file: overlays/stage/mesh.yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ```
    ///
    /// ## Use instead
    /// A probe that is right in both: here the rewrite, which is on unless it is switched off.
    /// ```yaml
    /// # file: base/kustomization.yaml
    /// resources: [web.yaml]
    /// # file: base/web.yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// # file: overlays/prod/kustomization.yaml
    /// resources: [../../base, mesh.yaml]
    /// # file: overlays/prod/mesh.yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// # file: overlays/stage/kustomization.yaml
    /// resources: [../../base, mesh.yaml]
    /// # file: overlays/stage/mesh.yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix: which of the environments is meant is for their owner to say.
    ///
    /// ## References
    /// - Kustomize documentation: "Bases and Overlays"
    "verdict-differs-between-overlays", Note, fix: None, scope: Tree
}

/// The line of a probe in its file, and the handler there.
type Place = (Arc<str>, Span, String);

/// One probe as one kustomization or cluster has it.
type Rendered<'s, 't> = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>, Label);

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut places: BTreeMap<Place, Vec<Rendered<'_, '_>>> = BTreeMap::new();
    for (pod, handler) in scene.handlers() {
        let object = &pod.workload.object;
        let label = object.label_at(handler.handler.key.span(), String::new());
        let place = (Arc::clone(&label.path), label.span, handler.title());
        places.entry(place).or_default().push((pod, handler, label));
    }
    places
        .values()
        .filter_map(|all| differing(scene, all))
        .collect()
}

fn differing(scene: &Scene<'_, '_>, all: &[Rendered<'_, '_>]) -> Option<Finding> {
    let bad = all
        .iter()
        .find(|(_, handler, _)| handler.verdict.outcome.is_bad())?;
    let outcome = bad.1.verdict.outcome;
    let differs = |one: &&Rendered<'_, '_>| {
        let other = one.1.verdict.outcome;
        other != outcome
            && other != Outcome::Unknown
            && one.0.workload.object.home() != bad.0.workload.object.home()
    };
    let other = all.iter().find(differs)?;
    let (pod, handler, label) = bad;
    let (here, there) = units(pod, other.0);
    let message = format!(
        "{} {} in {here}, but {} in {there}",
        handler.title(),
        verb(outcome),
        verb(other.1.verdict.outcome),
    );
    let mut finding =
        scene::about_workload(&RULE, &pod.workload, handler.handler.key.span(), message);
    finding.primary = label.clone();
    finding.container = Some(handler.container.name().to_owned());
    finding.field = Some(handler.handler.within.to_string());
    for (pod, handler, _) in all {
        let Some(home) = overlay::of(pod) else {
            continue;
        };
        let message = format!("{} here", verb(handler.verdict.outcome));
        let span = overlay::first_key(scene.context, home);
        let place = Label {
            path: Arc::clone(home),
            span,
            message,
        };
        if !finding.related.contains(&place) {
            finding.related.push(place);
        }
    }
    finding.help = Some("make it right for both, or mend it in the overlay".into());
    Some(finding)
}

/// Names what tells two renderings apart: their kustomizations, or what deploys them.
fn units<'t>(one: &WorkloadPrediction<'t>, other: &WorkloadPrediction<'t>) -> (&'t str, &'t str) {
    match (overlay::of(one), overlay::of(other)) {
        (Some(one), Some(other)) if one != other => (one, other),
        _ => (one.workload.object.home(), other.workload.object.home()),
    }
}

const fn verb(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "works",
        Outcome::Fails => "fails",
        Outcome::AlwaysPasses => "always passes",
        Outcome::TargetChanged => "tests something else",
        Outcome::BrokenWithoutMesh => "is broken without a mesh too",
        Outcome::NotInMesh => "is not in the mesh",
        Outcome::Unknown => "is not known",
    }
}
