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
use crate::context::fact_cache::{HomeKey, ServingPlanes};
use crate::context::istio::facets::{ControlPlanes, Istio, IstioNear};

impl<'c, 't> Istio<'c, 't> {
    /// Returns the control planes that may serve the pods of `workload`.
    #[must_use]
    pub fn installation(self) -> InstallView<'c> {
        if self.context.control_planes.is_empty() && self.context.cluster.is_empty() {
            return InstallView::default();
        }
        let namespace = self.context.namespace_of(&self.workload.object).name;
        let key = fact_cache::pod_key(self.workload, namespace);
        let serving = self
            .context
            .serving_planes
            .of(key, || Arc::new(self.find_serving_planes()));
        InstallView {
            candidates: items_at(&self.context.control_planes, &serving.candidates),
            scope: (&self.context.control_planes, Arc::clone(&serving.scope)),
            cluster: items_at(&self.context.cluster, &serving.cluster),
        }
    }

    fn find_serving_planes(self) -> ServingPlanes {
        let object = &self.workload.object;
        let scope = self.context.installations().scope(object);
        let mut candidates = Vec::new();
        if !scope.is_empty() {
            let labels = self.injection().labels(&scope);
            let decide = match self.context.installations().server(&labels, &scope) {
                Server::Planes { planes, .. } => planes,
                _ => self.context.installations().chosen(
                    self.context
                        .installations()
                        .default_planes(&self.workload.object, &scope),
                ),
            };
            candidates = positions(&self.context.control_planes, &decide);
        }
        ServingPlanes {
            candidates,
            scope: self.context.installations().scope_at(object),
            cluster: self.context.installations().cluster_at(object),
        }
    }
}

impl<'c, 't> IstioNear<'c, 't> {
    /// Returns the control planes that read an object other than a workload, such as a policy.
    #[must_use]
    pub fn installation(self) -> InstallView<'c> {
        let scope = self.context.installations().scope(self.object);
        InstallView {
            candidates: self.context.installations().chosen(
                self.context
                    .installations()
                    .default_planes(self.object, &scope),
            ),
            scope: (
                &self.context.control_planes,
                self.context.installations().scope_at(self.object),
            ),
            cluster: self.context.installations().cluster_of(self.object),
        }
    }
}

impl<'c, 't> ControlPlanes<'c, 't> {
    /// Returns the embedded texts that describe how the mesh is installed and that do not parse.
    /// Each has the line of its key. The result is sorted.
    #[must_use]
    pub fn broken_texts(self) -> Vec<&'c Label> {
        let mut found: Vec<&Label> = self
            .context
            .control_planes
            .iter()
            .chain(self.context.cluster.iter())
            .flat_map(Install::broken)
            .collect();
        found.sort_by(|a, b| (&a.path, a.span, &a.message).cmp(&(&b.path, b.span, &b.message)));
        found.dedup();
        found
    }

    /// Keeps only the candidate that is assumed to serve, if [`Context::assuming_control_plane`] set one.
    pub(in crate::context) fn chosen<T>(self, planes: Vec<T>) -> Vec<T> {
        match self.context.candidate {
            Some(index) => planes.into_iter().skip(index).take(1).collect(),
            None => planes,
        }
    }

    /// Returns the facts about the cluster of an object: the nearest, and those in folders above it.
    fn cluster_of(self, object: &Object<'t>) -> Vec<&'c Install> {
        items_at(&self.context.cluster, &self.cluster_at(object))
    }

    fn cluster_at(self, object: &Object<'t>) -> Arc<[usize]> {
        if self.context.cluster.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let found: Vec<&Install> = self
                .context
                .installations()
                .nearest_and_above(&self.context.cluster, object)
                .into_iter()
                .map(|(_, plane)| plane)
                .collect();
            positions(&self.context.cluster, &found)
        };
        self.context
            .fact_cache
            .clusters
            .of(self.home_key(object), work_out)
    }

    /// Returns the key of the place of an object: objects with equal keys have the same control planes in scope.
    pub(in crate::context) fn home_key(self, object: &Object<'t>) -> HomeKey {
        let environments = &self.context.inventory.environments;
        let deployed_from = environments.deployed_from(object);
        (
            fact_cache::file_key(object.location_file()),
            deployed_from.map(fact_cache::file_key),
            fact_cache::cluster_key(object),
        )
    }

    /// Returns the control planes in scope of an object.
    pub(in crate::context) fn scope(self, object: &Object<'t>) -> Vec<&'c Install> {
        items_at(&self.context.control_planes, &self.scope_at(object))
    }

    pub(in crate::context) fn scope_at(self, object: &Object<'t>) -> Arc<[usize]> {
        if self.context.control_planes.is_empty() {
            return Arc::default();
        }
        let work_out = || positions(&self.context.control_planes, &self.find_scope(object));
        self.context
            .fact_cache
            .planes
            .of(self.home_key(object), work_out)
    }

    fn find_scope(self, object: &Object<'t>) -> Vec<&'c Install> {
        let mut scope = self.nearest_and_above(&self.context.control_planes, object);
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
    fn nearest_and_above(
        self,
        all: &'c [Install],
        object: &Object<'t>,
    ) -> Vec<(usize, &'c Install)> {
        let path = object.location_file();
        let environments = &self.context.inventory.environments;
        let deployed_from = environments.deployed_from(object);
        // Facts of another environment do not apply to this one.
        let joins = |plane: &Install| {
            let fact = &plane.place.path;
            environments.may_apply(fact, path)
                && self.context.is_in_cluster(plane, object)
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
    fn default_planes(self, object: &Object<'t>, scope: &[&'c Install]) -> Vec<&'c Install> {
        let given = &self.context.user_facts(object).overrides.revisions;
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
    pub fn may_have_default_role(self) -> bool {
        let selects = |key: &str| (key == keys::NAMESPACE_INJECTION).then_some("enabled");
        self.context.control_planes.iter().any(|plane| {
            let mut webhooks = plane.webhooks.iter();
            plane.carrier == Carrier::IstioOperator
                || webhooks.any(|webhook| webhook.matches(selects, |_| None))
        })
    }

    /// Returns every revision and tag that a control plane of the tree serves, with its line; empty if
    /// the tree contains no control plane.
    #[must_use]
    pub fn served_names(self) -> Vec<(&'c str, &'c Label)> {
        self.context
            .control_planes
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
