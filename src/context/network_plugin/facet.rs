//! Decides which network plugin the cluster of a workload has: from options or from the objects of the tree.

use crate::context::run_context::Context;
use crate::finding::Certainty;
use crate::kube::{Object, Workload, nearness};
use crate::mesh::istio::network_plugin::{
    self as plugins, Delivery, FIXED_CALICO, NetworkPlugin, OVERRIDE,
};
use crate::mesh::{Fact, Reason};

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
        if self.context.inventory.network_plugins.is_empty() {
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
        let mut facts: Vec<_> = objects
            .iter()
            .filter_map(|(near, object)| Some((*near, plugins::from_object(object)?)))
            .collect();
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
        Some(with_calico_release(fact, &objects))
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

/// Adds the release of Calico to a fact about its eBPF data plane, if the tree contains the release. `objects` starts
/// with the nearest one.
fn with_calico_release(
    fact: Fact<NetworkPlugin>,
    objects: &[(usize, &Object<'_>)],
) -> Fact<NetworkPlugin> {
    if fact.value != NetworkPlugin::CalicoEbpf {
        return fact;
    }
    let release = objects
        .iter()
        .find_map(|(_, object)| plugins::calico_release(object));
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
