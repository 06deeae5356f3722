//! The cluster that an object of Flux or Argo CD names.

use std::sync::Arc;

use meshprobe_tree::source::{ARGO_SERVER, Cluster, placeholder};
use meshprobe_yaml::NodeRef;

use crate::kube::Object;

/// The name that Argo CD gives to its own cluster, unless the user renames it.
const ARGO_NAME: &str = "in-cluster";

impl<'t> Object<'t> {
    /// Returns whether the objects may be in the same cluster, as far as this depends on the objects that deploy them.
    #[must_use]
    pub fn may_share_cluster(&self, other: &Object<'t>) -> bool {
        self.cluster
            .as_deref()
            .zip(other.cluster.as_deref())
            .is_none_or(|(one, other)| !one.differs_from(other))
    }

    /// Returns the cluster to which the object deploys others: the one that it names. What Flux or Argo CD deploys to
    /// its own cluster is in the cluster of the object itself, if that is known.
    #[must_use]
    pub fn target_cluster(&self) -> Option<Arc<Cluster>> {
        let target = named_cluster(self)?;
        let own = self.cluster.as_ref().filter(|_| target.is_own());
        Some(own.map_or_else(|| Arc::new(target), Arc::clone))
    }
}

/// Returns the cluster to which `object` deploys; `None` if it is of another kind, or if another tool fills in the
/// cluster.
///
/// Sources: Argo CD, `argoproj.io/v1alpha1` Application; Flux, `kustomize.toolkit.fluxcd.io/v1` Kustomization and
/// `helm.toolkit.fluxcd.io/v2` HelmRelease.
fn named_cluster(object: &Object<'_>) -> Option<Cluster> {
    let spec = || object.node.get("spec");
    match (object.group(), object.kind) {
        ("argoproj.io", "Application") => of_argo(spec()?.get("destination")?),
        ("kustomize.toolkit.fluxcd.io", "Kustomization")
        | ("helm.toolkit.fluxcd.io", "HelmRelease") => of_flux(spec()?.get("kubeConfig")),
        _ => None,
    }
}

fn of_argo(destination: NodeRef<'_>) -> Option<Cluster> {
    let text = |key| destination.get(key).and_then(NodeRef::text);
    let texts = [text("server"), text("name")];
    if texts
        .iter()
        .flatten()
        .any(|text| placeholder::contains(text))
    {
        return None;
    }
    let [server, name] = texts.map(|text| text.filter(|text| !text.is_empty()));
    let own = (name == Some(ARGO_NAME)).then_some(ARGO_SERVER);
    let server = server.or(own);
    (server.is_some() || name.is_some()).then(|| Cluster::Argo {
        server: server.map(|server| server.trim_end_matches('/').to_owned()),
        name: name.map(str::to_owned),
    })
}

fn of_flux(config: Option<NodeRef<'_>>) -> Option<Cluster> {
    let Some(config) = config else {
        return Some(Cluster::Flux { config: None });
    };
    let mut references = ["secretRef", "configMapRef"].iter();
    let name = references.find_map(|key| config.get(key)?.get("name")?.text())?;
    (!placeholder::contains(name)).then(|| Cluster::Flux {
        config: Some(name.to_owned()),
    })
}
