//! Rule `probe-proof`, documented in `docs/rules/probe-proof.md`.

use crate::finding::Finding;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-proof", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.container.name() == "proof")
        .map(|(pod, handler)| {
            let span = handler.handler.key.span();
            RULE.finding_on_handler(
                pod,
                handler,
                span,
                "the container is named `proof`".to_owned(),
            )
        })
        .collect()
}
