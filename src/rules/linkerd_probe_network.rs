//! Rule `linkerd-probe-network`.

use super::chart_values::{ChartValues, of_chart};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::source::placeholder;
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds installations of Linkerd that let in probes from some networks only.
    ///
    /// ## What it checks
    /// The value `policyController.probeNetworks` of the chart `linkerd-control-plane`, in a
    /// `HelmRelease` of Flux or an `Application` of Argo CD, that does not name all networks.
    ///
    /// ## Why it matters
    /// Where a policy closes a port, Linkerd makes a route for the probes of the pod, for clients of
    /// these networks. By default it is for all. The kubelet has the address of the node: where that
    /// lies in none of them, every such probe gets 403.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: helm.toolkit.fluxcd.io/v2
    /// kind: HelmRelease
    /// metadata:
    ///   name: linkerd-control-plane
    ///   namespace: linkerd
    /// spec:
    ///   interval: 10m
    ///   chart:
    ///     spec:
    ///       chart: linkerd-control-plane
    ///       sourceRef:
    ///         kind: HelmRepository
    ///         name: linkerd
    ///   values:
    ///     policyController:
    ///       probeNetworks:
    ///         - 10.0.0.0/8
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: helm.toolkit.fluxcd.io/v2
    /// kind: HelmRelease
    /// metadata:
    ///   name: linkerd-control-plane
    ///   namespace: linkerd
    /// spec:
    ///   interval: 10m
    ///   chart:
    ///     spec:
    ///       chart: linkerd-control-plane
    ///       sourceRef:
    ///         kind: HelmRepository
    ///         name: linkerd
    ///   values:
    ///     policyController:
    ///       probeNetworks:
    ///         - 0.0.0.0/0
    ///         - "::/0"
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only you know the addresses of the nodes.
    ///
    /// ## References
    /// - linkerd2, pull requests 9008 and 9099
    /// - Linkerd documentation: "Authorization Policy"
    "linkerd-probe-network", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let charts = of_chart(scene, "linkerd-control-plane");
    charts.filter_map(|chart| report(&chart)).collect()
}

fn report(chart: &ChartValues<'_, '_>) -> Option<Finding> {
    let controller = chart.values.get("policyController")?;
    let networks = controller.get("probeNetworks")?;
    let named: Vec<&str> = networks.items().filter_map(NodeRef::text).collect();
    let is_open = |network: &&str| network.ends_with("/0") || placeholder::contains(network);
    if named.is_empty() || named.iter().any(is_open) {
        return None;
    }
    let message = format!(
        "Linkerd lets in probes from {} only: at closed ports those of nodes with other addresses are \
         refused",
        named.join(", ")
    );
    let mut finding = scene::about_object(&RULE, chart.object, networks.span(), message);
    finding.help = Some("name the networks of all nodes, or leave the value out".to_owned());
    Some(finding)
}
