//! Rule `ambient-l7-policy`, documented in `docs/rules/ambient-l7-policy.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_predict::context::{Dataplane, HttpRule};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::policy_pods::PolicyPodsCache;

declare_rule! {
    "ambient-l7-policy", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut cache = PolicyPodsCache::default();
    let policies = cx.context.inventory.authorization_policies.iter();
    policies
        .filter_map(|policy| report(cx, policy, &mut cache))
        .collect()
}

fn report<'s, 't>(
    cx: &RuleContext<'s, 't>,
    policy: &Object<'t>,
    cache: &mut PolicyPodsCache<'s, 't>,
) -> Option<Finding> {
    let view = cx.context.istio_policy(policy);
    let HttpRule { field, denies } = view.http_rule_at_ztunnel()?;
    let reached = cache.of(cx, policy, view.scope());
    let pod = reached.first_of(Dataplane::Ambient)?;
    let title = pod.workload.title();
    let message = match denies {
        true => format!(
            "ztunnel ignores this HTTP condition of AuthorizationPolicy `{}`, so that it denies more connections to \
             {title} than the policy names",
            policy.name(),
        ),
        false => format!(
            "ztunnel cannot check this HTTP condition of AuthorizationPolicy `{}`: the rule allows no connection to \
             {title}",
            policy.name(),
        ),
    };
    let mut finding = RULE.finding_on_deployed(policy, field, message);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(
        "deploy a waypoint, and move the rule to a policy with `targetRefs`; probes are exempt from policies".to_owned(),
    );
    Some(finding)
}
