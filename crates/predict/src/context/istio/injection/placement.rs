//! The assumption about pod templates in objects of operators.

use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;

/// Returns the assumption that pods are created from the template of `workload`; `None` if that is known.
#[must_use]
pub fn placement(workload: &Workload<'_>) -> Option<Fact<()>> {
    let template = &workload.template;
    template.placement.is_assumed().then(|| {
        let (title, within) = (workload.title(), &template.within);
        let message = format!("{title} creates pods from `{within}` in its own namespace");
        let settle = "kubectl get pods -A -o yaml | meshprobe check --context . -";
        Fact::assumed((), message, Some(settle))
    })
}
