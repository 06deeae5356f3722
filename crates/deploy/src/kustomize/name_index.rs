//! Index of the objects of a kustomization by current and former names. Without it, a kustomization that lists a patch
//! for each object would compare every patch with every object.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::kustomize::resource::Resource;

/// Up to this number, objects are compared one by one, without an index.
const FEW: usize = 32;

/// Positions of objects by name, and of objects that a patch has deleted.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// `None` for few objects.
    by_name: Option<HashMap<String, Vec<usize>>>,
    count: usize,
    deleted: BTreeSet<usize>,
}

impl NameIndex {
    /// Indexes objects by all names that they have or had.
    pub(crate) fn of(resources: &[Resource]) -> Self {
        let mut index = Self {
            by_name: (resources.len() > FEW).then(HashMap::new),
            count: resources.len(),
            deleted: BTreeSet::new(),
        };
        for (at, resource) in resources.iter().enumerate() {
            index.note(at, resource);
        }
        index
    }

    /// Adds the names of the object at a position, which may have been renamed.
    pub(crate) fn note(&mut self, at: usize, resource: &Resource) {
        let Some(by_name) = &mut self.by_name else {
            return;
        };
        let previous = resource.previous.iter().map(|name| name.name.as_str());
        for name in previous.chain([resource.name().name]) {
            let positions = by_name.entry_ref(name).or_default();
            if positions.last() != Some(&at) {
                positions.push(at);
            }
        }
    }

    /// Returns the positions of all objects that may have or have had a name, in order; of all objects if `name` is
    /// `None`.
    pub(crate) fn positions(&self, name: Option<&str>) -> Vec<usize> {
        let is_left = |at: &usize| !self.deleted.contains(at);
        match (&self.by_name, name) {
            (Some(by_name), Some(name)) => {
                let positions = by_name.get(name).into_iter().flatten().copied();
                let mut positions: Vec<usize> = positions.filter(is_left).collect();
                positions.sort_unstable();
                positions.dedup();
                positions
            }
            _ => (0..self.count).filter(is_left).collect(),
        }
    }

    /// Marks the object at a position as deleted; [`NameIndex::finish`] removes it.
    pub(crate) fn delete(&mut self, at: usize) {
        self.deleted.insert(at);
    }

    /// Removes the deleted objects.
    pub(crate) fn finish(self, resources: &mut Vec<Resource>) {
        if self.deleted.is_empty() {
            return;
        }
        let mut at = 0..;
        resources.retain(|_| at.next().is_none_or(|at| !self.deleted.contains(&at)));
    }
}
