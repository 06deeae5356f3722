//! Rule `vm-probe-port-conflict`, documented in `docs/rules/vm-probe-port-conflict.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_predict::predict;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-probe-port-conflict", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::groups(cx)
        .filter_map(|group| report(cx, group))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, group: &Object<'t>) -> Option<Finding> {
    let own = predict::sidecar_port(cx.context, group)?;
    let probe = workload_group::probe(group)?;
    let (method, _) = vm::kept(probe.value)?;
    let message = format!(
        "the probe of {} checks port {} of the sidecar ({}), not the application",
        workload_group::title(group),
        own.port.value,
        own.owner,
    );
    let mut finding = workload_group::finding_on_probe(&RULE, group, own.place.span(), message);
    finding.field = Some(format!("spec.probe.{}.port", method.key()));
    finding.help = Some("set the port of the application".to_owned());
    finding.depend_on(&own.port);
    Some(finding)
}
