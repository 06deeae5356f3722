//! Rule `init-probe-needs-1-19`, documented in `docs/rules/init-probe-needs-1-19.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ContainerList;

use crate::rules::RuleContext;
use crate::rules::probe_rewriting::unsupported_by_release;
use crate::rules::rule::declare_rule;

declare_rule! {
    "init-probe-needs-1-19", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    unsupported_by_release::report(&RULE, cx, |handler| {
        let is_init = handler.container.list == ContainerList::Init;
        is_init.then_some("probes of init containers")
    })
}
