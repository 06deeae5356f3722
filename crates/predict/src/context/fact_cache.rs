//! Caches of facts that are looked up often.
//!
//! [`FactCache`] contains only facts that depend on nothing but the files and the settings, because all
//! alternatives of a run share it (`Context::assuming` and similar functions).

use std::hash::Hash;
use std::ptr::from_ref;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh::detect::Evidence;
use meshprobe_mesh::mesh::istio::network_plugin::NetworkPlugin;
use meshprobe_mesh::mesh::{Fact, Mesh};

/// The file that decides where an object belongs, by the address of its path.
pub(super) type FileKey = usize;

/// The cluster of an object, by its address; 0 if it is not known. Equal clusters at two addresses only cost a second
/// entry.
pub(super) type ClusterKey = usize;

/// The home of an object, the environment from which it is deployed, and its cluster.
pub(super) type HomeKey = (FileKey, Option<FileKey>, ClusterKey);

/// The home of an object, the name of its namespace (address and length), and its cluster. They live as long as
/// the facts. Equal texts at two addresses only cost a second entry.
pub(super) type FileNamespaceKey = (FileKey, usize, usize, ClusterKey);

/// The key of the namespace of an object. All objects with one key share the facts of their namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::context) struct NamespaceKey {
    /// The home of the object.
    pub(super) home: FileKey,
    /// The number of the name.
    pub(super) number: usize,
    /// Whether the name is written.
    pub(super) is_written: bool,
    /// The environment from which the object is deployed.
    pub(super) deployed_from: Option<FileKey>,
    pub(super) cluster: ClusterKey,
}

/// A pod template: its node, its home and namespace, and the address of its rendering, or 0. Renderings
/// that include one document unchanged share its nodes, but may have different scopes.
pub(super) type PodKey = (usize, u32, FileNamespaceKey, usize);

/// The cached facts.
#[derive(Debug, Default)]
pub(super) struct FactCache {
    pub(super) meshes: Cache<PodKey, Arc<Fact<Mesh>>>,
    pub(super) signs: Cache<(FileKey, ClusterKey), Option<Evidence>>,
    pub(super) namespaces: Cache<(FileNamespaceKey, Option<FileKey>), Arc<[usize]>>,
    /// The nearest object of each mesh in the namespace of an object.
    pub(super) objects_in_namespace: Cache<NamespaceKey, Arc<[Evidence]>>,
    /// The objects of a mesh other than Istio in the namespace of an object, by position.
    pub(super) objects_of_mesh: Cache<(NamespaceKey, Mesh), Arc<[usize]>>,
    /// The nearest policy that shows that a namespace is part of the mesh.
    pub(super) evidence: Cache<NamespaceKey, Option<Arc<Label>>>,
    namespace_numbers: Mutex<HashMap<String, usize>>,
    /// Control planes in scope, and facts about the cluster, by position in the context.
    pub(super) planes: Cache<HomeKey, Arc<[usize]>>,
    pub(super) clusters: Cache<HomeKey, Arc<[usize]>>,
    /// The network plugin that the objects of the tree state.
    pub(super) network_plugins: Cache<HomeKey, Option<Fact<NetworkPlugin>>>,
}

impl FactCache {
    /// Returns the key of `namespace` for objects in the cluster of `object` whose location is the file or folder at
    /// `location`.
    pub(super) fn namespace_key(
        &self,
        object: &Object<'_>,
        location: &str,
        (namespace, is_written): (&str, bool),
    ) -> NamespaceKey {
        let numbers = self.namespace_numbers.lock();
        let mut numbers = numbers.unwrap_or_else(PoisonError::into_inner);
        let next = numbers.len();
        let number = *numbers.entry_ref(namespace).or_insert(next);
        NamespaceKey {
            home: file_key(location),
            number,
            is_written,
            deployed_from: None,
            cluster: cluster_key(object),
        }
    }
}

/// A cache of values by key.
#[derive(Debug)]
pub(super) struct Cache<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// Returns the value of `key`, computed at the first lookup. Two threads may both compute it, with
    /// the same result.
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

/// Returns the key of a path.
pub(super) fn file_key(path: &str) -> FileKey {
    from_ref(path).cast::<u8>().addr()
}

/// Returns the key of the cluster of an object.
pub(super) fn cluster_key(object: &Object<'_>) -> ClusterKey {
    let cluster = object.cluster.as_ref();
    cluster.map_or(0, |cluster| Arc::as_ptr(cluster).addr())
}

/// Returns the key of an object in `namespace`.
pub(super) fn file_namespace_key(object: &Object<'_>, namespace: &str) -> FileNamespaceKey {
    let start = namespace.as_ptr().addr();
    let cluster = cluster_key(object);
    (
        file_key(object.location_file()),
        start,
        namespace.len(),
        cluster,
    )
}

/// Returns the unique key of a workload in `namespace`.
pub(super) fn pod_key(workload: &Workload<'_>, namespace: &str) -> PodKey {
    let node = workload.template.node;
    let tree = from_ref(node.tree()).cast::<u8>().addr();
    let object = &workload.object;
    let rendered_by = object
        .rendered_by
        .map_or(0, |rendering| from_ref(rendering).addr());
    let namespace_key = file_namespace_key(object, namespace);
    (tree, node.id(), namespace_key, rendered_by)
}
