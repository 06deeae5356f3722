//! Workloads whose Namespace is not in the tree.

use crate::kube::Workload;
use crate::mesh::istio::injection::is_system_namespace;
use crate::mesh::istio::keys;
use crate::settings::{InjectionAssumption, MeshKind};

use super::super::Context;
use super::own_sidecar;

/// What is taken for granted of a Namespace that is not in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceGap {
    /// Its name.
    pub name: String,
    /// The sign for which it is taken as injected; `None` where its pods are not judged.
    pub sign: Option<String>,
}

impl<'t> Context<'t> {
    /// Returns what had to be taken for granted of the Namespace of `workload`; `None` where it is
    /// in the tree, where an option or the pod itself decides, and where nothing in reach of the
    /// workload speaks of a mesh at all.
    #[must_use]
    pub fn namespace_gap(&self, workload: &Workload<'t>) -> Option<NamespaceGap> {
        let object = &workload.object;
        let given = self.given(object);
        let by_option = given.overrides.injection.or(given.assume.injection);
        let (name, _) = self.namespace_of(object);
        let is_decided = matches!(self.settings.mesh, MeshKind::None | MeshKind::Ambient)
            || by_option.is_some_and(|given| given != InjectionAssumption::Evidence)
            || is_system_namespace(name)
            || workload.template.host_network().is_some()
            || self.other_dataplane(workload).is_some()
            || own_sidecar(workload).is_some()
            || self.namespace_object(object).is_some()
            || self.undecided(workload).is_some();
        if is_decided {
            return None;
        }
        let sign = self.evidence(workload);
        (sign.is_some() || self.speaks_of_mesh(object.home())).then(|| NamespaceGap {
            name: name.to_owned(),
            sign,
        })
    }

    /// Tells whether anything that may belong to the cluster of a file speaks of a mesh.
    fn speaks_of_mesh(&self, path: &str) -> bool {
        let inventory = &self.inventory;
        let joined = |other: &str| inventory.forks.join(other, path);
        let installs = self.control_planes.iter().chain(self.cluster.iter());
        if installs.into_iter().any(|one| joined(&one.place.path)) {
            return true;
        }
        let policies = inventory.peer_authentications.iter();
        let mut signs = policies
            .chain(&inventory.authorization_policies)
            .chain(&inventory.mesh_signs);
        let labels = [
            keys::NAMESPACE_INJECTION,
            keys::REVISION,
            keys::DATAPLANE_MODE,
        ];
        let mut namespaces = inventory.namespaces.iter();
        signs.any(|sign| joined(sign.home()))
            || namespaces.any(|namespace| {
                joined(namespace.home()) && labels.iter().any(|key| namespace.label(key).is_some())
            })
    }
}
