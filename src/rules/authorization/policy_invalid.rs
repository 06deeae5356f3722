//! Rule `policy-invalid`, documented in `docs/rules/policy-invalid.md`.

use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::admission::{self, Rejection};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "policy-invalid", Error, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let inventory = &cx.context.inventory;
    let peer = inventory.peer_authentications.iter().flat_map(|policy| {
        let rejections = admission::peer_authentication(policy).into_iter();
        rejections.map(move |rejection| (policy, "PeerAuthentication", rejection))
    });
    let authorization = inventory.authorization_policies.iter().flat_map(|policy| {
        let release = cx.context.istio_near(policy).version();
        let rejections = admission::authorization_policy(policy, release).into_iter();
        rejections.map(move |rejection| (policy, "AuthorizationPolicy", rejection))
    });
    peer.chain(authorization)
        .map(|(policy, kind, rejection)| report(policy, kind, &rejection))
        .collect()
}

fn report(policy: &Object<'_>, kind: &str, rejection: &Rejection) -> Finding {
    let message = format!(
        "{} rejects {kind} `{}`: `{}` {}",
        rejection.by.as_str(),
        policy.name(),
        rejection.route,
        rejection.reason
    );
    let mut finding = RULE.finding_on_object(policy, rejection.span, message);
    finding.field = Some(rejection.route.to_string());
    finding.help = Some(
        "correct the field; until then, the cluster keeps the previous version of the policy"
            .to_owned(),
    );
    finding
}
