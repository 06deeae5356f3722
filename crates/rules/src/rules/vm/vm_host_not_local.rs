//! Rule `vm-host-not-local`, documented in `docs/rules/vm-host-not-local.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::predict;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-host-not-local", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::groups(cx)
        .filter_map(|group| report(cx, group))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let host = predict::other_host(cx.context, group)?;
    let probe = workload_group::probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let name = host.text()?;
    let message = format!(
        "the probe of {} checks `{name}` on every machine of the group: the health of the machines \
         themselves has no effect",
        workload_group::title(group),
    );
    let mut finding = workload_group::finding_on_probe(&RULE, group, host.span(), message);
    finding.field = Some(format!("spec.probe.{}.host", method.key()));
    finding.help = Some("remove `host`: the agent then checks its own machine".to_owned());
    Some(finding)
}
