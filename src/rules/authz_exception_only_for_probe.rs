//! Rule `authz-exception-only-for-probe`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::allows_to;
use crate::finding::Finding;
use crate::kube::{Action, Object, PeerAuthentication};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds rules that open a path for probes which never meet them.
    ///
    /// ## What it checks
    /// A rule of an ALLOW policy without `from` and `when` whose paths are all paths of probes,
    /// where every probe of these paths in the pods of the policy is rewritten.
    ///
    /// ## Why it matters
    /// Such a rule is mostly written for the kubelet. A rewritten probe asks the agent, past the
    /// sidecar, so the rule only opens the path to every other client.
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
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   rules:
    ///     - to:
    ///         - operation:
    ///             paths: [/healthz]
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
    /// apiVersion: security.istio.io/v1
    /// kind: AuthorizationPolicy
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   rules:
    ///     - from:
    ///         - source:
    ///             principals: [cluster.local/ns/shop/sa/front]
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
    /// There is no fix by machine: others may ask for the path, and a policy without any rule
    /// allows nothing.
    ///
    /// ## References
    /// - Istio reference: "Authorization Policy"
    /// - Istio documentation: "Health Checking of Istio Services"
    "authz-exception-only-for-probe", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let policies = scene.context.inventory.authorization_policies.iter();
    policies.flat_map(|policy| report(scene, policy)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, policy: &Object<'t>) -> Vec<Finding> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
    let rules: Vec<_> = rules.into_iter().flat_map(NodeRef::items).collect();
    let opened: Vec<_> = rules.into_iter().map(open_paths).collect();
    if opened.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let handlers = scene
        .hearing_selected(policy, PeerAuthentication::of(policy).selector())
        .into_iter()
        .filter(|pod| allows_to(policy, &pod.workload))
        .flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)));
    let is_named = |handler: &HandlerPrediction<'t>| {
        let paths = opened.iter().flatten().filter_map(|path| path.text());
        paths.into_iter().any(|path| asks_for(handler, path))
    };
    // Where only bytes are seen, a path opens nothing.
    let probes: Vec<Probe<'_, 't>> = handlers
        .filter(|(_, handler)| is_named(handler))
        .filter(|(pod, handler)| handler.is_seen_as_http(scene.context, pod))
        .collect();
    let found = opened.iter().enumerate();
    found
        .filter_map(|(index, paths)| exception(policy, index, paths, &probes))
        .collect()
}

/// A probe and its pod.
type Probe<'s, 't> = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>);

fn exception<'t>(
    policy: &Object<'t>,
    index: usize,
    paths: &[NodeRef<'t>],
    probes: &[Probe<'_, 't>],
) -> Option<Finding> {
    let first = paths.first()?;
    let asking = |path: &NodeRef<'t>| {
        let path = path.text()?;
        let of_path = probes.iter().filter(move |(_, one)| asks_for(one, path));
        let mut of_path = of_path.peekable();
        of_path
            .peek()
            .copied()
            .filter(|_| of_path.all(|(_, one)| one.verdict.cause == Cause::Rewritten))
    };
    if !paths.iter().all(|path| asking(path).is_some()) {
        return None;
    }
    let (pod, handler) = asking(first)?;
    let message = format!(
        "AuthorizationPolicy `{}` opens `{}` to every client, and the kubelet does not need it: the \
         probes of this path are rewritten and never meet the policy",
        policy.name(),
        first.text()?,
    );
    let mut finding = scene::about_object(&RULE, policy, first.span(), message);
    finding.field = Some(format!("spec.rules[{index}]"));
    let said = "this probe is rewritten";
    let key = handler.handler.key.span();
    finding
        .related
        .push(pod.workload.object.label_at(key, said));
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("drop the path if nobody but the kubelet asks for it".to_owned());
    Some(finding)
}

fn asks_for(handler: &HandlerPrediction<'_>, path: &str) -> bool {
    let Ok(Action::HttpGet(http)) = &handler.handler.action else {
        return false;
    };
    http.path.split(['?', '#']).next() == Some(path)
}

/// The paths that a rule opens to everyone, if it speaks of paths alone.
fn open_paths(rule: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let is_given = |key: &str| rule.get(key).is_some_and(|list| list.items().len() > 0);
    if is_given("from") || is_given("when") {
        return Vec::new();
    }
    let operations: Vec<_> = rule
        .get("to")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| item.get("operation"))
        .collect();
    let speaks_of_paths = operations.iter().all(|operation| {
        let known = |key: Option<&str>| matches!(key, Some("paths" | "ports" | "methods"));
        let mut fields = operation.effective_entries().into_iter();
        operation.get("paths").is_some() && fields.all(|entry| known(entry.key.text()))
    });
    if !speaks_of_paths {
        return Vec::new();
    }
    operations
        .iter()
        .filter_map(|operation| operation.get("paths"))
        .flat_map(NodeRef::items)
        .collect()
}
