//! Rule `authz-exception-only-for-probe`, documented in `docs/rules/authz-exception-only-for-probe.md`.

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{LabelSelector, Object, ProbeHandler};
use meshprobe_predict::context::{Context, allowed_selector};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::paths::folder;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "authz-exception-only-for-probe", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut audiences = HashMap::new();
    cx.context
        .inventory
        .authorization_policies
        .iter()
        .flat_map(|policy| report(cx, policy, &mut audiences))
        .collect()
}

/// What determines the pods of a policy: its folder, its namespace and whether the manifest sets it, whether
/// that is the root namespace, and the labels of its selector.
type AudienceKey<'s, 't> = (&'s str, (&'s str, bool), bool, Vec<(&'t str, &'t str)>);

fn report<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &'s Object<'t>,
    audiences: &mut HashMap<AudienceKey<'s, 't>, Audience<'s, 't>>,
) -> Vec<Finding> {
    let rules = policy.node.get("spec").and_then(|spec| spec.get("rules"));
    let opened: Vec<_> = rules
        .into_iter()
        .flat_map(NodeRef::items)
        .map(open_paths)
        .collect();
    let selector = allowed_selector(policy).filter(|_| !opened.iter().all(Vec::is_empty));
    let Some(selector) = selector else {
        return Vec::new();
    };
    let context = cx.context;
    let namespace = context.namespace_of(policy);
    let key = (
        folder(policy.location_file()),
        (namespace.name, namespace.is_written),
        context.istio_policy(policy).is_in_root_namespace(),
        selector.clone().into_labels(),
    );
    let audience = audiences
        .entry(key)
        .or_insert_with(|| Audience::of(cx, policy, &selector));
    opened
        .iter()
        .enumerate()
        .filter_map(|(index, paths)| exception(cx.context, policy, index, paths, audience))
        .collect()
}

/// A probe and its pod.
type Probe<'s, 't> = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>);

/// The probes of the pods that policies with one [`AudienceKey`] select, collected once, because there may be
/// as many policies as pods.
struct Audience<'s, 't> {
    by_path: HashMap<&'s str, Vec<Probe<'s, 't>>>,
    /// For each path that was requested, the first probe if all probes of the path are rewritten.
    rewritten: HashMap<&'s str, Option<Probe<'s, 't>>>,
}

impl<'s, 't> Audience<'s, 't> {
    fn of(cx: &RuleContext<'s, 't>, policy: &Object<'t>, selector: &LabelSelector<'t>) -> Self {
        let mut by_path: HashMap<&str, Vec<Probe<'_, '_>>> = HashMap::new();
        for pod in cx.workloads_in_scope(policy) {
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

    /// Returns the first probe of a path, if there is one and all probes of the path are rewritten.
    fn rewritten_probe(&mut self, context: &Context<'t>, path: &str) -> Option<Probe<'s, 't>> {
        let (path, probes) = self.by_path.get_key_value(path)?;
        let compute = || {
            // A rule with a path allows nothing on a port that the sidecar forwards as TCP.
            let mut http_probes = probes
                .iter()
                .filter(|(pod, handler)| handler.is_seen_as_http(context, pod))
                .peekable();
            let first = http_probes.peek().copied().copied();
            let is_rewritten =
                http_probes.all(|(_, handler)| handler.verdict.cause == Cause::Rewritten);
            first.filter(|_| is_rewritten)
        };
        *self.rewritten.entry(path).or_insert_with(compute)
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
        "AuthorizationPolicy `{}` allows `{}` for every client, but the kubelet does not need it: the \
         probes of this path are rewritten and bypass the policy",
        policy.name(),
        first.text()?,
    );
    let mut finding = RULE.finding_on_object(policy, first.span(), message);
    finding.field = Some(format!("spec.rules[{index}]"));
    let message = "this probe is rewritten";
    let key = handler.handler.key.span();
    finding
        .related
        .push(pod.workload.object.label_at(key, message));
    finding.depend_on(&pod.dataplane);
    finding.help = Some("remove the path if only the kubelet requests it".to_owned());
    Some(finding)
}

/// Returns the path of an HTTP probe, without its query.
fn path_of<'s>(handler: &'s HandlerPrediction<'_>) -> Option<&'s str> {
    let Ok(ProbeHandler::HttpGet(http)) = &handler.handler.action else {
        return None;
    };
    http.path.split(['?', '#']).next()
}

/// Returns the paths that a rule allows for every client; none if the rule has fields other than paths, ports
/// and methods.
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
    let has_only_paths = operations.iter().all(|operation| {
        let is_known = |key: Option<&str>| matches!(key, Some("paths" | "ports" | "methods"));
        let mut fields = operation.effective_entries().into_iter();
        operation.get("paths").is_some() && fields.all(|entry| is_known(entry.key.text()))
    });
    if !has_only_paths {
        return Vec::new();
    }
    operations
        .iter()
        .filter_map(|operation| operation.get("paths"))
        .flat_map(NodeRef::items)
        .collect()
}
