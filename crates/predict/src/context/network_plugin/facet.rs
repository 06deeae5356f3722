//! Decides which network plugin the cluster of a workload has: from options or from the objects of the tree.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{Object, Workload, nearness};
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_mesh::mesh::istio::network_plugin::{
    self as plugins, Delivery, FIXED_CALICO, NetworkPlugin, OVERRIDE,
};
use meshprobe_mesh::mesh::{Fact, Reason, Version};

use crate::context::run_context::Context;

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
        let key = self.context.installations().home_key(object);
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
