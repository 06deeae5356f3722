//! Pods that `istio-cni` does not add to ambient mode although their labels request it.
//!
//! Sources: `cni/pkg/nodeagent/informers.go` (namespaces of `excludeNamespaces`, since 1.30, istio#59295) and
//! `cni/pkg/util/enablement_selector.go` (pods on the host network: excluded from 1.22.2 to 1.26 and since 1.31, backported to the
//! branches 1.29 and 1.30; istio#51711, istio#56048, istio#61168 and istio#61185).

use crate::context::istio::facets::Injection;
use crate::mesh::istio::keys;
use crate::mesh::{Fact, Version};

/// The first release whose `istio-cni` honours `excludeNamespaces` in ambient mode.
const EXCLUDES_NAMESPACES: Version = Version::new(1, 30);

impl Injection<'_, '_> {
    /// Returns the fact that the CNI plugin ignores the namespace of the pod.
    pub(in crate::context) fn excluded_namespace(self) -> Option<Fact<()>> {
        let version = self.istio().version();
        let is_read = version
            .value
            .is_none_or(|version| version >= EXCLUDES_NAMESPACES);
        let install = self.istio().installation();
        let excluded = install.fact("excludeNamespaces", |plane| plane.cni_excluded.as_ref())?;
        let namespace = self.context.namespace_of(&self.workload.object).name;
        let is_excluded = is_read && excluded.value.iter().any(|name| name == namespace);
        is_excluded.then(|| excluded.map(|_| ()))
    }

    /// Returns the assumption that a pod on the host network is not added to ambient mode, for releases of which not all
    /// patch releases exclude it.
    pub(in crate::context) fn host_pod_not_enrolled(self) -> Option<Fact<()>> {
        let version = self.istio().version().value?;
        let excludes = version >= Version::new(1, 31)
            || (Version::new(1, 23)..Version::new(1, 27)).contains(&version);
        let namespace = self.context.namespace_of(&self.workload.object).manifest();
        let own = self.workload.template.label(keys::DATAPLANE_MODE);
        let outer = || namespace?.label(keys::DATAPLANE_MODE);
        let mode = own.or_else(outer)?;
        let is_ambient = mode.value.text() == Some("ambient");
        let message = format!(
            "istio-cni cannot enroll pods on the host network, although some releases {version} do not exclude them"
        );
        (is_ambient && !excludes).then(|| Fact::assumed((), message, None))
    }
}
