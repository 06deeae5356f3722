//! Finds the control planes that may serve a workload or that read an object.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::context::fact_cache;
use crate::context::fact_cache::ServingPlanes;
use crate::context::install::positions::{items_at, positions};
use crate::context::install::server::Server;
use crate::context::install::view::InstallView;
use crate::context::run_context::Context;
use crate::finding::Label;
use crate::kube::{Object, Workload, is_in_ancestor_folder, nearness};
use crate::mesh::istio::install::{Install, Part};

impl<'t> Context<'t> {
    /// Returns the control planes that may serve the pods of `workload`.
    #[must_use]
    pub fn install(&self, workload: &Workload<'t>) -> InstallView<'_> {
        if self.control_planes.is_empty() && self.cluster.is_empty() {
            return InstallView::default();
        }
        let namespace = self.namespace_of(&workload.object).name;
        let key = fact_cache::pod_key(workload, namespace);
        let serving = self
            .serving_planes
            .of(key, || Arc::new(self.find_serving_planes(workload)));
        InstallView {
            candidates: items_at(&self.control_planes, &serving.candidates),
            scope: (&self.control_planes, Arc::clone(&serving.scope)),
            cluster: items_at(&self.cluster, &serving.cluster),
        }
    }

    fn find_serving_planes(&self, workload: &Workload<'t>) -> ServingPlanes {
        let home = workload.object.location_file();
        let scope = self.scope(home);
        let mut candidates = Vec::new();
        if !scope.is_empty() {
            let labels = self.labels_seen(workload, &scope);
            let decide = match self.server(&labels, &scope) {
                Server::Planes { planes, .. } => planes,
                _ => self.chosen(self.default_planes(&workload.object, &scope)),
            };
            candidates = positions(&self.control_planes, &decide);
        }
        ServingPlanes {
            candidates,
            scope: self.scope_at(home),
            cluster: self.cluster_at(home),
        }
    }

    /// Returns the control planes that read an object other than a workload, such as a policy.
    #[must_use]
    pub fn install_near(&self, object: &Object<'t>) -> InstallView<'_> {
        let scope = self.scope(object.location_file());
        InstallView {
            candidates: self.chosen(self.default_planes(object, &scope)),
            scope: (&self.control_planes, self.scope_at(object.location_file())),
            cluster: self.cluster_of(object.location_file()),
        }
    }

    /// Keeps only the candidate that is assumed to serve, if [`Context::assuming_control_plane`] set one.
    pub(in crate::context) fn chosen<T>(&self, planes: Vec<T>) -> Vec<T> {
        match self.candidate {
            Some(index) => planes.into_iter().skip(index).take(1).collect(),
            None => planes,
        }
    }

    /// Returns the facts about the cluster of a file: the nearest, and those in folders above it.
    fn cluster_of(&self, home: &'t str) -> Vec<&Install> {
        items_at(&self.cluster, &self.cluster_at(home))
    }

    fn cluster_at(&self, home: &'t str) -> Arc<[usize]> {
        if self.cluster.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let found: Vec<&Install> = self
                .nearest_and_above(&self.cluster, home)
                .into_iter()
                .map(|(_, plane)| plane)
                .collect();
            positions(&self.cluster, &found)
        };
        self.fact_cache
            .clusters
            .of(fact_cache::file_key(home), work_out)
    }

    /// Returns the control planes in scope of a file.
    pub(in crate::context) fn scope(&self, home: &'t str) -> Vec<&Install> {
        items_at(&self.control_planes, &self.scope_at(home))
    }

    pub(in crate::context) fn scope_at(&self, home: &'t str) -> Arc<[usize]> {
        if self.control_planes.is_empty() {
            return Arc::default();
        }
        let work_out = || {
            let mut found = positions(&self.control_planes, &self.find_scope(home));
            self.planes_alike.enough(&mut found);
            found.into()
        };
        self.fact_cache
            .planes
            .of(fact_cache::file_key(home), work_out)
    }

    fn find_scope(&self, path: &str) -> Vec<&Install> {
        let mut scope = self.nearest_and_above(&self.control_planes, path);
        let mut nearest: HashMap<&str, usize> = HashMap::new();
        for (near, plane) in &scope {
            let best = nearest.entry(plane.revision_name()).or_default();
            *best = (*best).max(*near);
        }
        scope.retain(|(near, plane)| nearest.get(plane.revision_name()) == Some(near));
        scope.into_iter().map(|(_, plane)| plane).collect()
    }

    /// Returns the installations that are nearest to a file and those in folders above it, each with
    /// its nearness, the nearest first.
    fn nearest_and_above<'a>(&self, all: &'a [Install], path: &str) -> Vec<(usize, &'a Install)> {
        // Facts of another environment do not apply to this one.
        let mut found: Vec<(usize, &Install)> = all
            .iter()
            .filter(|plane| {
                self.inventory
                    .environments
                    .may_apply(&plane.place.path, path)
            })
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
    fn default_planes<'a>(&self, object: &Object<'t>, scope: &[&'a Install]) -> Vec<&'a Install> {
        let given = &self.user_facts(object).overrides.revisions;
        let named = |plane: &&Install| plane.names().any(|name| given.iter().any(|g| g == name));
        let among = |keep: &dyn Fn(&&Install) -> bool| -> Vec<&'a Install> {
            scope.iter().copied().filter(|plane| keep(plane)).collect()
        };
        [among(&named), among(&|plane| plane.is_default())]
            .into_iter()
            .find(|found| !found.is_empty())
            .unwrap_or_else(|| scope.to_vec())
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
