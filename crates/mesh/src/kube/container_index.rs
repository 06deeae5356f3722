//! Index of the names that the containers of a pod declare.

use hashbrown::{HashMap, HashSet};

use crate::kube::container::Container;

/// Index of the names that the containers of one pod declare. Owns its strings, so that views of pods stay covariant.
#[derive(Clone, Debug, Default)]
pub struct ContainerIndex {
    /// Number of containers by name.
    containers: HashMap<Box<str>, usize>,
    /// Names of ports for which the first declaration in a container has a number.
    ports: HashSet<Box<str>>,
}

impl ContainerIndex {
    /// Collects the names of containers and of their ports.
    pub(super) fn of(containers: &[Container<'_>]) -> Self {
        let mut index = Self::default();
        for container in containers {
            *index.containers.entry(container.name().into()).or_default() += 1;
            // The kubelet uses the first declaration of a name in a container.
            let mut declared: HashMap<&str, Option<i64>> = HashMap::new();
            for port in container.ports() {
                if let Some(name) = port.name {
                    declared.entry(name).or_insert(port.number);
                }
            }
            let numbered = declared.into_iter().filter(|(_, number)| number.is_some());
            index.ports.extend(numbered.map(|(name, _)| name.into()));
        }
        index
    }

    /// Returns whether several containers of the pod have this name.
    #[must_use]
    pub fn is_shared_name(&self, name: &str) -> bool {
        self.containers.get(name).is_some_and(|&count| count > 1)
    }

    /// Returns whether a container of the pod has this name.
    #[must_use]
    pub fn has_container(&self, name: &str) -> bool {
        self.containers.contains_key(name)
    }

    /// Returns whether a container declares a port of this name with a number.
    #[must_use]
    pub fn declares_port(&self, name: &str) -> bool {
        self.ports.contains(name)
    }
}
