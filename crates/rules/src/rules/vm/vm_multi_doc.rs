//! Rule `vm-multi-doc`, documented in `docs/rules/vm-multi-doc.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::vm::workload_group;

declare_rule! {
    "vm-multi-doc", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let groups: Vec<_> = workload_group::groups(cx)
        .filter(|group| group.rendered_by.is_none())
        .collect();
    groups
        .iter()
        .filter_map(|group| {
            let first = groups.iter().find(|other| {
                other.path() == group.path() && other.document.index < group.document.index
            });
            first.map(|first| report(group, first))
        })
        .collect()
}

fn report(group: &Object<'_>, first: &Object<'_>) -> Finding {
    let message = format!(
        "`istioctl x workload entry configure -f` ignores {}: it reads only the first document of \
         a file",
        workload_group::title(group),
    );
    let mut finding = RULE.finding_on_object(group, group.name_span(), message);
    let configured = "istioctl configures this group instead";
    finding
        .related
        .push(first.label_at(first.name_span(), configured));
    finding.help = Some(
        "move it to a separate file, or write both with `meshprobe rewrite --vm -o DIR`".to_owned(),
    );
    finding
}
