//! Changes by kustomizations that meshprobe does not model.

use hashbrown::HashMap;
use meshprobe_deploy::kustomize::{Note, Rendering};
use meshprobe_mesh::kube::{Object, ObjectId, ObjectKey, RenderingId};

/// Changes that are not modelled, by rendering and object.
#[derive(Debug, Default)]
pub(in crate::context) struct HiddenChanges<'t> {
    pub(in crate::context) changes: Notes<'t>,
    pub(in crate::context) copies: Notes<'t>,
}

type Notes<'t> = HashMap<Key<'t>, Vec<&'t Note>>;

/// The rendering and an object of it.
type Key<'t> = (&'t RenderingId, ObjectKey<'t>);

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
                let found = all.entry((&rendering.id, id.key())).or_default();
                // A list may contain an object twice.
                if !found.last().is_some_and(|last| std::ptr::eq(*last, note)) {
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
        .and_then(|rendering| notes.get(&(rendering, object.key())));
    found.map(Vec::as_slice).unwrap_or_default()
}
