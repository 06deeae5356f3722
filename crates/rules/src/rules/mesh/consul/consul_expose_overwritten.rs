//! Rule `consul-expose-overwritten`, documented in `docs/rules/consul-expose-overwritten.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::consul::{OVERWRITE, SERVICE};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "consul-expose-overwritten", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for pod in cx.predictions {
        if pod.mesh.value != Some(Mesh::CONSUL) {
            continue;
        }
        let findings = cx
            .context
            .mesh_of(&pod.workload)
            .objects(Mesh::CONSUL)
            .into_iter()
            .filter(|object| object.kind == "ServiceDefaults" && is_for(cx, object, pod))
            .filter_map(|object| report(pod, object));
        found.extend(findings);
    }
    // All pods of a service lose the same paths: report them once.
    let mut seen = Vec::new();
    found.retain(|finding| {
        let place = (finding.primary.path.clone(), finding.primary.span);
        let is_new = !seen.contains(&place);
        seen.push(place);
        is_new
    });
    found
}

/// Checks whether the object has the name of a service of the pod.
fn is_for(cx: &RuleContext<'_, '_>, object: &Object<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let name = object.name();
    if let Some(entry) = pod.workload.template.annotation(SERVICE) {
        let text = entry.value.text().unwrap_or_default();
        return text.split(',').any(|service| service.trim() == name);
    }
    let services = cx.context.services(&pod.workload).ports();
    services.iter().any(|(service, ..)| service.name() == name)
}

fn report(pod: &WorkloadPrediction<'_>, object: &Object<'_>) -> Option<Finding> {
    let probe = pod
        .handlers
        .iter()
        .find(|handler| handler.rewritten_to.is_some())?;
    let expose = object.node.get("spec")?.get("expose")?;
    let paths = expose.entry("paths")?;
    NodeRef::items(paths.value).next()?;
    let message = format!(
        "Consul ignores `expose.paths` of `{}`: the paths of rewritten probes replace them",
        object.name()
    );
    let mut finding = RULE.finding_on_object(object, paths.key.span(), message);
    let title = probe.title();
    let key = probe.handler.key.span();
    let place = pod
        .workload
        .object
        .label_at(key, format!("{title} is rewritten"));
    finding.related.push(place);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(format!(
        "turn the rewrite of probes off (`{OVERWRITE}: \"false\"`) and add the paths of the probes here, or \
         exclude the ports of these paths from capture"
    ));
    Some(finding)
}
