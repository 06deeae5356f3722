//! Rule `ambient-netpol-blocks-probes`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Route, Value};

declare_rule! {
    /// Finds probes of ambient pods that a NetworkPolicy keeps out.
    ///
    /// ## What it checks
    /// A probe or hook of a pod in ambient mode, at a port to which no rule of the NetworkPolicies
    /// that isolate the pod admits 169.254.7.127. Selectors of pods and namespaces never match this
    /// address.
    ///
    /// ## Why it matters
    /// In ambient mode the node gives the kubelet's packets the source 169.254.7.127, by which
    /// ztunnel knows them and leaves them alone. For the network plugin they no longer come from
    /// the pod's own node, so its usual exception for the kubelet does not hold: the probe runs
    /// into its timeout.
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
    /// apiVersion: networking.k8s.io/v1
    /// kind: NetworkPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   podSelector: {}
    ///   ingress:
    ///     - from:
    ///         - podSelector: {}
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
    ///       readinessProbe:
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
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: networking.k8s.io/v1
    /// kind: NetworkPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   podSelector: {}
    ///   ingress:
    ///     - from:
    ///         - podSelector: {}
    ///     - from:
    ///         - ipBlock:
    ///             cidr: 169.254.7.127/32
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Admitting the address is unsafe: it opens all ports of the selected pods to the node's
    /// probes. It is offered where one policy isolates the pod.
    ///
    /// ## References
    /// - Istio documentation: "Ambient and Kubernetes NetworkPolicy"
    "ambient-netpol-blocks-probes", Error, fix: Sometimes, scope: Workloads
}

/// How many policies a finding names: each probe of each pod names them again.
const NAMED: usize = 8;

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let kept_out = scene.handlers().filter(|(pod, handler)| {
        pod.dataplane.value == Dataplane::Ambient
            && handler.verdict.cause == Cause::NetworkPolicyDenies
    });
    kept_out
        .map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Finding {
    let policies = scene.context.isolating(&pod.workload);
    let first = policies.iter().take(NAMED);
    let names: Vec<String> = first.map(|policy| format!("`{}`", policy.name())).collect();
    let mut names = names.join(", ");
    if let Some(more) = policies.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push_str(&format!(" and {more} more"));
    }
    let refusal = match policies.len() {
        1 => format!("NetworkPolicy {names} does not admit"),
        _ => format!("none of the NetworkPolicies {names} admits"),
    };
    let message = format!(
        "{} will fail: in ambient mode it comes from {}, and {refusal} this address to port {}",
        handler.title(),
        keys::HOST_PROBE_SNAT,
        handler.port.unwrap_or_default(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let block = format!("{}/32", keys::HOST_PROBE_SNAT);
    finding.help = Some(format!("admit the ipBlock {block} in an ingress rule"));
    if let [only] = policies.as_slice() {
        finding.fix = Some(fix(only, &block));
    }
    finding
}

fn fix(policy: &Object<'_>, block: &str) -> Fix {
    let map = |key: &str, value: Value| Value::Map(vec![(key.to_owned(), value)]);
    let peer = map("ipBlock", map("cidr", Value::from(block)));
    let route = policy.route.join(&Route::keys(&["spec", "ingress"]));
    let change = Change::Push {
        route,
        value: map("from", Value::Seq(vec![peer])),
    };
    let title = format!("admit {block} in NetworkPolicy `{}`", policy.name());
    scene::fix(policy, title, Applicability::Unsafe, vec![change])
}
