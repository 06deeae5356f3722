//! Rule `cilium-localhost-policy`.

use super::chart_values::{ChartValues, of_chart};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::cilium;
use crate::yaml::NodeRef;

declare_rule! {
    /// Finds installations of Cilium in which policies stand between the kubelet and the pods.
    ///
    /// ## What it checks
    /// The values of the chart `cilium`, in a `HelmRelease` of Flux or an `Application` of Argo CD:
    /// `policyEnforcementMode: always` from 1.20 on or with no release named, and
    /// `extraConfig.allow-localhost: policy`.
    ///
    /// ## Why it matters
    /// By default Cilium lets the node reach its pods, so probes pass whatever policies say. With
    /// `allow-localhost: policy` they need a policy of their own. With `policyEnforcementMode: always`
    /// releases from 1.20.0 on drop the probes of pods that no policy selects for ingress; any policy that
    /// does lets them pass.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: helm.toolkit.fluxcd.io/v2
    /// kind: HelmRelease
    /// metadata:
    ///   name: cilium
    ///   namespace: kube-system
    /// spec:
    ///   interval: 10m
    ///   chart:
    ///     spec:
    ///       chart: cilium
    ///       version: 1.20.1
    ///       sourceRef:
    ///         kind: HelmRepository
    ///         name: cilium
    ///   values:
    ///     policyEnforcementMode: always
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: helm.toolkit.fluxcd.io/v2
    /// kind: HelmRelease
    /// metadata:
    ///   name: cilium
    ///   namespace: kube-system
    /// spec:
    ///   interval: 10m
    ///   chart:
    ///     spec:
    ///       chart: cilium
    ///       version: 1.20.1
    ///       sourceRef:
    ///         kind: HelmRepository
    ///         name: cilium
    ///   values:
    ///     policyEnforcementMode: default
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the modes are for the owner of the cluster to choose.
    ///
    /// ## References
    /// - Cilium documentation: "Policy Enforcement Modes"
    /// - cilium, issue 48444
    "cilium-localhost-policy", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let charts = of_chart(scene, "cilium");
    charts.flat_map(|chart| report(&chart)).collect()
}

fn report(chart: &ChartValues<'_, '_>) -> Vec<Finding> {
    let found = |value: NodeRef<'_>, message: &str, help: &str| {
        let mut finding =
            scene::about_object(&RULE, chart.object, value.span(), message.to_owned());
        finding.help = Some(help.to_owned());
        finding
    };
    let mode = chart.values.get("policyEnforcementMode");
    let mode = mode.filter(|one| one.text() == Some("always"));
    let mode = mode.filter(|_| cilium::drops_unselected(chart.version));
    let localhost = chart.values.get("extraConfig");
    let localhost = localhost.and_then(|all| all.get("allow-localhost"));
    let localhost = localhost.filter(|one| one.text() == Some("policy"));
    let of_mode = mode.map(|value| {
        let said =
            "Cilium drops the probes of pods that no policy selects for ingress, from 1.20.0 on";
        found(
            value,
            said,
            "write a policy for the ingress of every pod with probes",
        )
    });
    let of_localhost = localhost.map(|value| {
        let said = "Cilium lets the kubelet reach pods only where a policy says so";
        found(
            value,
            said,
            "admit the entity `host` in the policies of pods with probes",
        )
    });
    of_mode.into_iter().chain(of_localhost).collect()
}
