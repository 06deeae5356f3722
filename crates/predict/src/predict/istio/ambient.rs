//! The verdicts for pods in ambient mode.

use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::istio::keys::HOST_PROBE_SNAT;
use meshprobe_mesh::mesh::istio::network_plugin::Delivery;
use meshprobe_mesh::mesh::{Fact, ReleaseChange, Version};

use crate::context::{Context, Source, reported_by_users};
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::{Verdict, WorkloadPrediction};
use crate::predict::verdict_builder::VerdictBuilder;

/// The releases of Istio that handle pods with a network interface of their own. Source: istio pull request 59778.
const OWN_INTERFACE: ReleaseChange = ReleaseChange::new(Version::new(1, 30), &[(28, 7), (29, 3)]);

/// Returns the verdict for a pod in ambient mode. The CNI plugin of Istio gives the kubelet's packets a special source
/// address, which exempts them from ztunnel. A NetworkPolicy or the network plugin of the cluster can drop them.
pub(in crate::predict) fn ambient<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    action: &ProbeHandler,
    resolved: Result<i64, Cause>,
    mut builder: VerdictBuilder,
) -> Verdict {
    if let Ok(port) = resolved {
        let admitted = context
            .network_policies(&pod.workload)
            .admit(Source::Address(HOST_PROBE_SNAT), port);
        if !admitted.value {
            // The probe fails with any network plugin: one that delivers the packets enforces the policy.
            builder.depends_on(&admitted);
            return builder.verdict(Outcome::Fails, Cause::NetworkPolicyDenies);
        }
    }
    if action.host().is_some() {
        return builder.verdict(Outcome::Ok, Cause::OtherHost);
    }
    let delivered = delivered(context, pod);
    builder.depends_on(&delivered);
    if !delivered.value {
        return builder.verdict(Outcome::Fails, Cause::NetworkPluginDrops);
    }
    if let Some(policy) = context.cluster_network(&pod.workload).unmodelled_policy() {
        builder.depends_on(&policy);
    }
    builder.verdict(Outcome::Ok, Cause::Ambient)
}

/// Returns whether the network plugin delivers the kubelet's packets to the pod.
fn delivered<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Fact<bool> {
    let network = context.cluster_network(&pod.workload);
    let plugin = network.plugin();
    let delivery = plugin
        .value
        .map_or(Delivery::Delivers, |plugin| plugin.delivery());
    match delivery {
        Delivery::Delivers => plugin.map(|_| true),
        Delivery::Drops(_) => plugin.map(|_| false),
        Delivery::DropsByReports(_) => plugin.map(|_| false).depending_on(&reported_by_users()),
        Delivery::DropsIfSecurityGroup(_) => {
            let selected = network.security_group();
            if !selected.value {
                return plugin.map(|_| true).depending_on(&selected);
            }
            let handled = handles_own_interface(context, pod);
            plugin
                .map(|_| handled.value)
                .depending_on(&selected)
                .depending_on(&handled)
        }
    }
}

/// Returns whether the release of Istio handles pods with a network interface of their own.
fn handles_own_interface<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Fact<bool> {
    if pod.release.value.is_some() {
        return context.istio(&pod.workload).has(&OWN_INTERFACE);
    }
    let message = "the release of Istio is at least 1.28.7, 1.29.3 or 1.30.0";
    Fact::assumed(true, message, Some("--mesh-version 1.N"))
}
