//! The verdicts for pods in ambient mode.

use crate::context::{Context, Source, reported_by_users};
use crate::kube::ProbeHandler;
use crate::mesh::istio::keys::HOST_PROBE_SNAT;
use crate::mesh::istio::network_plugin::Delivery;
use crate::mesh::{Fact, Version};
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::{Verdict, WorkloadPrediction};
use crate::predict::verdict_builder::VerdictBuilder;

/// The first minor release of Istio whose later patch releases handle pods with a network interface of their own.
/// Source: istio pull request 59778 (1.28.7 and 1.29.3).
const PARTLY_FIXED: Version = Version::new(1, 28);
/// The first minor release of Istio that always handles such pods. Source: istio pull request 59778 (1.30.0).
const FIXED: Version = Version::new(1, 30);

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
            let handled = handles_own_interface(pod);
            plugin
                .map(|_| handled.value)
                .depending_on(&selected)
                .depending_on(&handled)
        }
    }
}

/// Returns whether the release of Istio handles pods with a network interface of their own.
fn handles_own_interface(pod: &WorkloadPrediction<'_>) -> Fact<bool> {
    let release = &pod.release;
    match release.value {
        Some(version) if version >= FIXED => release.clone().map(|_| true),
        Some(version) if version < PARTLY_FIXED => release.clone().map(|_| false),
        Some(_) => {
            let message = "the patch release of Istio is at least 1.28.7 or 1.29.3";
            release
                .clone()
                .map(|_| true)
                .depending_on(&Fact::assumed((), message, None))
        }
        None => {
            let message = "the release of Istio is at least 1.28.7, 1.29.3 or 1.30.0";
            Fact::assumed(true, message, Some("--mesh-version 1.N"))
        }
    }
}
