//! Facts about virtual machines: the entries of a `WorkloadGroup` and its mesh configuration.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::vm::{self, MeshConfig};
use meshprobe_mesh::mesh::{Fact, Reason};
use meshprobe_yaml::{Entry, NodeRef};

use crate::context::run_context::Context;

/// The virtual machines of a `WorkloadGroup`.
#[derive(Clone, Copy, Debug)]
pub struct VirtualMachines<'c, 't> {
    context: &'c Context<'t>,
    group: &'c Object<'t>,
}

impl<'t> Context<'t> {
    /// Returns the virtual machines of a `WorkloadGroup`.
    #[must_use]
    pub const fn virtual_machines<'c>(&'c self, group: &'c Object<'t>) -> VirtualMachines<'c, 't> {
        VirtualMachines {
            context: self,
            group,
        }
    }
}

impl<'c, 't> VirtualMachines<'c, 't> {
    /// Iterates over the machines of the tree that likely belong to a group. An entry does not name its
    /// group, so its labels must match those of the group, or its service account if the group has
    /// no labels.
    pub fn entries(self) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let home = self.context.namespace_of(self.group).name;
        self.context
            .inventory
            .workload_entries
            .iter()
            .filter(move |entry| {
                self.context.namespace_of(entry).name == home && is_member(entry, self.group)
            })
    }

    /// Returns the mesh configuration that is nearest to a group; `None` if there is none, if several
    /// are equally near and differ, or if it does not parse.
    #[must_use]
    pub fn mesh_config(self) -> Option<MeshConfig> {
        let maps: Vec<(usize, &str)> = self
            .context
            .inventory
            .installations
            .iter()
            .filter_map(|object| {
                let is_mesh = object.kind == "ConfigMap"
                    && (object.name() == "istio" || object.name().starts_with("istio-"));
                let text = object.node.get("data")?.get("mesh")?.text();
                Some((
                    nearness(object.location_file(), self.group.location_file()),
                    text?,
                ))
                .filter(|_| is_mesh)
            })
            .collect();
        let nearest = maps.iter().map(|(near, _)| *near).max()?;
        let mut texts = maps.iter().filter(|(near, _)| *near == nearest);
        let (_, first) = texts.next()?;
        let is_one = texts.all(|(_, text)| text == first);
        is_one.then(|| MeshConfig::parse(first).ok()).flatten()
    }

    /// Returns the port of the agent on the machines of a group.
    #[must_use]
    pub fn status_port(self) -> Fact<i64> {
        if let Some((port, entry)) = vm::annotated_status_port(self.group) {
            let message = format!("the agent listens on port {port}");
            return Fact::known(port, self.group.label_at(entry.key.span(), message));
        }
        match self
            .context
            .virtual_machines(self.group)
            .mesh_config()
            .and_then(|config| config.status_port())
        {
            Some(port) => {
                let message = format!("the mesh configuration sets `statusPort` to {port}");
                Fact::settled(port, message)
            }
            None => Fact {
                value: i64::from(keys::DEFAULT_STATUS_PORT),
                certainty: Certainty::Default,
                because: vec![Reason::without_place(
                    "the agent listens on port 15020",
                    None,
                )],
            },
        }
    }
}

fn is_member(entry: &Object<'_>, group: &Object<'_>) -> bool {
    let of_group = group.node.get("spec");
    let of_entry = entry.node.get("spec");
    let labels = of_group.and_then(|spec| spec.get("metadata")?.get("labels"));
    let own = of_entry.and_then(|spec| spec.get("labels"));
    if let (Some(labels), Some(own)) = (labels, own)
        && labels.set_entries().next().is_some()
    {
        let has = |label: Entry<'_>| {
            let key = label.key.text().unwrap_or_default();
            own.get(key).and_then(NodeRef::text) == label.value.text()
        };
        return labels.set_entries().all(has);
    }
    let account = |node: Option<NodeRef<'_>>| {
        let text = node?.get("serviceAccount")?.text()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let of_machines = account(of_group.and_then(|spec| spec.get("template")));
    of_machines.is_some() && of_machines == account(of_entry)
}
