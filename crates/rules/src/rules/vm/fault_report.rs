//! Rules that are declared: for one kind of fault of a `WorkloadGroup`, what a finding says.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::vm;

use crate::rules::vm::workload_group;
use crate::rules::{Rule, RuleContext};

/// What a rule reports about one kind of fault of a `WorkloadGroup`.
pub(in crate::rules) struct FaultReport {
    /// Checks whether the rule reports this kind of fault.
    pub(in crate::rules) applies_to: fn(&vm::FaultKind) -> bool,
    /// Returns the message.
    pub(in crate::rules) message: fn(&Object<'_>, &vm::Fault) -> String,
    /// The advice after `help:`.
    pub(in crate::rules) help: &'static str,
}

/// Returns a finding for each fault to which the report applies.
pub(in crate::rules) fn check(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    report: &FaultReport,
) -> Vec<Finding> {
    workload_group::faults(cx)
        .filter(|(_, fault)| (report.applies_to)(&fault.kind))
        .map(|(group, fault)| {
            let message = (report.message)(group, &fault);
            workload_group::report(rule, group, &fault, message, report.help)
        })
        .collect()
}

/// Declares a rule that consists of a [`FaultReport`]: its id, its severity and the report.
macro_rules! declare_fault_rule {
    ($id:literal, $severity:ident, $report:ident) => {
        $crate::rules::rule::declare_rule! { $id, $severity, fix: None, scope: Tree }

        fn check(cx: &$crate::rules::RuleContext<'_, '_>) -> Vec<meshprobe_mesh::finding::Finding> {
            $crate::rules::vm::fault_report::check(cx, &RULE, &$report)
        }
    };
}
pub(in crate::rules) use declare_fault_rule;
