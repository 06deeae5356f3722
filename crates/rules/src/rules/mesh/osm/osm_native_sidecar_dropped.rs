//! Rule `osm-native-sidecar-dropped`, documented in `docs/rules/osm-native-sidecar-dropped.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::osm::faults;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "osm-native-sidecar-dropped", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| {
            pod.mesh.value == Some(Mesh::OSM)
                && pod.dataplane.value == Dataplane::Other
                && !cx.context.mesh_of(&pod.workload).brings_proxy()
        })
        .flat_map(report)
        .collect()
}

/// Returns one finding per probe of each native sidecar, which never runs; for a sidecar without probes,
/// one finding about the container.
fn report(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let containers = pod.workload.template.containers_in(ContainerList::Init);
    let sidecars = containers
        .iter()
        .filter(|container| container.is_native_sidecar());
    let mut found = Vec::new();
    for sidecar in sidecars {
        let name = sidecar.name();
        let span = sidecar
            .node
            .entry("restartPolicy")
            .map(|entry| entry.key.span());
        let span = span.unwrap_or_else(|| sidecar.node.span());
        let message = format!(
            "init container `{name}` never ends: OSM drops its `restartPolicy`, so the pod hangs"
        );
        let probes = pod.handlers.iter().filter(|handler| {
            handler.container.name() == name
                && handler.verdict.cause == Cause::Other(&faults::NEVER_STARTS)
        });
        let before = found.len();
        found.extend(probes.map(|handler| {
            let message = format!("{message} before {} runs", handler.title());
            RULE.finding_on_handler(pod, handler, span, message)
        }));
        if found.len() == before {
            let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
            finding.container = Some(name.to_owned());
            finding.depend_on(&pod.dataplane);
            found.push(finding);
        }
    }
    for finding in &mut found {
        finding.help = Some("make it a regular container, or exclude the pod from OSM".to_owned());
    }
    found
}
