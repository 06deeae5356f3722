//! Which control plane serves which workload.
//!
//! Distance decides as for every other fact: the control planes whose files are nearest to the
//! workload's, and those in folders above it, are in scope; of one revision only the nearest is.

mod alike;
mod assemble;
mod conflict;
mod facts;
mod labels;
mod plane_index;
mod redirect;
mod server;

use std::ptr::from_ref;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::finding::{Certainty, Label};
use crate::kube::{Object, Workload, lies_above, nearness};
use crate::mesh::istio::install::{Install, Part};
use crate::mesh::{Fact, Reason};

use super::Context;
use super::memo::{self, Standing};

pub(super) use alike::Alike;
pub(super) use assemble::{Installations, installations};
pub use conflict::Conflict;
use conflict::NAMED;
pub(super) use labels::Labels;
pub(super) use plane_index::PlaneIndex;
pub(super) use server::Server;

/// The control planes that may serve one workload.
#[derive(Clone, Debug, Default)]
pub struct InstallView<'a> {
    /// Those that decide for the workload, the first for certain: more than one where several are
    /// equally near and would all inject it.
    pub candidates: Vec<&'a Install>,
    /// All control planes, and the places of those in scope.
    scope: (&'a [Install], Arc<[usize]>),
    /// What is said of the cluster, the nearest first: it speaks where no candidate does.
    pub cluster: Vec<&'a Install>,
}

impl<'a> InstallView<'a> {
    /// Returns a fact of the installation, `None` where nothing is written. Where candidates
    /// disagree the first one that says anything speaks, and that is an assumption, which
    /// `settle` settles.
    pub fn fact<T: Clone + PartialEq + 'a>(
        &self,
        settle: &'static str,
        get: impl Fn(&'a Install) -> Option<&'a Fact<T>>,
    ) -> Option<Fact<T>> {
        let said: Vec<Option<&Fact<T>>> = self.candidates.iter().map(|one| get(one)).collect();
        let Some(first) = said.iter().flatten().next() else {
            return self.cluster.iter().find_map(|one| get(one)).cloned();
        };
        let agree = said
            .iter()
            .all(|one| one.is_some_and(|one| one.value == first.value));
        let mut fact = (*first).clone();
        if agree {
            return Some(fact);
        }
        let all = self.candidates.iter().zip(&said);
        let differing =
            all.filter(|(_, other)| other.is_none_or(|other| other.value != first.value));
        for (plane, other) in differing.take(NAMED) {
            let place = other.and_then(|other| other.because.first()?.place.clone());
            let place = place.unwrap_or_else(|| plane.place.clone());
            let message = format!("another value: {}", place.message);
            fact.because
                .push(Reason::written(Label { message, ..place }));
        }
        let said = "installations that are equally near differ; this one was taken";
        Some(fact.resting_on(&Fact::assumed((), said, Some(overriding(settle)))))
    }

    /// Returns why defaults of the chart need not hold: values that could not be read.
    #[must_use]
    pub fn unread(&self) -> Option<Fact<()>> {
        let because: Vec<Reason> = self
            .candidates
            .iter()
            .flat_map(|one| one.unread.iter().cloned())
            .collect();
        (!because.is_empty()).then_some(Fact {
            value: (),
            certainty: Certainty::Assumed,
            because,
        })
    }

    /// Returns a view of control planes that decide, without a cluster.
    pub(super) fn of_candidates(
        candidates: Vec<&'a Install>,
        all: &'a [Install],
        scope: Arc<[usize]>,
    ) -> Self {
        Self {
            candidates,
            scope: (all, scope),
            cluster: Vec::new(),
        }
    }

    fn scope(&self) -> impl Iterator<Item = &'a Install> {
        let (all, scope) = &self.scope;
        scope.iter().filter_map(|&at| all.get(at))
    }

    /// Returns every name that a control plane in scope answers to.
    #[must_use]
    pub fn names(&self) -> Vec<&'a str> {
        let planes = self.scope();
        let mut names: Vec<&str> = planes.flat_map(Install::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Tells whether a control plane in scope may answer to more names than are written.
    #[must_use]
    pub fn may_serve_more(&self) -> bool {
        let open = |one: &Install| one.more_names.is_some() || !one.unread.is_empty();
        self.scope().any(open)
    }
}

/// Returns where the items of a selection stand among all, which they are part of.
fn positions<C: FromIterator<usize>>(all: &[Install], selected: &[&Install]) -> C {
    let start = all.as_ptr().addr();
    let position = |one: &&Install| {
        let offset = from_ref(*one).addr().checked_sub(start)?;
        let position = offset / size_of::<Install>();
        (position < all.len()).then_some(position)
    };
    selected.iter().filter_map(position).collect()
}

/// Returns the items that stand at these positions.
fn at<'a>(all: &'a [Install], positions: &[usize]) -> Vec<&'a Install> {
    positions.iter().filter_map(|&at| all.get(at)).collect()
}

/// Returns the option that settles a fact even where the tree states it: `--assume` only fills gaps.
fn overriding(settle: &'static str) -> &'static str {
    match settle {
        "--assume rewrite=true|false" => "--override rewrite=true|false",
        "--assume root-namespace=NAME" => "--override root-namespace=NAME",
        "--assume status-port=PORT" => "--override status-port=PORT",
        "--assume cni=true|false" => "--override cni=true|false",
        "--assume native-sidecars=true|false" => "--override native-sidecars=true|false",
        other => other,
    }
}

impl<'t> Context<'t> {
    /// Returns the control planes that may serve the pods of `workload`.
    #[must_use]
    pub fn install(&self, workload: &Workload<'t>) -> InstallView<'_> {
        if self.control_planes.is_empty() && self.cluster.is_empty() {
            return InstallView::default();
        }
        let (namespace, _) = self.namespace_of(&workload.object);
        let key = memo::pod(workload, namespace);
        let standing = self.standings.of(key, || Arc::new(self.standing(workload)));
        InstallView {
            candidates: at(&self.control_planes, &standing.candidates),
            scope: (&self.control_planes, Arc::clone(&standing.scope)),
            cluster: at(&self.cluster, &standing.cluster),
        }
    }

    fn standing(&self, workload: &Workload<'t>) -> Standing {
        let home = workload.object.home();
        let scope = self.scope(home);
        let mut candidates = Vec::new();
        if !scope.is_empty() {
            let labels = self.labels_seen(workload, &scope);
            let decide = match self.server(&labels, &scope) {
                Server::Planes { planes, .. } => planes,
                _ => self.chosen(self.unserved(&workload.object, &scope)),
            };
            candidates = positions(&self.control_planes, &decide);
        }
        Standing {
            candidates,
            scope: self.scope_at(home),
            cluster: self.cluster_at(home),
        }
    }

    /// Returns the control planes that an object which is no workload, such as a policy, speaks
    /// to.
    #[must_use]
    pub fn install_near(&self, object: &Object<'t>) -> InstallView<'_> {
        let scope = self.scope(object.home());
        InstallView {
            candidates: self.chosen(self.unserved(object, &scope)),
            scope: (&self.control_planes, self.scope_at(object.home())),
            cluster: self.cluster_of(object.home()),
        }
    }

    /// Returns the facts as they are if, of control planes that are equally near, the one at
    /// `candidate` serves.
    #[must_use]
    pub fn served_by(&self, candidate: usize) -> Self {
        Self {
            standings: Arc::default(),
            redirects: Arc::default(),
            candidate: Some(candidate),
            ..self.clone()
        }
    }

    /// Of control planes that are equally near, the one that is taken, if one is.
    fn chosen<T>(&self, planes: Vec<T>) -> Vec<T> {
        match self.candidate {
            Some(index) => planes.into_iter().skip(index).take(1).collect(),
            None => planes,
        }
    }

    /// Returns what the tree says of the cluster of a file: what is nearest, and what lies above.
    fn cluster_of(&self, home: &'t str) -> Vec<&Install> {
        at(&self.cluster, &self.cluster_at(home))
    }

    fn cluster_at(&self, home: &'t str) -> Arc<[usize]> {
        if self.cluster.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let found = self.in_reach(&self.cluster, home).into_iter();
            let found: Vec<&Install> = found.map(|(_, one)| one).collect();
            positions(&self.cluster, &found)
        };
        self.memo.clusters.of(memo::home(home), work_out)
    }

    /// Returns the control planes in scope of a file.
    pub(super) fn scope(&self, home: &'t str) -> Vec<&Install> {
        at(&self.control_planes, &self.scope_at(home))
    }

    pub(super) fn scope_at(&self, home: &'t str) -> Arc<[usize]> {
        if self.control_planes.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let mut found = positions(&self.control_planes, &self.scope_seen_from(home));
            self.planes_alike.enough(&mut found);
            found.into()
        };
        self.memo.planes.of(memo::home(home), work_out)
    }

    fn scope_seen_from(&self, path: &str) -> Vec<&Install> {
        let mut scope = self.in_reach(&self.control_planes, path);
        let mut nearest: HashMap<&str, usize> = HashMap::new();
        for (near, one) in &scope {
            let best = nearest.entry(one.revision_name()).or_default();
            *best = (*best).max(*near);
        }
        scope.retain(|(near, one)| nearest.get(one.revision_name()) == Some(near));
        scope.into_iter().map(|(_, one)| one).collect()
    }

    /// Returns those of `all` that are nearest to a file, and those that lie above it, each with how
    /// near it is, the nearest first.
    fn in_reach<'a>(&self, all: &'a [Install], path: &str) -> Vec<(usize, &'a Install)> {
        // What lies in another environment says nothing about this one.
        let joined = all
            .iter()
            .filter(|one| self.inventory.forks.join(&one.place.path, path));
        let mut found: Vec<(usize, &Install)> = joined
            .map(|one| (nearness(&one.place.path, path), one))
            .collect();
        let best = found.iter().map(|(near, _)| *near).max();
        found.retain(|(near, one)| Some(*near) == best || lies_above(&one.place.path, path));
        found.sort_by_key(|(near, _)| std::cmp::Reverse(*near));
        found
    }

    /// Nobody in the tree is known to serve the object: the facts of the control plane that an
    /// option names hold, else those of the default one, else those of any.
    fn unserved<'a>(&self, object: &Object<'t>, scope: &[&'a Install]) -> Vec<&'a Install> {
        let given = &self.given(object).overrides.revisions;
        let named = |one: &&Install| one.names().any(|name| given.iter().any(|g| g == name));
        let among = |keep: &dyn Fn(&&Install) -> bool| -> Vec<&'a Install> {
            scope.iter().copied().filter(|one| keep(one)).collect()
        };
        [among(&named), among(&|one| one.is_default())]
            .into_iter()
            .find(|found| !found.is_empty())
            .unwrap_or_else(|| scope.to_vec())
    }

    /// Returns every name that a control plane of the tree answers to, with the line that says so;
    /// empty where the tree holds no control plane.
    #[must_use]
    pub fn served_names(&self) -> Vec<(&str, &Label)> {
        let named = self.control_planes.iter().flat_map(|one| {
            let own = one.revision.as_ref();
            let place = own.and_then(|fact| fact.because.first()?.place.as_ref());
            let tags = one.tags.iter().filter_map(|tag| {
                let place = tag.because.first()?.place.as_ref()?;
                Some((tag.value.as_str(), place))
            });
            let first = (one.revision_name(), place.unwrap_or(&one.place));
            let is_tag = matches!(one.part, Part::Tags { .. });
            (!is_tag).then_some(first).into_iter().chain(tags)
        });
        named.collect()
    }
}
