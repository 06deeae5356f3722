//! Rule `policy-invalid`, documented in `docs/rules/policy-invalid.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::admission;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::rejected_object;

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
        .map(|(policy, kind, rejection)| {
            rejected_object::finding(&RULE, policy, (kind, "policy"), &rejection)
        })
        .collect()
}
