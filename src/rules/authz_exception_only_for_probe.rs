//! Rule `authz-exception-only-for-probe`.

use hashbrown::HashMap;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::{Context, allowed_selector};
use crate::finding::Finding;
use crate::kube::{Action, LabelSelector, Object};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::source::place::folder;
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
    let mut audiences = HashMap::new();
    let policies = scene.context.inventory.authorization_policies.iter();
    policies
        .flat_map(|policy| report(scene, policy, &mut audiences))
        .collect()
}

/// What decides which pods a policy is for: its folder, its namespace and whether that is written, whether that is the
/// root namespace, and the labels that it asks for.
type AudienceKey<'s, 't> = (&'s str, (&'s str, bool), bool, Vec<(&'t str, &'t str)>);

fn report<'s, 't>(
    scene: &Scene<'s, 't>,
    policy: &'s Object<'t>,
    audiences: &mut HashMap<AudienceKey<'s, 't>, Audience<'s, 't>>,
) -> Vec<Finding> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
    let rules = rules.into_iter().flat_map(NodeRef::items);
    let opened: Vec<_> = rules.map(open_paths).collect();
    let selector = allowed_selector(policy).filter(|_| !opened.iter().all(Vec::is_empty));
    let Some(selector) = selector else {
        return Vec::new();
    };
    let context = scene.context;
    let key = (
        folder(policy.home()),
        context.namespace_of(policy),
        context.is_in_root_namespace(policy),
        selector.clone().into_labels(),
    );
    let audience = audiences
        .entry(key)
        .or_insert_with(|| Audience::of(scene, policy, &selector));
    let found = opened.iter().enumerate();
    found
        .filter_map(|(index, paths)| exception(scene.context, policy, index, paths, audience))
        .collect()
}

/// A probe and its pod.
type Probe<'s, 't> = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>);

/// The probes of the pods that some policies are for: there may be as many policies as pods.
struct Audience<'s, 't> {
    by_path: HashMap<&'s str, Vec<Probe<'s, 't>>>,
    /// The first probe of a path, where all of them are rewritten.
    rewritten: HashMap<&'s str, Option<Probe<'s, 't>>>,
}

impl<'s, 't> Audience<'s, 't> {
    fn of(scene: &Scene<'s, 't>, policy: &Object<'t>, selector: &LabelSelector<'t>) -> Self {
        let mut by_path: HashMap<&str, Vec<Probe<'_, '_>>> = HashMap::new();
        for pod in scene.hearing_selected(policy, selector.clone()) {
            if selector.matches(pod.workload.template.labels()) {
                for handler in &pod.handlers {
                    if let Some(path) = path_of(handler) {
                        by_path.entry(path).or_default().push((pod, handler));
                    }
                }
            }
        }
        Self {
            by_path,
            rewritten: HashMap::new(),
        }
    }

    /// Returns the first probe of a path, if there is one and all are rewritten.
    fn rewritten_probe(&mut self, context: &Context<'t>, path: &str) -> Option<Probe<'s, 't>> {
        let (path, probes) = self.by_path.get_key_value(path)?;
        let work_out = || {
            // Where only bytes are seen, a path opens nothing.
            let mut seen = probes
                .iter()
                .filter(|(pod, handler)| handler.is_seen_as_http(context, pod))
                .peekable();
            let first = seen.peek().copied().copied();
            let is_rewritten = seen.all(|(_, one)| one.verdict.cause == Cause::Rewritten);
            first.filter(|_| is_rewritten)
        };
        *self.rewritten.entry(path).or_insert_with(work_out)
    }
}

fn exception<'t>(
    context: &Context<'t>,
    policy: &Object<'t>,
    index: usize,
    paths: &[NodeRef<'t>],
    audience: &mut Audience<'_, 't>,
) -> Option<Finding> {
    let first = paths.first()?;
    let mut rewritten = |path: &NodeRef<'t>| audience.rewritten_probe(context, path.text()?);
    if !paths.iter().all(|path| rewritten(path).is_some()) {
        return None;
    }
    let (pod, handler) = rewritten(first)?;
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

/// Returns the path of an HTTP probe, without its query.
fn path_of<'s>(handler: &'s HandlerPrediction<'_>) -> Option<&'s str> {
    let Ok(Action::HttpGet(http)) = &handler.handler.action else {
        return None;
    };
    http.path.split(['?', '#']).next()
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
