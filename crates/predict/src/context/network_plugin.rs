//! Decides which network plugin the cluster of a workload has: from options or from the objects of the tree.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{Object, Requirements, Workload, nearness};
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_mesh::mesh::istio::keys::HOST_PROBE_SNAT;
use meshprobe_mesh::mesh::istio::network_plugin as plugins;
use meshprobe_mesh::mesh::istio::network_plugin::{
    Delivery, FIXED_CALICO, NetworkPlugin, OVERRIDE,
};
use meshprobe_mesh::mesh::{Fact, Reason, Version};
use meshprobe_yaml::NodeRef;

use super::run_context::Context;

/// The option that settles the network plugin.
const SETTLE: &str = "--assume network-plugin=NAME";

/// The network plugin of the cluster of a workload.
#[derive(Clone, Copy, Debug)]
pub struct ClusterNetwork<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

impl<'t> Context<'t> {
    /// Returns the facts about the network plugin of the cluster of a workload.
    #[must_use]
    pub const fn cluster_network<'c>(
        &'c self,
        workload: &'c Workload<'t>,
    ) -> ClusterNetwork<'c, 't> {
        ClusterNetwork {
            context: self,
            workload,
        }
    }
}

impl<'c, 't> ClusterNetwork<'c, 't> {
    /// Returns the network plugin; `None` if nothing states it.
    #[must_use]
    pub fn plugin(self) -> Fact<Option<NetworkPlugin>> {
        let given = self.context.user_facts(&self.workload.object);
        if let Some(plugin) = given.overrides.network_plugin {
            let message = format!("the network plugin is {} (--override)", plugin.title());
            return Fact::settled(Some(plugin), message);
        }
        if let Some(fact) = self.written() {
            return fact.map(Some);
        }
        if let Some(plugin) = given.assume.network_plugin {
            let message = format!("the network plugin is {} (--assume)", plugin.title());
            return Fact::assumed_by_user(Some(plugin), message);
        }
        let message = "the network plugin delivers the packets of 169.254.7.127";
        Fact::assumed(None, message, Some(SETTLE))
    }

    /// Returns a description of a plugin that drops the packets, and how to change that; `None` if it delivers them.
    #[must_use]
    pub fn dropping_plugin(self) -> Option<(&'static str, &'static str)> {
        let plugin = self.plugin().value?;
        match plugin.delivery() {
            Delivery::Delivers => None,
            Delivery::Drops(cure)
            | Delivery::DropsByReports(cure)
            | Delivery::DropsIfSecurityGroup(cure) => Some((plugin.title(), cure)),
        }
    }

    /// Returns the network plugin that the objects of the tree state. Caches the result.
    fn written(self) -> Option<Fact<NetworkPlugin>> {
        if self.context.inventory.network_plugins.is_empty() && self.context.networks.is_empty() {
            return None;
        }
        let object = &self.workload.object;
        let key = self.context.home_key(object);
        self.context
            .fact_cache
            .network_plugins
            .of(key, || self.find_written())
    }

    fn find_written(self) -> Option<Fact<NetworkPlugin>> {
        let home = self.workload.object.location_file();
        let mut objects: Vec<(usize, &Object<'t>)> = self
            .objects()
            .map(|object| (nearness(object.location_file(), home), object))
            .collect();
        // The sort is stable: of equally near objects, the order of the inventory decides.
        objects.sort_by_key(|(near, _)| std::cmp::Reverse(*near));
        let of_objects = objects
            .iter()
            .filter_map(|(near, object)| Some((*near, plugins::from_object(object)?)));
        let of_charts = self.charts().filter_map(|chart| {
            let near = nearness(&chart.place.path, home);
            Some((near, chart.network_plugin.clone()?))
        });
        let mut facts: Vec<_> = of_objects.chain(of_charts).collect();
        facts.sort_by_key(|(near, _)| std::cmp::Reverse(*near));
        let nearest = facts.first()?.0;
        facts.retain(|(near, _)| *near == nearest);
        // Of equally near objects, those whose plugin drops the packets come first.
        facts.sort_by_key(|(_, fact)| fact.value.delivery() == Delivery::Delivers);
        let mut facts = facts.into_iter().map(|(_, fact)| fact);
        let fact = facts.next()?;
        let rival = facts.find(|rival| contradict(fact.value, rival.value));
        let fact = match rival {
            Some(rival) => with_rival(fact, &rival),
            None => fact,
        };
        let of_objects = objects.iter().map(|(_, object)| object);
        let release = of_objects.filter_map(|object| plugins::calico_release(object));
        let of_charts = self.charts().filter(|chart| states_calico(chart));
        let mut releases = release.chain(of_charts.filter_map(|chart| chart.version.clone()));
        Some(with_calico_release(fact, releases.next()))
    }

    /// Returns the fact that Cilium removes the configuration of `istio-cni`, if the values of its chart or its ConfigMap
    /// state that, and no option states another plugin.
    #[must_use]
    pub fn exclusive_cilium(self) -> Option<Fact<()>> {
        let given = self.context.user_facts(&self.workload.object);
        if given
            .overrides
            .network_plugin
            .is_some_and(|plugin| !plugin.is_cilium())
        {
            return None;
        }
        let home = self.workload.object.location_file();
        let of_charts = self.charts().filter_map(|chart| {
            let exclusive = chart.cni_exclusive.clone()?;
            Some((nearness(&chart.place.path, home), exclusive))
        });
        let of_objects = self.objects().filter_map(|object| {
            let exclusive = plugins::is_exclusive(object)?;
            Some((nearness(object.location_file(), home), exclusive))
        });
        let all = of_charts.chain(of_objects);
        let (_, exclusive) = all.max_by_key(|(near, _)| *near)?;
        exclusive.value.then(|| exclusive.map(|_| ()))
    }

    /// Iterates over the charts of network plugins that may apply to the cluster of the workload.
    fn charts(self) -> impl Iterator<Item = &'c Install> {
        let object = &self.workload.object;
        let environments = &self.context.inventory.environments;
        let networks = self.context.networks.iter();
        networks.filter(move |chart| {
            environments.may_apply(&chart.place.path, object.location_file())
                && self.context.is_in_cluster(chart, object)
        })
    }

    /// Iterates over the objects about network plugins that may apply to the cluster of the workload.
    fn objects(self) -> impl Iterator<Item = &'c Object<'t>> {
        let inventory = &self.context.inventory;
        let environments = &inventory.environments;
        let subject = &self.workload.object;
        let is_deployed_there = environments.deployed_may_apply(subject);
        inventory.network_plugins.iter().filter(move |object| {
            environments.may_apply(object.location_file(), subject.location_file())
                && is_deployed_there(object)
        })
    }
}

/// Returns whether a cluster cannot have both plugins. An object of Calico that does not set the data plane does not
/// contradict one that does.
fn contradict(one: NetworkPlugin, other: NetworkPlugin) -> bool {
    one != other && (one, other) != (NetworkPlugin::CalicoEbpf, NetworkPlugin::Calico)
}

/// Lowers the certainty of a plugin that an equally near object contradicts.
fn with_rival(fact: Fact<NetworkPlugin>, rival: &Fact<NetworkPlugin>) -> Fact<NetworkPlugin> {
    let message = "equally near objects state different network plugins; this one is assumed";
    let mut fact = fact.depending_on(&Fact::assumed((), message, Some(OVERRIDE)));
    fact.because.extend(rival.because.iter().cloned());
    fact
}

/// Returns whether a chart states that the network plugin is Calico with the eBPF data plane.
fn states_calico(chart: &Install) -> bool {
    let plugin = chart.network_plugin.as_ref();
    plugin.is_some_and(|plugin| plugin.value == NetworkPlugin::CalicoEbpf)
}

/// Adds the release of Calico to a fact about its eBPF data plane, if the tree contains the release.
fn with_calico_release(
    fact: Fact<NetworkPlugin>,
    release: Option<Fact<Version>>,
) -> Fact<NetworkPlugin> {
    if fact.value != NetworkPlugin::CalicoEbpf {
        return fact;
    }
    let Some(release) = release else {
        let message = format!("Calico is older than {FIXED_CALICO}");
        let settle = "--override network-plugin=calico";
        return fact.depending_on(&Fact::assumed((), message, Some(settle)));
    };
    let is_fixed = release.value >= FIXED_CALICO;
    let fact = fact.depending_on(&release);
    if is_fixed {
        return fact.map(|_| NetworkPlugin::Calico);
    }
    fact
}

/// Returns the fact that a report of users states how the plugin treats the packets.
#[must_use]
pub fn reported_by_users() -> Fact<()> {
    let message = "users of Calico before 3.29 report that it drops the kubelet's packets";
    Fact {
        value: (),
        certainty: Certainty::Assumed,
        because: vec![Reason::without_place(message, Some(OVERRIDE))],
    }
}

/// The setting that decides the effect of such a policy, which no option can state.
const UNSETTLED: &str = "no option settles this: test the probe in a cluster";

impl ClusterNetwork<'_, '_> {
    /// Returns the first policy that may apply to ingress of the pods and that is not known to admit the kubelet's
    /// packets. It is assumed to admit them. Source: istio issue 49277.
    #[must_use]
    pub fn unmodelled_policy(self) -> Option<Fact<()>> {
        let inventory = &self.context.inventory;
        if inventory.plugin_policies.is_empty() {
            return None;
        }
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let (environments, home) = (&inventory.environments, object.location_file());
        let is_deployed_there = environments.deployed_may_apply(object);
        let policies = &inventory.plugin_policies;
        let own = policies
            .near(namespace.name, environments, home)
            .filter(|(_, policy)| namespace.is_that_of(policy));
        let policy = own
            .chain(policies.near("", environments, home))
            .map(|(_, policy)| policy)
            .filter(|policy| is_deployed_there(policy))
            .find(|policy| may_drop(policy))?;
        let message = format!("{} `{}` may select the pod", policy.kind, policy.name());
        let place = policy.label_at(policy.name_span(), message);
        let admits = format!(
            "{} `{}` admits the kubelet's packets: meshprobe does not evaluate this kind",
            policy.kind,
            policy.name()
        );
        Some(Fact::known((), place).depending_on(&Fact::assumed((), admits, Some(UNSETTLED))))
    }
}

/// Returns whether a policy may drop ingress of pods. A policy of Cilium also has the field `specs`, a list.
fn may_drop(policy: &Object<'_>) -> bool {
    let spec = policy.node.get("spec").into_iter();
    let specs = policy.node.get("specs").into_iter();
    spec.chain(specs.flat_map(NodeRef::items))
        .any(spec_may_drop)
}

/// Returns whether the specification of a policy applies to ingress of pods and does not name the address of the
/// kubelet's packets.
fn spec_may_drop(spec: NodeRef<'_>) -> bool {
    let has_direction = |direction: &str| {
        let deny = format!("{direction}Deny");
        spec.get(direction).is_some() || spec.get(&deny).is_some()
    };
    let types = spec.get("types").map(|types| {
        let mut types = types.items();
        types.any(|found| found.text() == Some("Ingress"))
    });
    // Without `types`, a policy of Calico applies to egress only if it has no other rules. So does any of Cilium.
    let is_ingress = types.unwrap_or_else(|| has_direction("ingress") || !has_direction("egress"));
    let selects_nodes = spec.get("nodeSelector").is_some();
    is_ingress && !selects_nodes && !admits_address(spec)
}

/// Returns whether the ingress rules name the address of the kubelet's packets, and neither deny packets nor limit
/// ports.
fn admits_address(spec: NodeRef<'_>) -> bool {
    let Some(rules) = spec.get("ingress").map(NodeRef::source) else {
        return false;
    };
    let address = HOST_PROBE_SNAT.to_string();
    let limits = ["Deny", "ports:", "toPorts"];
    spec.get("ingressDeny").is_none()
        && rules.contains(&address)
        && !limits.into_iter().any(|limit| rules.contains(limit))
}

impl ClusterNetwork<'_, '_> {
    /// Returns whether a `SecurityGroupPolicy` of the tree selects the pods. Such a pod has a network interface of its
    /// own.
    #[must_use]
    pub fn security_group(self) -> Fact<bool> {
        let inventory = &self.context.inventory;
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let environments = &inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(object);
        let policies = inventory
            .security_group_policies
            .near(namespace.name, environments, object.location_file())
            .map(|(_, policy)| policy)
            .filter(|policy| namespace.is_that_of(policy))
            .filter(|policy| is_deployed_there(policy));
        let mut policies = policies.filter_map(|policy| selection(policy, self.workload));
        if let Some(selected) = policies.next() {
            return selected;
        }
        if inventory.security_group_policies.is_empty() {
            let message = "no SecurityGroupPolicy outside of the tree selects the pod";
            return Fact::assumed(false, message, None);
        }
        Fact::settled(false, "no SecurityGroupPolicy of the tree selects the pod")
    }
}

/// Returns the fact that a policy selects the pods of a workload; `None` if it does not. The labels of the
/// ServiceAccount are not read.
fn selection(policy: &Object<'_>, workload: &Workload<'_>) -> Option<Fact<bool>> {
    let spec = policy.node.get("spec")?;
    let pods = spec.get("podSelector");
    let accounts = spec.get("serviceAccountSelector");
    let labels = workload.template.labels();
    let label = |key: &str| labels?.get(key).and_then(NodeRef::text);
    if pods.is_none() && accounts.is_none() || !Requirements::parse(pods).matches(label) {
        return None;
    }
    let message = format!("SecurityGroupPolicy `{}` selects the pod", policy.name());
    let fact = Fact::known(true, policy.label_at(policy.name_span(), message));
    Some(match accounts {
        None => fact,
        Some(_) => {
            let message = "`serviceAccountSelector` matches the ServiceAccount of the pod";
            fact.depending_on(&Fact::assumed((), message, None))
        }
    })
}
