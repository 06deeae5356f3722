//! What kustomizations do to pods that is not modelled.

use hashbrown::HashMap;

use crate::kube::{Object, ObjectId, ObjectKey};

use super::Context;
use super::render::{Note, Rendering};

/// What is not seen, by kustomization and object.
#[derive(Debug, Default)]
pub(super) struct HiddenChanges<'t> {
    changes: Notes<'t>,
    copies: Notes<'t>,
}

type Notes<'t> = HashMap<Key<'t>, Vec<&'t Note>>;

/// The file that renders, and the object that is rendered.
type Key<'t> = (&'t str, ObjectKey<'t>);

impl<'t> HiddenChanges<'t> {
    pub(super) fn new(renderings: &'t [Rendering]) -> Self {
        Self {
            changes: by_object(renderings, |note| &note.touched),
            copies: by_object(renderings, |note| &note.copied),
        }
    }
}

fn by_object<'t>(renderings: &'t [Rendering], objects: fn(&Note) -> &Vec<ObjectId>) -> Notes<'t> {
    let mut all = Notes::new();
    for rendering in renderings {
        for note in &rendering.notes {
            for id in objects(note) {
                let found = all.entry((&*rendering.root, id.key())).or_default();
                if !found.contains(&note) {
                    found.push(note);
                }
            }
        }
    }
    all
}

fn notes_of<'a, 't>(notes: &'a Notes<'t>, object: &'a Object<'t>) -> &'a [&'t Note] {
    let found = object
        .rendered_by
        .and_then(|root| notes.get(&(&**root, object.key())));
    found.map(Vec::as_slice).unwrap_or_default()
}

impl<'t> Context<'t> {
    /// Returns what the kustomization that renders `object` does and is not modelled, as far as it
    /// may change how the probes of the object are judged.
    #[must_use]
    pub fn hidden_changes<'a>(&'a self, object: &'a Object<'t>) -> &'a [&'t Note] {
        notes_of(&self.hidden.changes, object)
    }

    /// Returns what the kustomization that renders `object` does and is not modelled, as far as it may
    /// copy what a rewrite of the object changes into another object.
    #[must_use]
    pub fn hidden_copies<'a>(&'a self, object: &'a Object<'t>) -> &'a [&'t Note] {
        notes_of(&self.hidden.copies, object)
    }
}
