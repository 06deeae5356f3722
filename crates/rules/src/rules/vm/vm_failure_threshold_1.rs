//! Rule `vm-failure-threshold-1`, documented in `docs/rules/vm-failure-threshold-1.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_yaml::{Change, FieldPath, Scalar, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-failure-threshold-1", Note, fix: Always, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::groups(cx).filter_map(report).collect()
}

fn report(group: &Object<'_>) -> Option<Finding> {
    let probe = workload_group::probe(group)?;
    vm::kept(probe.value)?;
    let written = probe.value.get("failureThreshold");
    let zero = Some(Scalar::Int(0));
    if written.is_some_and(|number| !number.is_null() && number.scalar() != zero) {
        return None;
    }
    let message = format!(
        "one failed check takes machines of {} out of service: `failureThreshold` defaults to {} in \
         the agent, and to 3 in the kubelet",
        workload_group::title(group),
        vm::DEFAULT_FAILURE_THRESHOLD,
    );
    let mut finding = RULE.finding_on_object(group, probe.key.span(), message);
    finding.field = Some("spec.probe.failureThreshold".to_owned());
    finding.help =
        Some("set `failureThreshold` to the number of failures that you can tolerate".to_owned());
    let change = Change::Set {
        route: group
            .route
            .join(&FieldPath::keys(&["spec", "probe", "failureThreshold"])),
        value: Value::Int(3),
    };
    let title = "set `failureThreshold` to 3, the default of the kubelet";
    let changes = vec![change];
    finding.fix = Some(Fix::of_object(
        group,
        title,
        Applicability::unsafe_because("a machine that fails stays in service two checks longer"),
        changes,
    ));
    Some(finding)
}
