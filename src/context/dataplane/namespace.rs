//! Finds the namespace of an object and its Namespace manifest.

use std::sync::Arc;

use crate::context::fact_cache::file_namespace_key;
use crate::context::nearest::{are_related, nearest};
use crate::context::object_namespace::namespace_of;
use crate::context::run_context::Context;
use crate::finding::Label;
use crate::kube::Object;
use crate::source::placeholder;

impl<'t> Context<'t> {
    /// Returns the namespace of an object and whether it is written.
    #[must_use]
    pub fn namespace_of(&self, object: &Object<'t>) -> (&'t str, bool) {
        namespace_of(object, self.settings)
    }

    /// Returns the line with the namespace of an object if that is a placeholder, so that the
    /// namespace is unknown.
    pub(in crate::context) fn open_namespace(&self, object: &Object<'t>) -> Option<Label> {
        let (namespace, _) = self.namespace_of(object);
        if !placeholder::contains(namespace) {
            return None;
        }
        let message = format!("the namespace is `{namespace}`, which another tool fills in");
        let own = object.metadata().and_then(|all| all.get("namespace"));
        match (
            own.filter(|_| object.namespace().is_some()),
            &object.destination,
        ) {
            (Some(node), _) => Some(object.label_at(node.span(), message)),
            (None, Some(destination)) => Some(Label {
                path: Arc::clone(&destination.path),
                span: destination.span,
                message,
            }),
            (None, None) => None,
        }
    }

    /// Returns the Namespace manifest that is nearest to the object.
    #[must_use]
    pub fn namespace_object(&self, object: &Object<'t>) -> Option<&Object<'t>> {
        let (name, written) = self.namespace_of(object);
        let all = &self.inventory.namespaces;
        let home = object.location_file();
        let work_out = || {
            let joined: Vec<(usize, &Object<'t>)> = all
                .near(name, &self.inventory.environments, home)
                .filter(|(_, candidate)| written || are_related(candidate.location_file(), home))
                .collect();
            // The first of several equally near Namespaces is used.
            let found = nearest(joined.iter().map(|(_, namespace)| *namespace), home);
            let mut joined = joined.into_iter();
            let first = found.first()?;
            let (index, _) = joined.find(|(_, namespace)| std::ptr::eq(*namespace, *first))?;
            Some(index)
        };
        let found = self
            .fact_cache
            .namespaces
            .of(file_namespace_key(object, name), work_out)?;
        all.get(found)
    }
}
