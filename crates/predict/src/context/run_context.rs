//! The facts of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::SourceSet;

use crate::context::environment_name::last_name;
use crate::context::fact_cache::{CaptureCache, FactCache, ServingPlanesCache};
use crate::context::inventory::Inventory;
use crate::context::istio::install;
use crate::context::network_policies::isolating::Isolations;
use crate::context::unmodelled_changes::HiddenChanges;
use crate::context::user_facts::{UserFacts, UserFactsIndex};

/// All facts of a run. A copy is cheap.
#[derive(Clone, Debug)]
pub struct Context<'t> {
    /// The files.
    pub sources: &'t SourceSet,
    /// The objects of the tree.
    pub inventory: Arc<Inventory<'t>>,
    /// The options and the configuration of the user.
    pub settings: &'t Settings,
    /// The control planes of the tree.
    pub control_planes: Arc<[Install]>,
    /// What the tree states about the mesh of a cluster, independent of the control plane.
    pub cluster: Arc<[Install]>,
    /// The charts of network plugins.
    pub(in crate::context) networks: Arc<[Install]>,
    /// Kustomizations that deploy more than meshprobe renders.
    pub(in crate::context) unseen: Arc<BTreeSet<&'t str>>,
    /// Changes by kustomizations that are not modelled, by the object that they may change.
    pub(in crate::context) hidden: Arc<HiddenChanges<'t>>,
    /// Cached answers that depend only on the files and the settings.
    pub(in crate::context) fact_cache: Arc<FactCache>,
    /// Cached control planes of pods. They differ between alternatives.
    pub(in crate::context) serving_planes: Arc<ServingPlanesCache>,
    /// Cached capture rules of pods. They differ between alternatives.
    pub(in crate::context) capture_cache: Arc<CaptureCache>,
    /// Cached NetworkPolicies that isolate pods.
    pub(in crate::context) isolations: Arc<Isolations>,
    /// The facts that the user set, by file.
    pub(in crate::context) user_facts: Arc<UserFactsIndex<'t>>,
    /// The index of the control plane that is assumed to serve, of several that are equally near;
    /// `None` considers all of them.
    pub(in crate::context) candidate: Option<usize>,
    /// The user's facts in an alternative, for the one workload that it is about.
    pub(in crate::context) hypothesis: Option<Arc<UserFacts>>,
    /// The port and the name of the Service that is assumed to be the oldest on it.
    pub(in crate::context) oldest: Option<(i64, &'t str)>,
    /// The release that is assumed to be in use.
    pub(in crate::context) release: Option<Version>,
    /// The mesh that is assumed to have injected a pod that several meshes claim.
    pub(in crate::context) mesh: Option<Mesh>,
}

impl<'t> Context<'t> {
    /// Collects the facts of all documents. Documents that `renderings` include are read as
    /// rendered. What the given files deploy is reported like these files.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
    ) -> Self {
        let inventory = Inventory::new(sources, renderings, settings, true);
        Self::of(sources, renderings, settings, inventory)
    }

    /// Collects the facts of all documents as written. Only the given files are reported.
    #[must_use]
    pub fn as_written(sources: &'t SourceSet, settings: &'t Settings) -> Self {
        let inventory = Inventory::new(sources, &[], settings, false);
        Self::of(sources, &[], settings, inventory)
    }

    fn of(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
        inventory: Inventory<'t>,
    ) -> Self {
        let install::Installations {
            planes,
            cluster,
            networks,
        } = install::installations(sources, &inventory, settings.release_of(Mesh::ISTIO));
        let unseen: BTreeSet<&str> = renderings
            .iter()
            .filter(|rendering| !rendering.notes.is_empty())
            .map(|rendering| &*rendering.id.root)
            .collect();
        Self {
            fact_cache: Arc::default(),
            serving_planes: Arc::default(),
            capture_cache: Arc::default(),
            isolations: Arc::default(),
            unseen: Arc::new(unseen),
            hidden: Arc::new(HiddenChanges::new(renderings)),
            sources,
            settings,
            control_planes: planes.into(),
            cluster: cluster.into(),
            networks: networks.into(),
            user_facts: Arc::new(UserFactsIndex::new(settings, &inventory)),
            inventory: Arc::new(inventory),
            candidate: None,
            hypothesis: None,
            oldest: None,
            release: None,
            mesh: None,
        }
    }

    /// Returns the names of environments in the settings that no environment of the tree has.
    #[must_use]
    pub fn unknown_environments(&self) -> Vec<String> {
        let unknown = self.inventory.reported.only().unknown();
        unknown.map(str::to_owned).collect()
    }

    /// Returns whether the environments to which the run is limited leave out workloads of the given files.
    #[must_use]
    pub fn deselects_workloads(&self) -> bool {
        self.inventory.deselects_workloads
    }

    /// Iterates over the names of the folders that contain the same objects as their siblings, such as `prod`.
    pub fn environment_names(&self) -> impl Iterator<Item = &str> {
        let names = self.inventory.environments.folders().map(last_name);
        names.filter(|name| !matches!(*name, "" | ".." | "."))
    }

    /// Returns whether a file of an overlay or cluster belongs to the environments that the run is limited to.
    #[must_use]
    pub fn includes_overlay(&self, path: &str) -> bool {
        self.inventory.reported.only().overlay(path)
    }

    /// Returns whether a finding is reported: it is in a file that the user gave, or about an object that such a file
    /// deploys.
    #[must_use]
    pub fn reports(&self, finding: &Finding) -> bool {
        self.inventory.reported.finding(self.sources, finding)
    }
}
