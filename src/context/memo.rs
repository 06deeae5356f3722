//! Answers that are asked for again and again, each worked out once.
//!
//! Only what the files and the settings decide alone may stand here: all worlds of a run share the
//! answers (`Context::supposing` and its like).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::ptr::from_ref;
use std::sync::{Mutex, PoisonError};

use crate::kube::{Object, Workload};
use crate::mesh::signs::Sign;
use crate::mesh::{Fact, Mesh};

/// Where an object stands: its home and the name of its namespace, by their addresses. Both live
/// as long as the facts; equal texts in two places only cost a second answer.
pub(super) type Spot = (usize, usize, usize);

/// A pod template by its node, and where it stands.
pub(super) type Pod = (usize, u32, Spot);

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub(super) meshes: Answers<Pod, Fact<Option<Mesh>>>,
    pub(super) signs: Answers<Spot, Vec<Sign>>,
    pub(super) namespaces: Answers<Spot, Option<usize>>,
    /// Control planes in scope, and what is said of the cluster, by their places in the context.
    pub(super) planes: Answers<String, Vec<usize>>,
    pub(super) clusters: Answers<String, Vec<usize>>,
}

/// The answers to one question.
#[derive(Debug)]
pub(super) struct Answers<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Answers<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, V: Clone> Answers<K, V> {
    /// Returns the answer, worked out where it is asked for the first time. Two threads may both
    /// do so: they come to the same.
    pub(super) fn of<Q>(&self, key: &Q, work_out: impl FnOnce() -> V) -> V
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(key) {
            return known.clone();
        }
        drop(known);
        let answer = work_out();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key.to_owned(), answer.clone());
        answer
    }
}

/// Returns the spot of an object that goes to `namespace`.
pub(super) fn spot(object: &Object<'_>, namespace: &str) -> Spot {
    let home = from_ref(object.home()).cast::<u8>().addr();
    let start = namespace.as_ptr().addr();
    (home, start, namespace.len())
}

/// Returns what tells a workload from all others.
pub(super) fn pod(workload: &Workload<'_>, namespace: &str) -> Pod {
    let node = workload.template.node;
    let tree = from_ref(node.tree()).cast::<u8>().addr();
    (tree, node.id(), spot(&workload.object, namespace))
}
