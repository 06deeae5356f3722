//! What the tree says of virtual machines: the entries of a `WorkloadGroup` and its configuration.

use crate::finding::Certainty;
use crate::kube::{Object, nearness};
use crate::mesh::istio::keys;
use crate::mesh::istio::vm::{self, MeshConfig};
use crate::mesh::{Fact, Reason};
use crate::yaml::{Entry, NodeRef};

use super::Context;

impl<'t> Context<'t> {
    /// Iterates over the machines of the tree that are likely of a group: nothing names it, so the
    /// labels, or where there are none the service account, must be those of the group.
    pub fn machines_of<'s>(
        &'s self,
        group: &'s Object<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 't> {
        let home = self.namespace_of(group).0;
        let entries = self.inventory.workload_entries.iter();
        entries.filter(move |entry| self.namespace_of(entry).0 == home && is_of(entry, group))
    }

    /// Returns the mesh configuration that is nearest to a group; `None` where there is none, or
    /// where several are equally near and differ.
    #[must_use]
    pub fn machine_config(&self, group: &Object<'_>) -> Option<MeshConfig> {
        let maps = self.inventory.installations.iter().filter_map(|object| {
            let is_mesh = object.kind == "ConfigMap"
                && (object.name() == "istio" || object.name().starts_with("istio-"));
            let text = object.node.get("data")?.get("mesh")?.text();
            Some((nearness(object.home(), group.home()), text?)).filter(|_| is_mesh)
        });
        let maps: Vec<(usize, &str)> = maps.collect();
        let nearest = maps.iter().map(|(near, _)| *near).max()?;
        let mut texts = maps.iter().filter(|(near, _)| *near == nearest);
        let (_, first) = texts.next()?;
        let is_one = texts.all(|(_, text)| text == first);
        is_one.then(|| MeshConfig::parse(first).ok()).flatten()
    }

    /// Returns the port of the agent on the machines of a group.
    #[must_use]
    pub fn machine_status_port(&self, group: &Object<'t>) -> Fact<i64> {
        if let Some((port, entry)) = vm::annotated_status_port(group) {
            let said = format!("the agent listens on port {port}");
            return Fact::known(port, group.label_at(entry.key.span(), said));
        }
        match self.machine_config(group).and_then(|one| one.status_port()) {
            Some(port) => {
                let said = format!("the mesh configuration has statusPort {port}");
                Fact::settled(port, said)
            }
            None => Fact {
                value: i64::from(keys::DEFAULT_STATUS_PORT),
                certainty: Certainty::Default,
                because: vec![Reason::said("the agent listens on port 15020", None)],
            },
        }
    }
}

fn is_of(entry: &Object<'_>, group: &Object<'_>) -> bool {
    let of_group = group.node.get("spec");
    let of_entry = entry.node.get("spec");
    let labels = of_group.and_then(|spec| spec.get("metadata")?.get("labels"));
    let own = of_entry.and_then(|spec| spec.get("labels"));
    if let (Some(labels), Some(own)) = (labels, own)
        && !labels.effective_entries().is_empty()
    {
        let has = |label: Entry<'_>| {
            let key = label.key.text().unwrap_or_default();
            own.get(key).and_then(NodeRef::text) == label.value.text()
        };
        return labels.effective_entries().into_iter().all(has);
    }
    let account = |node: Option<NodeRef<'_>>| {
        let text = node?.get("serviceAccount")?.text()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let of_machines = account(of_group.and_then(|spec| spec.get("template")));
    of_machines.is_some() && of_machines == account(of_entry)
}
