//! What kustomizations do to pods that is not modelled.

use hashbrown::HashMap;

use crate::kube::Object;

use super::Context;
use super::render::{Note, Rendering};

/// What is not seen, by kustomization and document.
#[derive(Debug, Default)]
pub(super) struct HiddenChanges<'t>(HashMap<Key<'t>, Vec<&'t Note>>);

/// The file that renders, and the document that is rendered.
type Key<'t> = (&'t str, &'t str, usize);

impl<'t> HiddenChanges<'t> {
    pub(super) fn new(renderings: &'t [Rendering]) -> Self {
        let mut all: HashMap<Key<'t>, Vec<&'t Note>> = HashMap::new();
        for rendering in renderings {
            for note in &rendering.notes {
                for (path, index) in &note.touched {
                    let found = all.entry((&rendering.root, path, *index)).or_default();
                    if !found.contains(&note) {
                        found.push(note);
                    }
                }
            }
        }
        Self(all)
    }
}

impl<'t> Context<'t> {
    /// Returns what the kustomization that renders `object` does and is not modelled, as far as it
    /// may change how the probes of the object are judged.
    #[must_use]
    pub fn hidden_changes(&self, object: &Object<'t>) -> &[&'t Note] {
        let found = object.rendered_by.and_then(|root| {
            let key = (&**root, &**object.path(), object.document.index);
            self.hidden.0.get(&key)
        });
        found.map(Vec::as_slice).unwrap_or_default()
    }
}
