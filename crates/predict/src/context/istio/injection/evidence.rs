//! Finds evidence that a workload belongs to the mesh.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Requirements};
use meshprobe_mesh::mesh::istio::injection::is_system_namespace;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::{FactOverrides, InjectionAssumption, MeshKind};
use meshprobe_yaml::{FieldPath, NodeRef};

use super::decide::own_sidecar;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::nearest::nearest;

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the line that suggests that the workload belongs to the mesh. The message describes it.
    pub(in crate::context) fn evidence(&self) -> Option<Label> {
        let object = &self.workload.object;
        let template = &self.workload.template;
        let prefixes = [
            "sidecar.istio.io/",
            "traffic.sidecar.istio.io/",
            keys::PROXY_CONFIG,
        ];
        let keys_of =
            |node: Option<NodeRef<'t>>| node.into_iter().flat_map(NodeRef::effective_entries);
        let own = keys_of(template.annotations()).chain(keys_of(template.labels()));
        for (entry, key) in own.filter_map(|entry| Some((entry, entry.key.text()?))) {
            if prefixes.iter().any(|prefix| key.starts_with(prefix)) || key == keys::TLS_MODE {
                let message = format!("the pod template has `{key}`");
                return Some(object.label_at(entry.key.span(), message));
            }
        }
        if let Some((label, name)) = template
            .label(keys::REVISION)
            .and_then(|label| Some((label, label.value.text()?)))
        {
            let selected = |by: &str| {
                let message = format!("the pod selects revision `{name}`, which {by}");
                Some(object.label_at(label.value.span(), message))
            };
            let given = self.context.user_facts(object);
            let by_option = [
                (&given.overrides, "--override"),
                (&given.assume, "--assume"),
            ];
            let mut by_option = by_option.into_iter();
            let is_named =
                |facts: &FactOverrides| facts.revisions.iter().any(|given| given == name);
            if let Some((_, option)) = by_option.find(|(facts, _)| is_named(facts)) {
                return selected(&format!("the mesh serves ({option})"));
            }
            let scope = self.context.planes_in_scope(object);
            let served = scope.iter().flat_map(|plane| plane.names());
            if served.into_iter().any(|served| served == name) {
                return selected("a control plane in the tree serves");
            }
        }
        let scope = self.context.namespace_of(object).key();
        let work_out = || self.policy_in_namespace_of().map(Arc::new);
        let found: Option<Arc<Label>> = self.context.fact_cache.evidence.of(scope, work_out);
        found.map(|label| (*label).clone())
    }

    /// Returns the nearest policy in the namespace of an object.
    fn policy_in_namespace_of(&self) -> Option<Label> {
        let inventory = &self.context.inventory;
        let object = &self.workload.object;
        // A policy in the root namespace applies to all namespaces.
        let root = self.context.istio_near(object).root_namespace().value;
        if self.context.namespace_of(object).name == root {
            return None;
        }
        let policies = self
            .context
            .namespace_of(object)
            .facts(&inventory.peer_authentications);
        let signs = policies
            .chain(
                self.context
                    .namespace_of(object)
                    .facts(&inventory.authorization_policies),
            )
            .chain(
                self.context
                    .namespace_of(object)
                    .facts(&inventory.sidecar_resources),
            );
        let found = nearest(signs, object.location_file());
        let sign = found.first()?;
        let message = format!("{} `{}` is in the namespace", sign.kind, sign.name());
        Some(sign.label_at(sign.name_span(), message))
    }
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns whether the pods of the namespace join the mesh one by one: OpenShift Service Mesh 2 injects a pod of a
    /// member only if the pod requests it.
    #[must_use]
    pub fn is_per_pod(&self) -> bool {
        self.member_of().is_some()
    }

    /// Returns the namespace of the control plane whose mesh the namespace of the workload is a member of, because of a
    /// `ServiceMeshMemberRoll` or a `ServiceMeshMember`.
    pub(in crate::context) fn member_of(&self) -> Option<&'t str> {
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
    fn control_plane_of(&self, member: &'c Object<'t>) -> Option<&'t str> {
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

/// The assumption about a Namespace that is not in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedNamespace {
    /// Its name.
    pub name: String,
    /// The evidence for which it is assumed to be injected; `None` if the verdicts of its pods are
    /// unknown.
    pub evidence: Option<String>,
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the assumption about the Namespace of `workload`; `None` if it is in the tree, if an
    /// option or the pod itself decides, or if nothing that may belong to its cluster is part of a
    /// mesh.
    #[must_use]
    pub fn assumed_namespace(&self) -> Option<AssumedNamespace> {
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
    fn shows_mesh(&self) -> bool {
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
