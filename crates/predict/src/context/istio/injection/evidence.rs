//! Finds evidence that a workload belongs to the mesh.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::settings::FactOverrides;
use meshprobe_yaml::NodeRef;

use crate::context::istio::facets::Injection;
use crate::context::nearest::nearest;

impl<'c, 't> Injection<'c, 't> {
    /// Returns the line that suggests that the workload belongs to the mesh. The message describes it.
    pub(in crate::context) fn evidence(self) -> Option<Label> {
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
            let scope = self.context.installations().scope(object);
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
    fn policy_in_namespace_of(self) -> Option<Label> {
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
