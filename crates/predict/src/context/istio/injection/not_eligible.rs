//! Pods that `istio-cni` does not add to ambient mode although their labels request it.
//!
//! Sources: `cni/pkg/nodeagent/informers.go` (namespaces of `excludeNamespaces`, since 1.30, istio#59295) and
//! `cni/pkg/util/podutil.go` and `cni/pkg/util/enablement_selector.go` (pods on the host network: istio#51711, istio#56048,
//! istio#61168 and istio#61185).

use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, ReleaseChange, Version};

use crate::context::istio::pod_facts::PodFacts;

/// The first release whose `istio-cni` honours `excludeNamespaces` in ambient mode.
const EXCLUDES_NAMESPACES: Version = Version::new(1, 30);

/// The first releases that exclude pods on the host network. The change was lost in 1.27.
const EXCLUDES_HOST_PODS_FIRST: ReleaseChange =
    ReleaseChange::new(Version::new(1, 23), &[(22, 2)]).until(Version::new(1, 27));
/// The releases that exclude them again. The commits on the branches follow 1.29.6 and 1.30.3.
const EXCLUDES_HOST_PODS: ReleaseChange =
    ReleaseChange::new(Version::new(1, 31), &[(29, 7), (30, 4)]);

impl PodFacts<'_, '_> {
    /// Returns the fact that the CNI plugin ignores the namespace of the pod.
    pub(in crate::context) fn excluded_namespace(&self) -> Option<Fact<()>> {
        let version = self.version();
        let is_read = version
            .value
            .is_none_or(|version| version >= EXCLUDES_NAMESPACES);
        let install = self.view();
        let excluded = install.fact("excludeNamespaces", |plane| plane.cni_excluded.as_ref())?;
        let namespace = self.context.namespace_of(&self.workload.object).name;
        let is_excluded = is_read && excluded.value.iter().any(|name| name == namespace);
        is_excluded.then(|| excluded.map(|_| ()))
    }

    /// Returns the assumption that a pod on the host network is not added to ambient mode, for releases that do not exclude
    /// it, or of which only some patch releases do.
    pub(in crate::context) fn host_pod_not_enrolled(&self) -> Option<Fact<()>> {
        let version = self.version().value?;
        let changes = [EXCLUDES_HOST_PODS_FIRST, EXCLUDES_HOST_PODS];
        let namespace = self.context.namespace_of(&self.workload.object).manifest();
        let own = self.workload.template.label(keys::DATAPLANE_MODE);
        let outer = || namespace?.label(keys::DATAPLANE_MODE);
        let mode = own.or_else(outer)?;
        if mode.value.text() != Some("ambient") {
            return None;
        }
        let start = "istio-cni cannot enroll pods on the host network, although";
        let mut on_patch = changes.iter();
        if on_patch.any(|change| change.depends_on_patch(Some(version))) {
            let message = format!("{start} some releases {version} do not exclude them");
            return Some(Fact::assumed((), message, Some(ReleaseChange::SETTLE)));
        }
        let is_excluded = changes.iter().any(|change| change.is_in(Some(version)));
        (!is_excluded).then(|| {
            let message = format!(
                "{start} Istio {} does not exclude them",
                with_patch(version)
            );
            Fact::assumed((), message, None)
        })
    }
}

fn with_patch(version: Version) -> String {
    match version.patch() {
        Some(patch) => format!("{version}.{patch}"),
        None => version.to_string(),
    }
}
