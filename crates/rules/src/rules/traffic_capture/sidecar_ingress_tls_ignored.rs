//! Rule `sidecar-ingress-tls-ignored`, documented in `docs/rules/sidecar-ingress-tls-ignored.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Object, integer, selects_workload};
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_yaml::NodeRef;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "sidecar-ingress-tls-ignored", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sidecar in &cx.context.inventory.sidecar_resources {
        let listeners = sidecar
            .node
            .get("spec")
            .and_then(|spec| spec.get("ingress"))
            .into_iter()
            .flat_map(NodeRef::items);
        for (index, listener) in listeners.enumerate() {
            findings.extend(report(cx, sidecar, index, listener));
        }
    }
    findings
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    sidecar: &Object<'t>,
    index: usize,
    listener: NodeRef<'t>,
) -> Option<Finding> {
    let context = cx.context;
    let tls = listener.entry("tls").filter(|tls| !tls.value.is_null())?;
    let port = listener.get("port")?.get("number").and_then(integer)?;
    let mode = cx
        .workloads_in_scope(sidecar)
        .into_iter()
        .filter(|pod| {
            pod.dataplane.value == Dataplane::Sidecar && selects_workload(sidecar, &pod.workload)
        })
        .map(|pod| context.istio(&pod.workload).mtls(port))
        .find(|mode| mode.value != MtlsMode::Disable)?;
    let message = format!(
        "`tls` of port {port} is ignored: it applies only if the mutual TLS mode of the port is \
         `DISABLE`, but the mode is `{}`",
        mode.value.as_str(),
    );
    let mut finding = RULE.finding_on_object(sidecar, tls.key.span(), message);
    finding.field = Some(format!("spec.ingress[{index}].tls"));
    finding.depend_on(&mode);
    let help = format!(
        "set port {port} to `DISABLE` in `portLevelMtls` and enable \
         `ENABLE_TLS_ON_SIDECAR_INGRESS` on istiod, or remove `tls`"
    );
    finding.help = Some(help);
    Some(finding)
}
