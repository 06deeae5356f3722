//! Rule `vm-scheme`, documented in `docs/rules/vm-scheme.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-scheme", Error, fix: Sometimes, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter_map(|(group, fault)| report(group, &fault))
        .collect()
}

fn report(group: &Object<'_>, fault: &vm::Fault) -> Option<Finding> {
    if fault.kind != vm::FaultKind::Scheme {
        return None;
    }
    let written = workload_group::source(group, fault.span);
    let message = format!(
        "the probe of {} has the scheme `{written}`: istiod refuses it (`must be one of \"HTTPS\", \
         \"HTTP\"`)",
        workload_group::title(group),
    );
    let help = "use `HTTP` or `HTTPS`, in upper case";
    let mut finding = workload_group::report(&RULE, group, fault, message, help);
    let is_http = written
        .trim_matches(['"', '\''])
        .eq_ignore_ascii_case("http");
    finding.fix = is_http.then(|| {
        let change = Change::Set {
            route: group.route.join(&fault.within),
            value: Value::from("HTTP"),
        };
        Fix::of_object(
            group,
            "set the scheme to `HTTP`",
            Applicability::Safe,
            vec![change],
        )
    });
    Some(finding)
}
