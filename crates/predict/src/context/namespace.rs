//! The namespace of an object: its name, its manifest, and the facts in it.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::istio::install::Install;
use meshprobe_tree::source::placeholder;

use super::fact_cache::{NamespaceKey, file_key};
use super::namespace_index::{NamespaceIndex, Unselective};
use super::nearest::{are_related, namespace_of};
use super::run_context::Context;

/// The namespace of an object.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceOf<'c, 't> {
    pub(super) context: &'c Context<'t>,
    pub(super) object: &'c Object<'t>,
    /// Its name; `default` if nothing sets it.
    pub name: &'t str,
    /// Whether the manifest, an option or the deployment of the object sets it.
    pub is_written: bool,
}

impl<'t> Context<'t> {
    /// Returns the namespace of an object.
    #[must_use]
    pub fn namespace_of<'c>(&'c self, object: &'c Object<'t>) -> NamespaceOf<'c, 't> {
        let (name, is_written) = namespace_of(object, self.settings);
        NamespaceOf {
            context: self,
            object,
            name,
            is_written,
        }
    }
}

impl<'t> Context<'t> {
    /// Returns whether an installation may be in the cluster of an object, as far as this depends on the objects that
    /// deploy them.
    pub(in crate::context) fn is_in_cluster(&self, plane: &Install, object: &Object<'t>) -> bool {
        let place = (&*plane.place.path, plane.place.span);
        self.inventory.file_clusters.may_apply(place, object)
    }
}

impl<'c, 't> NamespaceOf<'c, 't> {
    /// Returns the name; `None` if nothing sets it.
    pub(crate) fn written_name(self) -> Option<&'t str> {
        self.is_written.then_some(self.name)
    }

    /// Returns the line with the name if that is a placeholder, so that the namespace is unknown.
    pub(in crate::context) fn placeholder(self) -> Option<Label> {
        if !placeholder::contains(self.name) {
            return None;
        }
        let message = format!("fills in the namespace, `{}`", self.name);
        let own = self.object.metadata().and_then(|all| all.get("namespace"));
        match (
            own.filter(|_| self.object.namespace().is_some()),
            &self.object.destination,
        ) {
            (Some(node), _) => Some(self.object.placeholder_at(node.span(), &message)),
            (None, Some(destination)) => Some(Label {
                path: Arc::clone(&destination.path),
                span: destination.span,
                message: format!("another tool {message}"),
            }),
            (None, None) => None,
        }
    }

    /// Returns the key of the namespace. Objects with equal keys share their namespace with the same
    /// facts.
    pub(in crate::context) fn key(self) -> NamespaceKey {
        let place = (self.name, self.is_written);
        let location = self.object.location_file();
        let deployed_from = self
            .context
            .inventory
            .environments
            .deployed_from(self.object);
        NamespaceKey {
            deployed_from: deployed_from.map(file_key),
            ..self
                .context
                .fact_cache
                .namespace_key(self.object, location, place)
        }
    }

    /// Iterates over the facts of one kind in the namespace, as defined by [`NamespaceOf::contains`].
    pub fn facts(
        self,
        facts: &'c NamespaceIndex<'t, Object<'t>>,
    ) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let environments = &self.context.inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(self.object);
        facts
            .near(self.name, environments, self.object.location_file())
            .map(|(_, fact)| fact)
            .filter(move |fact| self.is_that_of(fact) && is_deployed_there(fact))
    }

    /// Iterates over the facts in the namespace that have a label selector which may select the pods of
    /// `workload`, the object of this namespace.
    pub(in crate::context) fn facts_selecting(
        self,
        facts: &'c NamespaceIndex<'t, Object<'t>>,
        workload: &'c Workload<'t>,
    ) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let environments = &self.context.inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(self.object);
        self.facts_selecting_at(facts, workload, self.object.location_file())
            .filter(move |fact| is_deployed_there(fact))
    }

    /// Iterates over the facts of [`NamespaceOf::facts_selecting`] as if the object were in the file or folder at
    /// `location`.
    pub(in crate::context) fn facts_selecting_at(
        self,
        facts: &'c NamespaceIndex<'t, Object<'t>>,
        workload: &'c Workload<'t>,
        location: &'c str,
    ) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let environments = &self.context.inventory.environments;
        let labels = (workload.template.labels(), Unselective::LeftOut);
        facts
            .near_selecting(self.name, labels, environments, location)
            .map(|(_, fact)| fact)
            .filter(move |fact| self.is_that_of(fact) && fact.may_share_cluster(self.object))
    }

    /// Returns whether a fact is in the namespace. If the object or the fact does not name its namespace,
    /// the folder of one must also contain the other.
    #[must_use]
    pub fn contains(self, fact: &Object<'t>) -> bool {
        let environments = &self.context.inventory.environments;
        self.is_that_of(fact)
            && environments.may_apply(fact.location_file(), self.object.location_file())
            && environments.deployed_may_apply(self.object)(fact)
    }

    /// Returns whether a fact is in the namespace, without a check of the environments.
    pub(in crate::context) fn is_that_of(self, fact: &Object<'t>) -> bool {
        let (name, is_written) = namespace_of(fact, self.context.settings);
        name == self.name
            && (is_written && self.is_written
                || are_related(fact.location_file(), self.object.location_file()))
    }
}
