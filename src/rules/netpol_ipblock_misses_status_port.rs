//! Rule `netpol-ipblock-misses-status-port`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{Context, Dataplane, IngressRule, Reach, Source, isolates};
use crate::finding::{Certainty, Finding, Severity};
use crate::kube::Object;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds NetworkPolicies that admit the node to the port of a probe, and not to the agent.
    ///
    /// ## What it checks
    /// Pods with a sidecar and rewritten probes, for which a `NetworkPolicy` admits a block of
    /// private addresses to the port that the probe names, while no policy admits any block to the
    /// agent's port (15020 unless it is set). Where `cni-enforces-node-traffic` says that the
    /// network plugin filters the node's own packets, every probe that the policies keep out is
    /// found.
    ///
    /// ## Why it matters
    /// A rewritten probe comes from the node, as before, but to another port. Most plugins let the
    /// node's own packets pass whatever the policies say; a block of node addresses in a policy is
    /// a sign that this one does not. Then every rewritten probe runs into its timeout.
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
    /// apiVersion: networking.k8s.io/v1
    /// kind: NetworkPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   podSelector: {}
    ///   ingress:
    ///     - from:
    ///         - ipBlock:
    ///             cidr: 10.0.0.0/16
    ///       ports:
    ///         - port: 8080
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
    ///     istio-injection: enabled
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
    ///         - ipBlock:
    ///             cidr: 10.0.0.0/16
    ///       ports:
    ///         - port: 8080
    ///         - port: 15020
    ///         - port: 15021
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
    /// There is no fix by machine: whether the block holds the nodes is not known.
    ///
    /// ## References
    /// - Istio documentation: "Application Requirements"
    /// - Kubernetes documentation: "Network Policies"
    "netpol-ipblock-misses-status-port", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let kept_out = scene
        .predictions
        .iter()
        .filter(|pod| pod.dataplane.value != Dataplane::Ambient)
        .flat_map(|pod| pod.handlers.iter().filter_map(|one| kept_out(pod, one)));
    let policies = scene.among(&scene.context.inventory.network_policies);
    let signs = policies.into_iter().filter_map(|policy| {
        let rules = IngressRule::all_of(policy);
        let mut rules = rules.filter(|rule| rule.names_private_addresses());
        rules.find_map(|rule| may_keep_out(scene, policy, rule))
    });
    kept_out.chain(signs).collect()
}

/// No option says whether the plugin filters the node's packets.
fn is_plugin_unknown<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> bool {
    let given = context.given(&pod.workload.object);
    let overridden = given.overrides.cni_enforces_node_traffic;
    overridden
        .or(given.assume.cni_enforces_node_traffic)
        .is_none()
}

/// The plugin filters the node's packets: the probe fails.
fn kept_out(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::NetworkPolicyDenies {
        return None;
    }
    let asked = handler.becomes.as_ref().map(|becomes| becomes.port);
    let message = format!(
        "{} will fail: it comes from the node to port {}, which no NetworkPolicy admits",
        handler.title(),
        asked.or(handler.port).unwrap_or_default(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    // Worse than a sign: the probe fails. That rests on what an option says of the plugin.
    finding.severity = if finding.certainty > Certainty::Assumed {
        Severity::Error
    } else {
        Severity::Warning
    };
    finding.help = Some("admit the addresses of the nodes on this port".to_owned());
    Some(finding)
}

/// Nothing is known of the plugin: a rule for private addresses is the sign.
fn may_keep_out<'t>(
    scene: &Scene<'_, 't>,
    policy: &Object<'t>,
    rule: IngressRule<'t>,
) -> Option<Finding> {
    let context = scene.context;
    let ports = rule.ports()?;
    let pods = scene.reached_by(policy, Reach::Namespace).into_iter();
    // Selectors are compared last: that takes longest.
    let isolated = pods.filter(|pod| {
        pod.dataplane.value == Dataplane::Sidecar
            && rewritten(pod).next().is_some()
            && isolates(policy, &pod.workload)
            && is_plugin_unknown(context, pod)
    });
    let mut probes = isolated.flat_map(|pod| {
        rewritten(pod).map(move |(handler, port, asked)| (pod, handler, port, asked))
    });
    let (pod, handler, _, asked) = probes.find(|(pod, _, port, asked)| {
        rule.admits_port(&pod.workload, *port)
            && !context.admits(&pod.workload, Source::Node, *asked).value
    })?;
    let message = format!(
        "the rewritten probes of {} come to port {asked}, and NetworkPolicy `{}` admits addresses \
         outside the cluster on the port of the application only",
        pod.workload.title(),
        policy.name(),
    );
    let mut finding = scene::about_object(&RULE, policy, ports.key.span(), message);
    let object = &pod.workload.object;
    let said = format!("the kubelet asks port {asked} for this probe");
    finding
        .related
        .push(object.label_at(handler.handler.key.span(), said));
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let said = "the network plugin filters the node's own packets \
                [--assume cni-enforces-node-traffic=true|false]";
    finding.assumptions.push(said.to_owned());
    finding.help = Some(format!(
        "admit the same addresses on {asked} (and on 15021, where the sidecar says that it is ready)"
    ));
    Some(finding)
}

/// Iterates over the rewritten probes of a pod, each with the port that is written and the one that the kubelet targets.
fn rewritten<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> impl Iterator<Item = (&'p HandlerPrediction<'t>, i64, i64)> {
    pod.handlers.iter().filter_map(|handler| {
        let moved = handler.verdict.cause == Cause::Rewritten;
        let becomes = handler.becomes.as_ref().filter(|_| moved)?;
        Some((handler, handler.port?, becomes.port))
    })
}
