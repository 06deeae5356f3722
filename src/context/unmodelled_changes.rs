//! Changes by kustomizations that meshprobe does not model.

use hashbrown::HashMap;

use crate::kube::{Object, ObjectId, ObjectKey};
use crate::kustomize::{Note, Rendering};

/// Changes that are not modelled, by kustomization and object.
#[derive(Debug, Default)]
pub(in crate::context) struct HiddenChanges<'t> {
    pub(in crate::context) changes: Notes<'t>,
    pub(in crate::context) copies: Notes<'t>,
}

type Notes<'t> = HashMap<Key<'t>, Vec<&'t Note>>;

/// The kustomization and the object that it renders.
type Key<'t> = (&'t str, ObjectKey<'t>);

impl<'t> HiddenChanges<'t> {
    pub(super) fn new(renderings: &'t [Rendering]) -> Self {
        Self {
            changes: by_object(renderings, |note| &note.changed),
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

pub(in crate::context) fn notes_of<'a, 't>(
    notes: &'a Notes<'t>,
    object: &'a Object<'t>,
) -> &'a [&'t Note] {
    let found = object
        .rendered_by
        .and_then(|root| notes.get(&(&**root, object.key())));
    found.map(Vec::as_slice).unwrap_or_default()
}
