//! The facts of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::authz_cache::Authorizations;
use crate::context::fact_cache::{CaptureCache, FactCache, NamespaceKey, ServingPlanesCache};
use crate::context::install;
use crate::context::inventory::Inventory;
use crate::context::namespace_index::NamespaceIndex;
use crate::context::nearest::are_related;
use crate::context::unmodelled_changes::{HiddenChanges, notes_of};
use crate::context::user_facts::{UserFacts, UserFactsIndex};
use crate::finding::Label;
use crate::kube::{Object, Workload};
use crate::kustomize::{Note, Rendering};
use crate::mesh::Version;
use crate::mesh::istio::install::Install;
use crate::settings::Settings;
use crate::source::{Role, SourceSet};

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
    /// Groups of control planes that state the same values.
    pub(in crate::context) planes_alike: install::Alike,
    /// The control planes by the pods that they may inject.
    pub(in crate::context) plane_index: Arc<install::PlaneIndex>,
    /// What the tree states about the mesh of a cluster, independent of the control plane.
    pub cluster: Arc<[Install]>,
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
    /// Cached decisions of policies about requests.
    pub(in crate::context) authorizations: Arc<Authorizations>,
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
}

impl<'t> Context<'t> {
    /// Collects the facts of all documents. Documents that `renderings` include are read as
    /// rendered.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
    ) -> Self {
        let inventory = Inventory::new(sources, renderings, settings);
        let install::Installations { planes, cluster } = install::installations(&inventory);
        let unseen: BTreeSet<&str> = renderings
            .iter()
            .filter(|rendering| !rendering.notes.is_empty())
            .map(|rendering| &*rendering.root)
            .collect();
        Self {
            fact_cache: Arc::default(),
            serving_planes: Arc::default(),
            capture_cache: Arc::default(),
            authorizations: Arc::default(),
            unseen: Arc::new(unseen),
            hidden: Arc::new(HiddenChanges::new(renderings)),
            sources,
            settings,
            planes_alike: install::Alike::of(&planes, &inventory, settings),
            plane_index: Arc::new(install::PlaneIndex::of(&planes)),
            control_planes: planes.into(),
            cluster: cluster.into(),
            user_facts: Arc::new(UserFactsIndex::new(settings, &inventory)),
            inventory: Arc::new(inventory),
            candidate: None,
            hypothesis: None,
            oldest: None,
            release: None,
        }
    }

    /// Returns the embedded texts that describe how the mesh is installed and that do not parse.
    /// Each has the line of its key. The result is sorted.
    #[must_use]
    pub fn broken_texts(&self) -> Vec<&Label> {
        let mut found: Vec<&Label> = self
            .control_planes
            .iter()
            .chain(self.cluster.iter())
            .flat_map(Install::broken)
            .collect();
        found.sort_by(|a, b| (&a.path, a.span, &a.message).cmp(&(&b.path, b.span, &b.message)));
        found.dedup();
        found
    }

    /// Iterates over the workloads of a namespace.
    pub(in crate::context) fn workloads_in(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = &Workload<'t>> {
        self.inventory
            .workloads
            .in_namespace(namespace)
            .map(|subject| &subject.workload)
    }

    /// Iterates over the facts of one kind in the namespace of `subject`, as defined by
    /// [`Context::shares_namespace`].
    pub fn in_namespace_of<'s, 'o>(
        &'s self,
        facts: &'s NamespaceIndex<'t, Object<'t>>,
        subject: &'o Object<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 'o, 't> {
        let (namespace, _) = self.namespace_of(subject);
        facts
            .near(
                namespace,
                &self.inventory.environments,
                subject.location_file(),
            )
            .map(|(_, fact)| fact)
            .filter(|fact| self.has_same_namespace(fact, subject))
    }

    /// Iterates over the facts in the namespace of `workload` that have a label selector which may
    /// select its pods.
    pub(in crate::context) fn selecting_in_namespace_of<'s, 'o>(
        &'s self,
        facts: &'s NamespaceIndex<'t, Object<'t>>,
        workload: &'o Workload<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 'o, 't> {
        let subject = &workload.object;
        let (namespace, _) = self.namespace_of(subject);
        let labels = workload.template.labels();
        let found = facts.near_selecting(
            namespace,
            labels,
            &self.inventory.environments,
            subject.location_file(),
        );
        found
            .map(|(_, fact)| fact)
            .filter(|fact| self.has_same_namespace(fact, subject))
    }

    /// Returns whether findings about an object are reported: its file, or the kustomization that
    /// renders it, is a target and not only context.
    #[must_use]
    pub fn is_target(&self, object: &Object<'_>) -> bool {
        let is_target = |path: &str| {
            let file = self.sources.file(path);
            file.is_some_and(|file| file.role == Role::Target)
        };
        is_target(object.path()) || object.rendered_by.is_some_and(|path| is_target(path))
    }

    /// Returns whether `fact` is in the namespace of `subject`. If one of them does not name its
    /// namespace, the folder of one must also contain the other.
    #[must_use]
    pub fn shares_namespace(&self, fact: &Object<'t>, subject: &Object<'t>) -> bool {
        self.has_same_namespace(fact, subject)
            && self
                .inventory
                .environments
                .may_apply(fact.location_file(), subject.location_file())
    }

    /// Returns the key of the namespace of an object. Objects with equal keys share their namespace
    /// with the same facts.
    #[must_use]
    pub fn namespace_key(&self, object: &Object<'t>) -> NamespaceKey {
        self.fact_cache
            .namespace_key(object, self.namespace_of(object))
    }

    /// Returns whether `fact` and `subject` are in the same namespace, without a check of their
    /// environments. If one of them does not name its namespace, the folder of one must contain the
    /// other.
    pub(in crate::context) fn has_same_namespace(
        &self,
        fact: &Object<'t>,
        subject: &Object<'t>,
    ) -> bool {
        let (of_fact, fact_written) = self.namespace_of(fact);
        let (of_subject, subject_written) = self.namespace_of(subject);
        let written = fact_written && subject_written;
        of_fact == of_subject
            && (written || are_related(fact.location_file(), subject.location_file()))
    }
}

impl<'t> Context<'t> {
    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may affect the verdicts of its probes.
    #[must_use]
    pub fn hidden_changes<'a>(&'a self, object: &'a Object<'t>) -> &'a [&'t Note] {
        notes_of(&self.hidden.changes, object)
    }

    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may copy a value which a rewrite changes from `object` to another object.
    #[must_use]
    pub fn hidden_copies<'a>(&'a self, object: &'a Object<'t>) -> &'a [&'t Note] {
        notes_of(&self.hidden.copies, object)
    }
}
