//! Answers that are asked for again and again, each worked out once.
//!
//! Only what the files and the settings decide alone may stand in [`Memo`]: all worlds of a run share
//! it (`Context::supposing` and its like). [`Standings`] are those of one world.

use std::hash::Hash;
use std::ptr::from_ref;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::kube::{Object, Workload};
use crate::mesh::signs::Sign;
use crate::mesh::{Fact, Mesh};

use super::nearest_policies::{NearestPolicies, PolicyScope};
use super::redirect::Redirect;

/// The file that stands for an object, by the address of its path.
pub(super) type Home = usize;

/// Where an object stands: its home and the name of its namespace, by their addresses. Both live
/// as long as the facts; equal texts in two places only cost a second answer.
pub(super) type Spot = (Home, usize, usize);

/// The file of an object, the number of the name of its namespace, and whether that is written. Facts in a
/// namespace are the same for all objects of one.
pub(super) type Scope = (Home, usize, bool);

/// A pod template by its node, where it stands, and what renders it: kustomizations that take in one
/// document as it is share its nodes, and scopes may tell them apart.
pub(super) type Pod = (usize, u32, Spot, Home);

/// The answers so far.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub(super) meshes: Answers<Pod, Arc<Fact<Mesh>>>,
    pub(super) signs: Answers<Home, Option<Sign>>,
    pub(super) namespaces: Answers<Spot, Option<usize>>,
    /// The nearest object of each mesh in the namespace of an object.
    pub(super) objects_beside: Answers<Scope, Arc<[Sign]>>,
    /// The objects of a mesh beside Istio in the namespace of an object, by their places among all.
    pub(super) objects_of_mesh: Answers<(Scope, Mesh), Arc<[usize]>>,
    /// The nearest policy that shows that a namespace is part of the mesh, in words.
    pub(super) evidence: Answers<Scope, Option<Arc<str>>>,
    /// The `PeerAuthentication`s of a scope.
    pub(super) policies: Answers<(Scope, PolicyScope), Arc<NearestPolicies>>,
    namespace_numbers: Mutex<HashMap<String, usize>>,
    /// Control planes in scope, and what is said of the cluster, by their places in the context.
    pub(super) planes: Answers<Home, Arc<[usize]>>,
    pub(super) clusters: Answers<Home, Arc<[usize]>>,
}

impl Memo {
    /// Returns the scope of an object that goes to `namespace`.
    pub(super) fn scope(
        &self,
        object: &Object<'_>,
        (namespace, is_written): (&str, bool),
    ) -> Scope {
        let numbers = self.namespace_numbers.lock();
        let mut numbers = numbers.unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len();
        let number = *numbers.entry_ref(namespace).or_insert(next);
        (home(object.home()), number, is_written)
    }
}

/// The control planes that may serve a pod, by their places in the context: those that decide, and
/// all in scope; and what is said of the cluster.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) candidates: Vec<usize>,
    pub(super) scope: Arc<[usize]>,
    pub(super) cluster: Arc<[usize]>,
}

/// What is asked about a pod, for the facts of one world.
pub(super) type Standings = Answers<Pod, Arc<Standing>>;

/// What captures the ports of a pod, for the facts of one world.
pub(super) type Redirects = Answers<Pod, Arc<Redirect>>;

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
    pub(super) fn of(&self, key: K, work_out: impl FnOnce() -> V) -> V {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return known.clone();
        }
        drop(known);
        let answer = work_out();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, answer.clone());
        answer
    }
}

/// Returns the home at this path.
pub(super) fn home(path: &str) -> Home {
    from_ref(path).cast::<u8>().addr()
}

/// Returns the spot of an object that goes to `namespace`.
pub(super) fn spot(object: &Object<'_>, namespace: &str) -> Spot {
    let start = namespace.as_ptr().addr();
    (home(object.home()), start, namespace.len())
}

/// Returns what tells a workload from all others.
pub(super) fn pod(workload: &Workload<'_>, namespace: &str) -> Pod {
    let node = workload.template.node;
    let tree = from_ref(node.tree()).cast::<u8>().addr();
    let object = &workload.object;
    let rendered_by = object.rendered_by.unwrap_or_else(|| object.path());
    let spot = spot(object, namespace);
    (tree, node.id(), spot, home(rendered_by))
}
