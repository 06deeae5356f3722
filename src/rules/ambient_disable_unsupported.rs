//! Rule `ambient-disable-unsupported`.

use super::reached_pods::ReachedPodsCache;
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::kube::{Object, PeerAuthentication};
use crate::mesh::Fact;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Entry, Route, Value};

declare_rule! {
    /// Finds PeerAuthentications that switch mutual TLS off for pods in ambient mode.
    ///
    /// ## What it checks
    /// DISABLE as mode of a `PeerAuthentication` that decides for pods in ambient mode, or of one
    /// of its ports.
    ///
    /// ## Why it matters
    /// Ztunnel always offers mutual TLS, so DISABLE counts as PERMISSIVE. For a single port, where
    /// the policy itself sets no mode and STRICT is inherited, it does not count at all: the port
    /// stays STRICT, and plain clients are refused.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: DISABLE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: PERMISSIVE
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// Writing PERMISSIVE is unsafe: pods that the tree does not show may have sidecars, for which
    /// the two differ. It is offered where no pod with a sidecar is reached.
    ///
    /// ## References
    /// - Istio reference: "PeerAuthentication"
    "ambient-disable-unsupported", Note, fix: Sometimes, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.peer_authentications.iter();
    let mut known = ReachedPodsCache::default();
    policies
        .flat_map(|policy| report(scene, policy, &mut known))
        .collect()
}

fn report<'s, 't>(
    scene: &Scene<'s, 't>,
    policy: &Object<'t>,
    known: &mut ReachedPodsCache<'s, 't>,
) -> Vec<Finding> {
    let view = PeerAuthentication::of(policy);
    let is_off = |mode: Option<Entry<'t>>| mode.filter(|mode| mode.value.text() == Some("DISABLE"));
    let own = is_off(view.mode());
    let ports: Vec<_> = view
        .ports()
        .filter(|one| is_off(one.mode).is_some())
        .collect();
    let context = scene.context;
    if own.is_none() && ports.is_empty() {
        return Vec::new();
    }
    let reach = context.reach(policy);
    let reached = known.of(scene, policy, reach);
    let Some(pod) = reached.first_of(Dataplane::Ambient) else {
        return Vec::new();
    };
    let is_alone = reached.first_of(Dataplane::Sidecar).is_none();
    let spec = Route::keys(&["spec"]);
    let decides = |mode: &Entry<'t>, fact: Fact<MtlsMode>| {
        let place = policy.label_at(mode.value.span(), "");
        fact.because
            .iter()
            .filter_map(|reason| reason.place.as_ref())
            .any(|other| other.is_at(&place))
    };
    let title = pod.workload.title();
    let mut findings = Vec::new();
    if let Some(mode) = own.filter(|mode| decides(mode, context.mtls_of_other_ports(&pod.workload)))
    {
        let message = format!(
            "DISABLE counts as PERMISSIVE for {title}: in ambient mode mutual TLS is always offered"
        );
        let route = spec.child("mtls").child("mode");
        findings.push(finding(policy, mode, &route, message, pod, is_alone));
    }
    for one in ports {
        let (Some(mode), Some(port)) = (is_off(one.mode), one.port) else {
            continue;
        };
        if !decides(&mode, context.mtls(&pod.workload, port)) {
            continue;
        }
        let sets = |mode: Entry<'_>| mode.value.text() != Some("UNSET") && !mode.value.is_null();
        let inherits = !view.mode().is_some_and(sets);
        let inherited = context.inherited_mtls(policy, reach);
        let strict = inherits && inherited.value == MtlsMode::Strict;
        let message = if strict {
            format!(
                "port {port} of {title} stays STRICT: in ambient mode only PERMISSIVE excepts a \
                 port from a STRICT that is inherited"
            )
        } else {
            format!(
                "DISABLE of port {port} counts as PERMISSIVE for {title}: in ambient mode mutual \
                 TLS is always offered"
            )
        };
        let key = one.entry.key.text().unwrap_or_default().to_owned();
        let route = spec.child("portLevelMtls").child(key).child("mode");
        let mut found = finding(policy, mode, &route, message, pod, is_alone);
        if strict {
            scene::rest_on_fact(&mut found, &inherited);
        }
        findings.push(found);
    }
    findings
}

fn finding<'t>(
    policy: &Object<'t>,
    mode: Entry<'t>,
    route: &Route,
    message: String,
    pod: &WorkloadPrediction<'t>,
    is_alone: bool,
) -> Finding {
    let mut finding = scene::about_object(&RULE, policy, mode.value.span(), message);
    finding.field = Some(route.to_string());
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("write PERMISSIVE".to_owned());
    let change = Change::Set {
        route: policy.route.join(route),
        value: Value::from("PERMISSIVE"),
    };
    finding.fix = (is_alone && !mode.merged).then(|| {
        let title = "write PERMISSIVE";
        scene::fix(policy, title, Applicability::Unsafe, vec![change])
    });
    finding
}
