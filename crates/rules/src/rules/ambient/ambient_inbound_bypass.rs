//! Rule `ambient-inbound-bypass`, documented in `docs/rules/ambient-inbound-bypass.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-inbound-bypass", Note, fix: None, scope: Workloads
}

/// The first release whose CNI plugin reads the annotation. Source: Istio 1.23.6 and 1.24.0,
/// `cni/pkg/nodeagent/net.go` (istio#53476).
const READS_ANNOTATION: Version = Version::new(1, 24);

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient)
        .filter_map(|pod| report(cx, pod))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::BYPASS_INBOUND)?;
    let release = pod.release.value;
    let is_supported = release.is_none_or(|release| release >= READS_ANNOTATION);
    if entry.value.text() != Some("true") || !is_supported {
        return None;
    }
    let mode = cx.context.istio(&pod.workload).mtls_of_other_ports();
    if mode.value != MtlsMode::Strict {
        return None;
    }
    let message = format!(
        "`STRICT` mutual TLS is not enforced for {}: annotation `{}` lets all inbound traffic \
         bypass ztunnel",
        pod.workload.title(),
        keys::BYPASS_INBOUND,
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::BYPASS_INBOUND).to_string());
    finding.depend_on(&mode);
    finding.depend_on(&pod.dataplane);
    let help = "remove the annotation, unless clients must reach the pod without the mesh; probes \
                do not need it";
    finding.help = Some(help.to_owned());
    Some(finding)
}
