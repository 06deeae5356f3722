//! Rule `stale-probe-exception`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Finding, Label};
use crate::kube::{Object, PeerAuthentication};
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Entry, Span};

declare_rule! {
    /// Finds exceptions from mutual TLS that only a probe seems to need, and does not need any more.
    ///
    /// ## What it checks
    /// A `portLevelMtls` entry with PERMISSIVE or DISABLE under STRICT, for a port that probes use
    /// and no Service leads to, where the agent makes all these checks.
    ///
    /// ## Why it matters
    /// The exception lets plain text in from everywhere. Rewritten probes do not touch the port of
    /// the application, so that they work without it.
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
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    ///   portLevelMtls:
    ///     8080:
    ///       mode: PERMISSIVE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
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
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
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
    /// There is no fix by machine: other clients than the kubelet may speak plain text there.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    /// - Istio documentation: "Health Checking of Istio Services"
    "stale-probe-exception", Note, fix: None, scope: Tree
}

/// An entry of a policy: where its mode is written.
type Place = (Arc<str>, Span);

/// No policy has an exception for it: it shows what holds for the pod in general.
const ANY_PORT: i64 = 0;

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut stale: BTreeMap<Place, Finding> = BTreeMap::new();
    let mut needed: BTreeSet<Place> = BTreeSet::new();
    // Pods of context files need their exceptions as well.
    for pod in scene.predictions {
        for handler in &pod.handlers {
            let Some((place, finding)) = exception(scene, pod, handler) else {
                continue;
            };
            match finding {
                Some(finding) => {
                    stale.entry(place).or_insert(finding);
                }
                None => {
                    needed.insert(place);
                }
            }
        }
    }
    stale.retain(|place, _| !needed.contains(place));
    stale.into_values().collect()
}

/// Returns the exception that a probe meets, and the finding unless something needs it.
fn exception<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<(Place, Option<Finding>)> {
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let workload = &pod.workload;
    let port = pod.application_port(handler)?;
    let mtls = scene.context.mtls(workload, port);
    let in_general = scene.context.mtls(workload, ANY_PORT);
    if mtls.value == MtlsMode::Strict || in_general.value != MtlsMode::Strict {
        return None;
    }
    let written = mtls.because.first()?.place.as_ref()?;
    let place = (Arc::clone(&written.path), written.span);
    let is_used = scene.context.exposed_by(workload, port).is_some();
    if is_used || handler.verdict.cause != Cause::Rewritten {
        return Some((place, None));
    }
    let (policy, mode) = scene
        .context
        .beside(
            &scene.context.inventory.peer_authentications,
            &workload.object,
        )
        .filter(|policy| scene.is_target(policy))
        .find_map(|policy| Some((policy, mode_at(policy, port, written)?)))?;
    let message = format!(
        "port {port} is open to plain text ({}), as it seems for the {}: the agent makes that check, \
         which needs no exception",
        mtls.value.as_str(),
        handler.title(),
    );
    let mut finding = scene::about_object(&RULE, policy, mode.value.span(), message);
    let said = "the agent makes this check";
    let probe = workload.object.label_at(handler.handler.key.span(), said);
    finding.related.push(probe);
    scene::rest_on_fact(&mut finding, &in_general);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help =
        Some("remove the exception, unless other clients speak plain text there".to_owned());
    Some((place, Some(finding)))
}

/// Returns the mode of a policy for a port if it is written at this place.
fn mode_at<'t>(policy: &Object<'t>, port: i64, place: &Label) -> Option<Entry<'t>> {
    PeerAuthentication::of(policy)
        .ports()
        .filter(|one| one.port == Some(port))
        .filter_map(|one| one.mode)
        .find(|mode| policy.label_at(mode.value.span(), "").is_at(place))
}
