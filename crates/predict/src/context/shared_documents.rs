//! The documents that several overlays or clusters deploy.

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::Object;

/// A document: the path of its file and its number.
type Key<'t> = (&'t str, usize);

/// The documents of which several overlays or clusters deploy objects, changed or not.
#[derive(Debug, Default)]
pub(super) struct SharedDocuments<'t>(HashSet<Key<'t>>);

impl<'t> SharedDocuments<'t> {
    /// Collects the documents of objects that are assigned to overlays.
    pub(super) fn of<'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self
    where
        't: 'a,
    {
        let mut first: HashMap<Key<'t>, &'a str> = HashMap::new();
        let mut shared = HashSet::new();
        for object in objects {
            let Some(overlay) = &object.overlay else {
                continue;
            };
            let key = (&*object.document.path, object.document.index);
            if **first.entry(key).or_insert(&**overlay) != **overlay {
                shared.insert(key);
            }
        }
        Self(shared)
    }

    /// Returns whether several overlays or clusters deploy objects of a document.
    pub(super) fn contains(&self, path: &str, document: usize) -> bool {
        self.0.contains(&(path, document))
    }
}
