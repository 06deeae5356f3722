//! The facts of a run under other assumptions.

use std::sync::Arc;

use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_mesh::settings::{FactOverrides, SelectedFacts, Settings};
use meshprobe_yaml::Entry;

use crate::context::object_namespace::namespace_of;
use crate::context::run_context::Context;
use crate::context::user_facts::UserFacts;

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
            serving_planes: Arc::default(),
            capture_cache: Arc::default(),
            hypothesis: Some(Arc::new(given)),
            ..self.clone()
        }
    }

    /// Returns the context under the assumption that, of several equally near control planes, the one
    /// at index `candidate` serves.
    #[must_use]
    pub fn assuming_control_plane(&self, candidate: usize) -> Self {
        Self {
            serving_planes: Arc::default(),
            capture_cache: Arc::default(),
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
        // `serving_planes` stay: which control planes are in scope does not depend on the release.
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
            serving_planes: Arc::default(),
            capture_cache: Arc::default(),
            mesh: Some(mesh),
            ..self.clone()
        }
    }
}
