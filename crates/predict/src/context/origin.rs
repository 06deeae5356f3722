//! Where an object comes from: its file, and the kustomization that renders it.

use meshprobe_deploy::kustomize::Note;
use meshprobe_mesh::kube::Object;

use crate::context::run_context::Context;
use crate::context::unmodelled_changes::notes_of;

/// The origin of an object.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'c, 't> {
    context: &'c Context<'t>,
    object: &'c Object<'t>,
}

impl<'t> Context<'t> {
    /// Returns the origin of an object.
    #[must_use]
    pub const fn origin_of<'c>(&'c self, object: &'c Object<'t>) -> Origin<'c, 't> {
        Origin {
            context: self,
            object,
        }
    }
}

impl<'c, 't> Origin<'c, 't> {
    /// Returns whether findings about the object are reported: the user gave its file, or a file that deploys it.
    #[must_use]
    pub fn is_target(self) -> bool {
        let context = self.context;
        context
            .inventory
            .reported
            .object(context.sources, self.object)
    }

    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may affect the verdicts of its probes.
    #[must_use]
    pub fn hidden_changes(self) -> &'c [&'t Note] {
        notes_of(&self.context.hidden.changes, self.object)
    }

    /// Returns the changes that the kustomization of `object` makes, that are not modelled and that
    /// may copy a value which a rewrite changes from `object` to another object.
    #[must_use]
    pub fn hidden_copies(self) -> &'c [&'t Note] {
        notes_of(&self.context.hidden.copies, self.object)
    }
}
