//! The facts of a run under other assumptions.

use std::sync::Arc;

use crate::context::run_context::Context;
use crate::context::user_facts::UserFacts;
use crate::kube::Object;
use crate::mesh::{Mesh, Version};
use crate::settings::FactOverrides;

impl<'t> Context<'t> {
    /// Returns the facts that the user set for the pods of an object. Scopes take precedence over
    /// general settings, later scopes over earlier ones.
    #[must_use]
    pub fn user_facts(&self, object: &Object<'t>) -> &UserFacts {
        if let Some(hypothesis) = &self.hypothesis {
            return hypothesis;
        }
        self.user_facts.of(object)
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
