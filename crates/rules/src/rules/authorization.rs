//! Rules about AuthorizationPolicies that deny probes, or allow them without need.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Sentence, Severity};
use meshprobe_mesh::kube::{LabelSelector, Object, ProbeHandler};
use meshprobe_predict::context::{
    AuthzDenial, Context, DenialReason, MismatchReason, allowed_selector,
};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::paths::folder;
use meshprobe_yaml::NodeRef;

use crate::rules::support::enable_rewrite;
use crate::rules::{Rule, RuleContext};

crate::rules::rule::rules! {
    BLOCKS_PROBE = "authz-blocks-probe", Error, fix: Always, scope: Workloads, blocks_probe;
    DENY_UNAUTHENTICATED = "authz-deny-unauthenticated", Error, fix: Always, scope: Workloads,
        deny_unauthenticated;
    EXCEPTION_ONLY_FOR_PROBE = "authz-exception-only-for-probe", Note, fix: None, scope: Tree,
        exception_only_for_probe;
    HTTP_RULE_ON_TCP_PORT = "authz-http-rule-on-tcp-port", Warning, failure: true, fix: Always, scope: Workloads,
        http_rule_on_tcp_port;
}

fn blocks_probe(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = denied_handlers(
        cx,
        &BLOCKS_PROBE,
        DenialReason::NoAllow,
        |handler, denial| {
            Sentence::each(format!(
                "{}: no rule of AuthorizationPolicy `{}` allows it{}",
                outcome_text(handler),
                denial.policy.name(),
                match &denial.mismatch {
                    MismatchReason::Identity | MismatchReason::AllCallers => {
                        ", and the kubelet has no identity in the mesh".to_owned()
                    }
                    MismatchReason::Token => {
                        ", and the kubelet does not send a JSON Web Token".to_owned()
                    }
                    MismatchReason::NoRule => ", because the policy has no rule".to_owned(),
                    MismatchReason::Fields(fields) => {
                        format!(", because it does not match `{}`", fields.join("` and `"))
                    }
                },
            ))
        },
    );
    findings.extend(undecidable_handlers(cx, &BLOCKS_PROBE, false));
    findings
}

fn deny_unauthenticated(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = denied_handlers(
        cx,
        &DENY_UNAUTHENTICATED,
        DenialReason::Deny,
        |handler, denial| {
            Sentence::all(format!(
                "{}: a DENY rule of AuthorizationPolicy `{}` matches {}",
                outcome_text(handler),
                denial.policy.name(),
                match denial.mismatch {
                    MismatchReason::AllCallers => "every client",
                    MismatchReason::Token => "the kubelet, which does not send a JSON Web Token",
                    _ => "the kubelet, which has no identity in the mesh",
                },
            ))
        },
    );
    findings.extend(undecidable_handlers(cx, &DENY_UNAUTHENTICATED, true));
    findings
}

fn exception_only_for_probe(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
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
    let mut finding = EXCEPTION_ONLY_FOR_PROBE.finding_on_object(policy, first.span(), message);
    finding.field = Some(format!("spec.rules[{index}]"));
    let message = "this probe is rewritten";
    let key = handler.handler.key.span();
    finding.relate(pod.workload.object.label_at(key, message));
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

fn http_rule_on_tcp_port(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let by = DenialReason::FieldsLost;
    let mut findings = denied_handlers(cx, &HTTP_RULE_ON_TCP_PORT, by, |handler, denial| {
        let text = format!("{}: the sidecar forwards ", outcome_text(handler));
        let policy = denial.policy.name();
        let end = format!(
            " as TCP, not HTTP, and AuthorizationPolicy `{policy}` has rules with HTTP fields"
        );
        Sentence::all(text).port(handler.port.unwrap_or_default(), end)
    });
    for finding in &mut findings {
        let help = "turn the probe rewrite on; for plain HTTP, name the Service port `http-…`";
        finding.help.get_or_insert_with(|| help.to_owned());
    }
    findings
}

/// Returns a finding for every handler that a policy denies for the reason `by`.
fn denied_handlers(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    by: DenialReason,
    sentence: impl Fn(&HandlerPrediction<'_>, &AuthzDenial<'_>) -> Sentence,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let Some(denial) = handler.authz_denial(cx.context, pod) else {
            continue;
        };
        if denial.reason != by {
            continue;
        }
        let span = handler.handler.key.span();
        let sentence = sentence(handler, &denial);
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        if let Some(key) = denial.rule.and_then(first_key) {
            let message = match by {
                DenialReason::FieldsLost => "this rule has HTTP fields",
                DenialReason::Deny | DenialReason::NoAllow => "this rule matches",
            };
            let label = denial.policy.label_at(key.span(), message);
            let name = denial.policy.label_at(denial.policy.name_span(), "");
            if by == DenialReason::Deny {
                // The label of the rule replaces the one of the policy's name.
                finding.related.retain(|label| !label.is_at(&name));
            }
            finding.related.insert(0, label);
        }
        if by == DenialReason::FieldsLost
            && let Some(port) = handler.port
        {
            let protocol = cx.context.services(&pod.workload).protocol(port);
            finding.depend_on(&protocol);
        }
        enable_rewrite::add_fix(cx, pod, &mut finding);
        findings.push(finding);
    }
    findings
}

/// Returns a warning for every handler for which only the cluster decides whether a policy denies it. `denies`
/// selects the reason: a rule may deny the handler (`true`), or possibly no rule allows it (`false`).
fn undecidable_handlers(cx: &RuleContext<'_, '_>, rule: &Rule, denies: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let undecidable = handler.undecidable_policy(cx.context, pod);
        let Some(undecidable) = undecidable.filter(|undecidable| undecidable.denies == denies)
        else {
            continue;
        };
        let sentence = Sentence::all(format!(
            "may fail: cannot evaluate AuthorizationPolicy `{}`, which depends on {}",
            undecidable.policy.name(),
            undecidable.on
        ));
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        finding.severity = finding.severity.min(Severity::Warning);
        finding.certainty = Certainty::Unknown;
        if let Some(key) = first_key(undecidable.rule) {
            let label = undecidable
                .policy
                .label_at(key.span(), "this rule may match");
            finding.related.insert(0, label);
        }
        enable_rewrite::add_fix(cx, pod, &mut finding);
        if let Some(fix) = &mut finding.fix {
            // Never auto-fix an uncertain finding.
            fix.limit_to(Applicability::display_only_because(format!(
                "it is not known whether AuthorizationPolicy `{}` denies the request",
                undecidable.policy.name(),
            )));
        }
        findings.push(finding);
    }
    findings
}

/// Returns the verb of a sentence about a denied handler.
fn outcome_text(handler: &HandlerPrediction<'_>) -> &'static str {
    match handler.handler.slot.is_lifecycle() {
        true => "will be refused",
        false => "will fail",
    }
}

/// Returns the first key of a rule: `from`, `to` or `when`.
fn first_key(rule: NodeRef<'_>) -> Option<NodeRef<'_>> {
    rule.effective_entries().first().map(|entry| entry.key)
}
