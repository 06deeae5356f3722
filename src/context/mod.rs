//! Which facts hold for which workload.
//!
//! One scope holds all files of a run; where several facts compete, the one whose file is
//! nearest to the workload's file wins.

mod applying_policies;
mod audience;
mod authorization;
mod complete;
mod dataplane;
mod deployment;
mod doubt;
mod envoy_filter;
mod fact_kind;
mod facts;
mod given;
mod hidden;
mod install;
mod inventory;
mod label_index;
mod machine;
mod memo;
mod mesh;
mod nearest_policies;
mod network_policy;
mod order;
mod pod;
mod policy;
mod port_index;
mod reach;
mod redirect;
pub mod render;
mod rivals;
mod scope;
mod service;
mod unrendered;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::finding::Label;
use crate::kube::{Object, Workload};
use crate::mesh::Version;
use crate::mesh::istio::install::Install;
use crate::settings::Settings;
use crate::source::{Role, SourceSet};

use audience::Authorizations;
use given::Givens;
use hidden::HiddenChanges;
use inventory::are_related;
use memo::{Memo, Redirects, Standings};
use render::Rendering;

pub use authorization::{Authorization, Misfit, Refusal, RefusedBy, allowed_selector};
pub use dataplane::{Dataplane, NamespaceGap};
pub use doubt::Doubt;
pub use envoy_filter::inbound_patch;
pub use facts::Facts;
pub use given::Given;
pub use install::{Conflict, InstallView};
pub use inventory::{Inventory, Uses};
pub(crate) use label_index::LabelIndex;
pub(crate) use mesh::OtherPod;
pub use network_policy::{IngressRule, Source, isolates};
pub use pod::{
    ProberEnv, ProberEnvPlace, Unread, proxy_config, proxy_container, written_prober_env,
};
pub use reach::Reach;
pub use rivals::Rivals;
pub use service::SETTLE as SERVICES_SETTLE;
pub use unrendered::{UncheckedPolicy, Unrendered};

/// What decides which facts are in the namespace of an object.
pub type NamespaceKey = memo::Scope;

/// All facts of a run. A copy is cheap.
#[derive(Clone, Debug)]
pub struct Context<'t> {
    /// The files.
    pub sources: &'t SourceSet,
    /// The objects of the tree.
    pub inventory: Arc<Inventory<'t>>,
    /// What the user settled.
    pub settings: &'t Settings,
    /// The control planes of the tree.
    pub control_planes: Arc<[Install]>,
    /// Which of them state the same.
    planes_alike: install::Alike,
    /// Whom they may inject.
    plane_index: Arc<install::PlaneIndex>,
    /// What the tree says of the mesh in the cluster, whatever the control plane.
    pub cluster: Arc<[Install]>,
    /// Kustomizations that bring in more than is rendered.
    unseen: Arc<BTreeSet<&'t str>>,
    /// What kustomizations do that is not seen, by the document whose pods it may change.
    hidden: Arc<HiddenChanges<'t>>,
    /// What was asked before.
    memo: Arc<Memo>,
    /// The control planes of the pods that were asked about: others in another world.
    standings: Arc<Standings>,
    /// What captures the ports of these pods.
    redirects: Arc<Redirects>,
    /// What policies decide about requests.
    authorizations: Arc<Authorizations>,
    /// What the user settled, by file.
    givens: Arc<Givens<'t>>,
    /// Which of several control planes that are equally near is taken as the one that serves;
    /// `None` weighs them all.
    candidate: Option<usize>,
    /// What is supposed for the one workload that is asked about.
    supposed: Option<Arc<Given>>,
    /// The Service that is supposed to be the oldest on a port.
    oldest: Option<(i64, &'t str)>,
    /// The release that is supposed to be in use.
    release: Option<Version>,
}

impl<'t> Context<'t> {
    /// Collects the facts of all documents; those that `renderings` take in count as they come
    /// out of them.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
    ) -> Self {
        let inventory = Inventory::new(sources, renderings, settings);
        let install::Installations { planes, cluster } = install::installations(&inventory);
        let unseen = renderings.iter().filter(|one| !one.notes.is_empty());
        let unseen: BTreeSet<&str> = unseen.map(|one| &*one.root).collect();
        Self {
            memo: Arc::default(),
            standings: Arc::default(),
            redirects: Arc::default(),
            authorizations: Arc::default(),
            unseen: Arc::new(unseen),
            hidden: Arc::new(HiddenChanges::new(renderings)),
            sources,
            settings,
            planes_alike: install::Alike::of(&planes, &inventory, settings),
            plane_index: Arc::new(install::PlaneIndex::of(&planes)),
            control_planes: planes.into(),
            cluster: cluster.into(),
            givens: Arc::new(Givens::new(settings, &inventory)),
            inventory: Arc::new(inventory),
            candidate: None,
            supposed: None,
            oldest: None,
            release: None,
        }
    }

    /// Returns the texts inside of other documents that do not parse and that state how the mesh is
    /// installed, each by the line of its key, sorted.
    #[must_use]
    pub fn broken_texts(&self) -> Vec<&Label> {
        let installs = self.control_planes.iter().chain(self.cluster.iter());
        let mut found: Vec<&Label> = installs.flat_map(Install::broken).collect();
        found.sort_by(|a, b| (&a.path, a.span, &a.message).cmp(&(&b.path, b.span, &b.message)));
        found.dedup();
        found
    }

    /// Iterates over the workloads that go to a namespace.
    fn workloads_in(&self, namespace: &str) -> impl Iterator<Item = &Workload<'t>> {
        let found = self.inventory.workloads.in_namespace(namespace);
        found.map(|subject| &subject.workload)
    }

    /// Iterates over the facts of one kind that stand in the namespace of `subject`, as
    /// [`Context::shares_namespace`] has it.
    pub fn beside<'s, 'o>(
        &'s self,
        facts: &'s Facts<'t, Object<'t>>,
        subject: &'o Object<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 'o, 't> {
        let (namespace, _) = self.namespace_of(subject);
        let found = facts.near(namespace, &self.inventory.forks, subject.home());
        let found = found.map(|(_, fact)| fact);
        found.filter(|fact| self.is_one_namespace(fact, subject))
    }

    /// Iterates over those of [`Context::beside`] that ask for labels, and may select the pods of `workload`.
    fn beside_selecting<'s, 'o>(
        &'s self,
        facts: &'s Facts<'t, Object<'t>>,
        workload: &'o Workload<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 'o, 't> {
        let subject = &workload.object;
        let (namespace, _) = self.namespace_of(subject);
        let labels = workload.template.labels();
        let found = facts.near_selecting(namespace, labels, &self.inventory.forks, subject.home());
        let found = found.map(|(_, fact)| fact);
        found.filter(|fact| self.is_one_namespace(fact, subject))
    }

    /// Returns the facts as they would be with another release of the mesh.
    #[must_use]
    pub fn as_of(&self, release: Version) -> Self {
        // Which control planes stand where does not depend on it: `standings` stay.
        Self {
            release: Some(release),
            ..self.clone()
        }
    }

    /// Tells whether an object is to be reported on: it stands in a file that is not only read for
    /// facts, or comes out of a kustomization that is not.
    #[must_use]
    pub fn is_target(&self, object: &Object<'_>) -> bool {
        let is_target = |path: &str| {
            let file = self.sources.file(path);
            file.is_some_and(|file| file.role == Role::Target)
        };
        is_target(object.path()) || object.rendered_by.is_some_and(|path| is_target(path))
    }

    /// Tells whether `fact` stands in the namespace of `subject`. Where one of them names no
    /// namespace they are taken for the same only along one line of folders.
    #[must_use]
    pub fn shares_namespace(&self, fact: &Object<'t>, subject: &Object<'t>) -> bool {
        self.is_one_namespace(fact, subject)
            && self.inventory.forks.join(fact.home(), subject.home())
    }

    /// Returns the key of the namespace of an object: objects with equal keys share their namespace with the same facts.
    #[must_use]
    pub fn namespace_key(&self, object: &Object<'t>) -> NamespaceKey {
        self.memo.scope(object, self.namespace_of(object))
    }

    /// The same of facts that lie in no other environment.
    pub(super) fn is_one_namespace(&self, fact: &Object<'t>, subject: &Object<'t>) -> bool {
        let (of_fact, fact_written) = self.namespace_of(fact);
        let (of_subject, subject_written) = self.namespace_of(subject);
        let written = fact_written && subject_written;
        of_fact == of_subject && (written || are_related(fact.home(), subject.home()))
    }
}
