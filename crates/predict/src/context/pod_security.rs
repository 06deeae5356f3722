//! Decides whether Pod Security Admission rejects pods whose probes or hooks set `host`.

use meshprobe_mesh::kube::{EnforcedLevel, EnforcedVersion, FORBIDS_HOSTS, Object, Workload};
use meshprobe_mesh::mesh::{Fact, Version};

use crate::context::run_context::Context;

/// The option that states the release of the nodes, which the API server is not older than.
const SETTLE: &str = "--assume node-version=1.NN";

impl<'t> Context<'t> {
    /// Returns the fact that the API server rejects pods of the workload whose probes or hooks set `host`; `None` if
    /// their Namespace is not in the tree, or does not enforce that.
    #[must_use]
    pub fn forbids_hosts(&self, workload: &Workload<'t>) -> Option<Fact<()>> {
        let namespace = self.namespace_of(&workload.object);
        let all = namespace.manifests().count();
        let mut facts = namespace
            .manifests()
            .filter_map(|found| self.forbidden_by(found, workload));
        let fact = facts.next()?;
        if 1 + facts.count() == all {
            return Some(match namespace.elsewhere() {
                Some(assumption) => fact.depending_on(&assumption),
                None => fact,
            });
        }
        let message = "the pod is deployed to an environment whose Namespace enforces this level";
        Some(fact.depending_on(&Fact::assumed((), message, Some("--cluster NAME"))))
    }

    /// Returns the fact that a Namespace forbids hosts.
    fn forbidden_by(&self, namespace: &Object<'t>, workload: &Workload<'t>) -> Option<Fact<()>> {
        let level = EnforcedLevel::of(namespace)?;
        let name = level.entry.value.text().unwrap_or_default();
        let message = format!("Pod Security `{name}` is enforced here");
        let place = namespace.label_at(level.entry.value.span(), message);
        let enforced = Fact::known((), place);
        if level.version != EnforcedVersion::Latest {
            return Some(enforced);
        }
        let facts = self.user_facts(&workload.object);
        let first = Version::new(1, FORBIDS_HOSTS);
        match facts.overrides.node_version.or(facts.assume.node_version) {
            Some(version) if version < first => None,
            Some(version) => {
                let message =
                    format!("the API server is not older than its nodes, Kubernetes {version}");
                Some(enforced.depending_on(&Fact::assumed_by_user((), message)))
            }
            None => {
                let message = format!("the API server is Kubernetes {first} or later");
                Some(enforced.depending_on(&Fact::assumed((), message, Some(SETTLE))))
            }
        }
    }
}
