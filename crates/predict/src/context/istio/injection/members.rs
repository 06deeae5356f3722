//! The members of the meshes of OpenShift Service Mesh 2.

use meshprobe_mesh::kube::{Object, Requirements};
use meshprobe_yaml::{FieldPath, NodeRef};

use crate::context::istio::facets::Injection;

impl<'c, 't> Injection<'c, 't> {
    /// Returns whether the pods of the namespace join the mesh one by one: OpenShift Service Mesh 2 injects a pod of a
    /// member only if the pod requests it.
    #[must_use]
    pub fn is_per_pod(self) -> bool {
        self.member_of().is_some()
    }

    /// Returns the namespace of the control plane whose mesh the namespace of the workload is a member of, because of a
    /// `ServiceMeshMemberRoll` or a `ServiceMeshMember`.
    pub(in crate::context) fn member_of(self) -> Option<&'t str> {
        let inventory = &self.context.inventory;
        let object = &self.workload.object;
        let is_deployed_there = inventory.environments.deployed_may_apply(object);
        let mut members = inventory.members.iter().filter(|member| {
            let environments = &inventory.environments;
            environments.may_apply(member.location_file(), object.location_file())
                && is_deployed_there(member)
        });
        members.find_map(|member| self.control_plane_of(member))
    }

    /// Returns the namespace of the control plane if an object about members names the namespace of the workload.
    fn control_plane_of(self, member: &'c Object<'t>) -> Option<&'t str> {
        let context = self.context;
        let namespace = context.namespace_of(&self.workload.object);
        let own = context.namespace_of(member).name;
        if member.kind == "ServiceMeshMember" {
            let reference = FieldPath::keys(&["spec", "controlPlaneRef", "namespace"]);
            let named = member.node.at(&reference).and_then(NodeRef::text);
            return named.filter(|_| own == namespace.name);
        }
        let spec = member.node.get("spec")?;
        let mut names = spec.get("members").into_iter().flat_map(NodeRef::items);
        let is_named =
            names.any(|name| name.text().is_some_and(|name| covers(name, namespace.name)));
        let is_selected = || {
            let manifest = namespace.manifest();
            let label = |key: &str| manifest?.label(key)?.value.text();
            let mut selectors = spec
                .get("memberSelectors")
                .into_iter()
                .flat_map(NodeRef::items);
            selectors.any(|selector| Requirements::parse(Some(selector)).matches(label))
        };
        (is_named || is_selected()).then_some(own)
    }
}

/// Returns whether an entry of a member roll covers a namespace; a `*` at its start or its end is a wildcard.
fn covers(entry: &str, namespace: &str) -> bool {
    match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(end), _) => namespace.ends_with(end),
        (None, Some(start)) => namespace.starts_with(start),
        (None, None) => entry == namespace,
    }
}
