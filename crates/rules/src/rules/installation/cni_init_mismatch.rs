//! Rule `cni-init-mismatch`, documented in `docs/rules/cni-init-mismatch.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "cni-init-mismatch", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let containers = workload.template.containers_in(ContainerList::Init);
    let init = containers
        .iter()
        .find(|container| container.name() == keys::INIT_CONTAINER)?;
    let cni = cx.context.istio(workload).ports().cni();
    if !cni.value {
        return None;
    }
    let message = format!(
        "the CNI plugin skips {}: the pod has its own `{}`, so only that container sets up traffic \
         capture",
        workload.title(),
        init.name(),
    );
    let span = init.node.get("name")?.span();
    let mut finding = RULE.finding_on_workload(workload, span, message);
    finding.container = Some(init.name().to_owned());
    finding.field = Some(init.field("name").to_string());
    finding.depend_on(&cni);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(
        "let the webhook inject the pod, or inject it manually with the values of this mesh"
            .to_owned(),
    );
    Some(finding)
}
