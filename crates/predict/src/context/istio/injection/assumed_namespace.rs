//! Assumptions about Namespaces that are not in the tree.

use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::injection::is_system_namespace;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::{InjectionAssumption, MeshKind};

use crate::context::istio::facets::Injection;
use crate::context::istio::injection::own_sidecar::own_sidecar;

/// The assumption about a Namespace that is not in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedNamespace {
    /// Its name.
    pub name: String,
    /// The evidence for which it is assumed to be injected; `None` if the verdicts of its pods are
    /// unknown.
    pub evidence: Option<String>,
}

impl<'c, 't> Injection<'c, 't> {
    /// Returns the assumption about the Namespace of `workload`; `None` if it is in the tree, if an
    /// option or the pod itself decides, or if nothing that may belong to its cluster is part of a
    /// mesh.
    #[must_use]
    pub fn assumed_namespace(self) -> Option<AssumedNamespace> {
        let object = &self.workload.object;
        let given = self.context.user_facts(object);
        let by_option = given.overrides.injection.or(given.assume.injection);
        let name = self.context.namespace_of(object).name;
        let is_decided = self.context.settings.mesh == MeshKind::None
            || self.move_of_unknown_namespace().is_some()
            || by_option.is_some_and(|given| given != InjectionAssumption::Evidence)
            || is_system_namespace(name)
            || self.workload.template.host_network().is_some()
            || self.context.mesh_of(self.workload).dataplane().is_some()
            || own_sidecar(self.workload).is_some()
            || self.context.namespace_of(object).manifest().is_some()
            || self.placeholder().is_some();
        if is_decided {
            return None;
        }
        let evidence = self.evidence().map(|label| label.message);
        (evidence.is_some() || self.shows_mesh()).then(|| AssumedNamespace {
            name: name.to_owned(),
            evidence,
        })
    }

    /// Returns whether the tree contains an installation, policy or namespace label of a mesh that may
    /// belong to the cluster of the workload.
    fn shows_mesh(self) -> bool {
        let inventory = &self.context.inventory;
        let object = &self.workload.object;
        let path = object.location_file();
        let joined = |other: &str| inventory.environments.may_apply(other, path);
        let is_near =
            |fact: &Object<'t>| joined(fact.location_file()) && fact.may_share_cluster(object);
        let installs = self
            .context
            .control_planes
            .iter()
            .chain(self.context.cluster.iter());
        if installs.into_iter().any(|install| {
            joined(&install.place.path) && self.context.is_in_cluster(install, object)
        }) {
            return true;
        }
        let mut signs = inventory
            .peer_authentications
            .iter()
            .chain(&inventory.authorization_policies)
            .chain(&inventory.sidecar_resources);
        let labels = [
            keys::NAMESPACE_INJECTION,
            keys::REVISION,
            keys::DATAPLANE_MODE,
        ];
        let mut namespaces = inventory.namespaces.iter();
        signs.any(is_near)
            || namespaces.any(|namespace| {
                is_near(namespace) && labels.iter().any(|key| namespace.label(key).is_some())
            })
    }
}
