//! The facts of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::kustomize::{Note, Rendering};
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{
    EnforcedLevel, EnforcedVersion, FORBIDS_HOSTS, Object, ObjectId, ObjectKey, RenderingId,
    Workload,
};
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_mesh::mesh::{Fact, Mesh, Version};
use meshprobe_mesh::settings::{FactOverrides, SelectedFacts, Settings};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Entry;

use super::environment_name::last_name;
use super::fact_cache::FactCache;
use super::inventory::Inventory;
use super::istio::install;
use super::nearest::namespace_of;
use super::user_facts::{UserFacts, UserFactsIndex};

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
        mut inventory: Inventory<'t>,
    ) -> Self {
        let install::Installations {
            planes,
            cluster,
            networks,
            meshes,
        } = install::installations(sources, &inventory, settings.release_of(Mesh::ISTIO));
        inventory.mesh_installs.extend(meshes);
        let unseen: BTreeSet<&str> = renderings
            .iter()
            .filter(|rendering| !rendering.notes.is_empty())
            .map(|rendering| &*rendering.id.root)
            .collect();
        Self {
            fact_cache: Arc::default(),
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

/// The origin of an object.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'c, 't> {
    context: &'c Context<'t>,
    object: &'c Object<'t>,
}

impl<'t> Context<'t> {
    /// Returns the origin of an object.
    #[must_use]
    pub const fn origin_of<'c>(&'c self, object: &'c Object<'t>) -> Origin<'c, 't> {
        Origin {
            context: self,
            object,
        }
    }
}

impl<'c, 't> Origin<'c, 't> {
    /// Returns whether findings about the object are reported: the user gave its file, or a file that deploys it.
    #[must_use]
    pub fn is_target(self) -> bool {
        let context = self.context;
        context
            .inventory
            .reported
            .object(context.sources, self.object)
    }

    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may affect the verdicts of its probes.
    #[must_use]
    pub fn hidden_changes(self) -> &'c [&'t Note] {
        notes_of(&self.context.hidden.changes, self.object)
    }

    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may copy a value which a rewrite changes from `object` to another object.
    #[must_use]
    pub fn hidden_copies(self) -> &'c [&'t Note] {
        notes_of(&self.context.hidden.copies, self.object)
    }
}

/// Changes that are not modelled, by rendering and object.
#[derive(Debug, Default)]
pub(in crate::context) struct HiddenChanges<'t> {
    pub(in crate::context) changes: Notes<'t>,
    pub(in crate::context) copies: Notes<'t>,
}

type Notes<'t> = HashMap<Key<'t>, Vec<&'t Note>>;

/// The rendering and an object of it.
type Key<'t> = (&'t RenderingId, ObjectKey<'t>);

impl<'t> HiddenChanges<'t> {
    pub(super) fn new(renderings: &'t [Rendering]) -> Self {
        Self {
            changes: by_object(renderings, |note| &note.changed),
            copies: by_object(renderings, |note| &note.copied),
        }
    }
}

fn by_object<'t>(renderings: &'t [Rendering], objects: fn(&Note) -> &Vec<ObjectId>) -> Notes<'t> {
    let mut all = Notes::new();
    for rendering in renderings {
        for note in &rendering.notes {
            for id in objects(note) {
                let found = all.entry((&rendering.id, id.key())).or_default();
                // A list may contain an object twice.
                if !found.last().is_some_and(|last| std::ptr::eq(*last, note)) {
                    found.push(note);
                }
            }
        }
    }
    all
}

pub(in crate::context) fn notes_of<'a, 't>(
    notes: &'a Notes<'t>,
    object: &'a Object<'t>,
) -> &'a [&'t Note] {
    let found = object
        .rendered_by
        .and_then(|rendering| notes.get(&(rendering, object.key())));
    found.map(Vec::as_slice).unwrap_or_default()
}

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

/// Returns whether the pods of an object are among those that `selected` selects.
fn selects(selected: &SelectedFacts, object: &Object<'_>, settings: &Settings) -> bool {
    let (namespace, _) = namespace_of(object, settings);
    let names = &selected.namespaces;
    if !names.is_empty() && !names.iter().any(|name| name == namespace) {
        return false;
    }
    let template = || Workload::from_object(object).map(|workload| workload.template);
    selected.labels.iter().all(|(key, value)| {
        let is_wanted = |entry: Entry<'_>| entry.value.text() == Some(value);
        object.label(key).is_some_and(is_wanted)
            || template().is_some_and(|template| template.label(key).is_some_and(is_wanted))
    })
}

impl<'t> Context<'t> {
    /// Returns the facts that the user set for the pods of an object. Scopes take precedence over
    /// general settings, later scopes over earlier ones.
    #[must_use]
    pub fn user_facts(&self, object: &Object<'t>) -> &UserFacts {
        if let Some(hypothesis) = &self.hypothesis {
            return hypothesis;
        }
        self.user_facts.of(object, self.is_selected(object))
    }

    /// Returns whether the settings state facts for selected pods, and those of an object are among them.
    #[must_use]
    pub fn is_selected(&self, object: &Object<'t>) -> bool {
        let selected = self.settings.selected.as_ref();
        selected.is_some_and(|selected| selects(selected, object, self.settings))
    }

    /// Returns the release of the mesh that the user set for the pods of an object.
    pub(in crate::context) fn mesh_version(&self, object: &Object<'t>) -> Option<Version> {
        let selected = self.settings.selected.as_ref();
        let selected = selected.filter(|_| self.is_selected(object));
        let version = selected.and_then(|selected| selected.mesh_version);
        version.or(self.settings.mesh_version)
    }

    /// Returns the release that the user set for a mesh and the pods of an object.
    #[must_use]
    pub fn release_of(&self, mesh: Mesh, object: &Object<'t>) -> Option<Version> {
        let version = self.mesh_version(object);
        version.filter(|_| mesh == self.settings.versioned_mesh())
    }

    /// Returns the context with additional facts for the pods of `object`, which `change` sets. It is
    /// valid only for these pods.
    #[must_use]
    pub fn assuming(&self, object: &Object<'t>, change: impl FnOnce(&mut FactOverrides)) -> Self {
        let mut given = self.user_facts(object).clone();
        change(&mut given.overrides);
        Self {
            hypothesis: Some(Arc::new(given)),
            ..self.clone()
        }
    }

    /// Returns the context under the assumption that, of several equally near control planes, the one
    /// at index `candidate` serves.
    #[must_use]
    pub fn assuming_control_plane(&self, candidate: usize) -> Self {
        Self {
            candidate: Some(candidate),
            ..self.clone()
        }
    }

    /// Returns the context under the assumption that this Service is the oldest of those that target
    /// `port`.
    #[must_use]
    pub fn assuming_oldest_service(&self, port: i64, service: &'t str) -> Self {
        Self {
            oldest: Some((port, service)),
            ..self.clone()
        }
    }

    /// Returns the facts as they would be with another release of the mesh.
    #[must_use]
    pub fn assuming_release(&self, release: Version) -> Self {
        Self {
            release: Some(release),
            ..self.clone()
        }
    }

    /// Returns the context under the assumption that pods belong to `mesh`, unless an option sets the mesh.
    #[must_use]
    pub fn assuming_mesh(&self, mesh: Mesh) -> Self {
        Self {
            fact_cache: Arc::default(),
            mesh: Some(mesh),
            ..self.clone()
        }
    }
}
