//! Finds the control planes that may serve a workload or that read an object.

use std::ptr::from_ref;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, is_in_ancestor_folder, nearness};
use meshprobe_mesh::mesh::istio::install::{Carrier, Install, Part};
use meshprobe_mesh::mesh::istio::keys;

use super::server::Server;
use super::view::InstallView;
use crate::context::fact_cache;
use crate::context::fact_cache::HomeKey;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::run_context::Context;

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the control planes that may serve the pods of `workload`.
    #[must_use]
    pub fn installation(&self) -> InstallView<'c> {
        self.view().clone()
    }

    /// Returns the control planes that may serve the pods, found once.
    pub(in crate::context) fn view(&self) -> &InstallView<'c> {
        self.installation.get_or_init(|| {
            if self.context.control_planes.is_empty() && self.context.cluster.is_empty() {
                return InstallView::default();
            }
            self.find_serving_planes()
        })
    }

    fn find_serving_planes(&self) -> InstallView<'c> {
        let object = &self.workload.object;
        let scope = self.context.planes_in_scope(object);
        let mut candidates = Vec::new();
        if !scope.is_empty() {
            let labels = self.labels(&scope);
            candidates = match self.context.server(&labels, &scope) {
                Server::Planes { planes, .. } => planes,
                _ => self
                    .context
                    .chosen(self.context.default_planes(&self.workload.object, &scope)),
            };
        }
        InstallView {
            candidates,
            scope: (&self.context.control_planes, self.context.scope_at(object)),
            cluster: self.context.cluster_of(object),
        }
    }
}

/// Facts about the installation of Istio that is nearest to an object other than a workload, such as a policy.
#[derive(Clone, Copy, Debug)]
pub struct IstioNear<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) object: &'c Object<'t>,
}

impl<'c, 't> IstioNear<'c, 't> {
    /// Returns the control planes that read an object other than a workload, such as a policy.
    #[must_use]
    pub fn installation(self) -> InstallView<'c> {
        let scope = self.context.planes_in_scope(self.object);
        InstallView {
            candidates: self
                .context
                .chosen(self.context.default_planes(self.object, &scope)),
            scope: (
                &self.context.control_planes,
                self.context.scope_at(self.object),
            ),
            cluster: self.context.cluster_of(self.object),
        }
    }
}

impl<'t> Context<'t> {
    /// Returns the facts about the installation that is nearest to an object other than a workload.
    #[must_use]
    pub const fn istio_near<'c>(&'c self, object: &'c Object<'t>) -> IstioNear<'c, 't> {
        IstioNear {
            context: self,
            object,
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

    /// Keeps only the candidate that is assumed to serve, if [`Context::assuming_control_plane`] set one.
    pub(in crate::context) fn chosen<T>(&self, planes: Vec<T>) -> Vec<T> {
        match self.candidate {
            Some(index) => planes.into_iter().skip(index).take(1).collect(),
            None => planes,
        }
    }

    /// Returns the facts about the cluster of an object: the nearest, and those in folders above it.
    fn cluster_of(&self, object: &Object<'t>) -> Vec<&Install> {
        items_at(&self.cluster, &self.cluster_at(object))
    }

    fn cluster_at(&self, object: &Object<'t>) -> Arc<[usize]> {
        if self.cluster.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let found: Vec<&Install> = self
                .nearest_and_above(&self.cluster, object)
                .into_iter()
                .map(|(_, plane)| plane)
                .collect();
            positions(&self.cluster, &found)
        };
        self.fact_cache.clusters.of(self.home_key(object), work_out)
    }

    /// Returns the key of the place of an object: objects with equal keys have the same control planes in scope.
    pub(in crate::context) fn home_key(&self, object: &Object<'t>) -> HomeKey {
        let environments = &self.inventory.environments;
        let deployed_from = environments.deployed_from(object);
        (
            fact_cache::file_key(object.location_file()),
            deployed_from.map(fact_cache::file_key),
            fact_cache::cluster_key(object),
        )
    }

    /// Returns the control planes in scope of an object.
    pub(in crate::context) fn planes_in_scope(&self, object: &Object<'t>) -> Vec<&Install> {
        items_at(&self.control_planes, &self.scope_at(object))
    }

    pub(in crate::context) fn scope_at(&self, object: &Object<'t>) -> Arc<[usize]> {
        if self.control_planes.is_empty() {
            return Arc::default();
        }
        let work_out = || positions(&self.control_planes, &self.find_scope(object));
        self.fact_cache.planes.of(self.home_key(object), work_out)
    }

    fn find_scope(&self, object: &Object<'t>) -> Vec<&Install> {
        let mut scope = self.nearest_and_above(&self.control_planes, object);
        let mut nearest: HashMap<&str, usize> = HashMap::new();
        for (near, plane) in &scope {
            let best = nearest.entry(plane.revision_name()).or_default();
            *best = (*best).max(*near);
        }
        scope.retain(|(near, plane)| nearest.get(plane.revision_name()) == Some(near));
        scope.into_iter().map(|(_, plane)| plane).collect()
    }

    /// Returns the installations that are nearest to the file of an object and those in folders above it, each with
    /// its nearness, the nearest first.
    fn nearest_and_above<'c>(
        &'c self,
        all: &'c [Install],
        object: &Object<'t>,
    ) -> Vec<(usize, &'c Install)> {
        let path = object.location_file();
        let environments = &self.inventory.environments;
        let deployed_from = environments.deployed_from(object);
        // Facts of another environment do not apply to this one.
        let joins = |plane: &Install| {
            let fact = &plane.place.path;
            environments.may_apply(fact, path)
                && self.is_in_cluster(plane, object)
                && deployed_from.is_none_or(|folder| environments.may_apply(fact, folder))
        };
        let mut found: Vec<(usize, &Install)> = all
            .iter()
            .filter(|plane| joins(plane))
            .map(|plane| (nearness(&plane.place.path, path), plane))
            .collect();
        let best = found.iter().map(|(near, _)| *near).max();
        found.retain(|(near, plane)| {
            Some(*near) == best || is_in_ancestor_folder(&plane.place.path, path)
        });
        found.sort_by_key(|(near, _)| std::cmp::Reverse(*near));
        found
    }

    /// Returns the control planes whose facts apply to an object that none is known to serve: those
    /// that an option names, else the default one, else all.
    fn default_planes<'c>(
        &'c self,
        object: &Object<'t>,
        scope: &[&'c Install],
    ) -> Vec<&'c Install> {
        let given = &self.user_facts(object).overrides.revisions;
        let named = |plane: &&Install| plane.names().any(|name| given.iter().any(|g| g == name));
        let among = |keep: &dyn Fn(&&Install) -> bool| -> Vec<&'c Install> {
            scope.iter().copied().filter(|plane| keep(plane)).collect()
        };
        [among(&named), among(&|plane| plane.is_default())]
            .into_iter()
            .find(|found| !found.is_empty())
            .unwrap_or_else(|| scope.to_vec())
    }

    /// Returns whether a control plane may have the default role although the tree does not name it: istioctl gives it to
    /// the first installation of a cluster, and a webhook of the tree may select its label.
    #[must_use]
    pub fn may_have_default_role(&self) -> bool {
        let selects = |key: &str| (key == keys::NAMESPACE_INJECTION).then_some("enabled");
        self.control_planes.iter().any(|plane| {
            let mut webhooks = plane.webhooks.iter();
            plane.carrier == Carrier::IstioOperator
                || webhooks.any(|webhook| webhook.matches(selects, |_| None))
        })
    }

    /// Returns every revision and tag that a control plane of the tree serves, with its line; empty if
    /// the tree contains no control plane.
    #[must_use]
    pub fn served_names(&self) -> Vec<(&str, &Label)> {
        self.control_planes
            .iter()
            .flat_map(|plane| {
                let own = plane.revision.as_ref();
                let place = own.and_then(|fact| fact.because.first()?.place.as_ref());
                let tags = plane.tags.iter().filter_map(|tag| {
                    let place = tag.because.first()?.place.as_ref()?;
                    Some((tag.value.as_str(), place))
                });
                let first = (plane.revision_name(), place.unwrap_or(&plane.place));
                let is_tag = matches!(plane.part, Part::Tags { .. });
                (!is_tag).then_some(first).into_iter().chain(tags)
            })
            .collect()
    }
}

/// Returns the positions in `all` of selected items, which must be references into it.
pub(in crate::context) fn positions<C: FromIterator<usize>>(
    all: &[Install],
    selected: &[&Install],
) -> C {
    let start = all.as_ptr().addr();
    let position = |plane: &&Install| {
        let offset = from_ref(*plane).addr().checked_sub(start)?;
        let position = offset / size_of::<Install>();
        (position < all.len()).then_some(position)
    };
    selected.iter().filter_map(position).collect()
}

/// Returns the items at these positions.
pub(in crate::context) fn items_at<'a>(
    all: &'a [Install],
    positions: &[usize],
) -> Vec<&'a Install> {
    positions.iter().filter_map(|&at| all.get(at)).collect()
}
