//! Which facts hold for which workload.
//!
//! One scope holds all files of a run; where several facts compete, the one whose file is
//! nearest to the workload's file wins.

mod authorization;
mod dataplane;
mod inventory;
mod pod;
mod policy;
mod scope;
mod service;

use crate::kube::Object;
use crate::mesh::{Fact, Version};
use crate::settings::Settings;
use crate::source::SourceSet;

use inventory::are_related;

pub use authorization::Authorization;
pub use dataplane::Dataplane;
pub use inventory::Inventory;
pub use pod::{ProberEnv, ProberEnvPlace, annotation_label, proxy_config, proxy_container};

/// All facts of a run.
#[derive(Debug)]
pub struct Context<'t> {
    /// The files.
    pub sources: &'t SourceSet,
    /// The objects of the tree.
    pub inventory: Inventory<'t>,
    /// What the user settled.
    pub settings: &'t Settings,
}

impl<'t> Context<'t> {
    /// Collects the facts of all documents.
    #[must_use]
    pub fn new(sources: &'t SourceSet, settings: &'t Settings) -> Self {
        Self {
            sources,
            inventory: Inventory::new(sources),
            settings,
        }
    }

    /// Returns the release to judge by, if it is known.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.settings.mesh_version
    }

    /// Returns the mesh default of the probe rewrite.
    #[must_use]
    pub fn rewrite_default(&self) -> Fact<bool> {
        const SETTLE: &str = "--assume rewrite=true|false";
        if let Some(value) = self.settings.overrides.rewrite {
            return Fact::settled(value, format!("rewrite default = {value} (--override)"));
        }
        if let Some(value) = self.settings.assume.rewrite {
            let said = format!("rewrite default = {value} (--assume)");
            return Fact::assumed(value, said, None);
        }
        // Charts since 1.7, istioctl profiles since 1.6.
        let value = self
            .version()
            .is_none_or(|version| version >= Version::new(1, 7));
        let release = self
            .version()
            .map_or_else(|| "current releases".into(), |v| format!("Istio {v}"));
        let said = format!("rewrite default = {value} (default of {release})");
        Fact::default(value, said, SETTLE)
    }

    /// Tells whether `fact` stands in the namespace of `subject`. Where one of them names no
    /// namespace they are taken for the same only along one line of folders.
    fn shares_namespace(&self, fact: &Object<'t>, subject: &Object<'t>) -> bool {
        let (of_fact, fact_written) = self.namespace_of(fact);
        let (of_subject, subject_written) = self.namespace_of(subject);
        let written = fact_written && subject_written;
        of_fact == of_subject
            && (written || are_related(fact.path(), subject.path()))
            && self.inventory.forks.join(fact.path(), subject.path())
    }

    /// Returns the root namespace of the mesh.
    #[must_use]
    pub fn root_namespace(&self) -> &str {
        let given = [&self.settings.overrides, &self.settings.assume];
        given
            .iter()
            .find_map(|facts| facts.root_namespace.as_deref())
            .unwrap_or(crate::mesh::istio::keys::DEFAULT_ROOT_NAMESPACE)
    }

    /// Returns the status port of the mesh.
    #[must_use]
    pub fn mesh_status_port(&self) -> u16 {
        let given = [&self.settings.overrides, &self.settings.assume];
        given
            .iter()
            .find_map(|facts| facts.status_port)
            .unwrap_or(crate::mesh::istio::keys::DEFAULT_STATUS_PORT)
    }
}
