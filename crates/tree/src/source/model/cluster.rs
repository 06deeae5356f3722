//! The cluster to which Flux or Argo CD deploys a manifest.

use std::sync::Arc;

/// The URL that Argo CD uses for its own cluster.
/// Source: Argo CD, `pkg/apis/application/v1alpha1/types.go` (`KubernetesInternalAPIServerAddr`).
pub const ARGO_SERVER: &str = "https://kubernetes.default.svc";

/// The cluster to which an object of Flux or Argo CD deploys, as far as the object identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cluster {
    /// `spec.destination` of an Application, which contains the URL or the name of a cluster.
    Argo {
        /// The URL of the API server, without `/` at its end.
        server: Option<String>,
        /// The name.
        name: Option<String>,
    },
    /// `spec.kubeConfig` of an object of Flux.
    Flux {
        /// The Secret or ConfigMap with the connection; `None` for the cluster of Flux itself.
        config: Option<String>,
    },
    /// That of Argo CD or Flux in which a file is applied, next to files for other clusters.
    Root(Arc<str>),
}

impl Cluster {
    /// Returns whether it is the cluster in which Flux or Argo CD runs.
    #[must_use]
    pub fn is_own(&self) -> bool {
        match self {
            Self::Argo { server, .. } => server.as_deref() == Some(ARGO_SERVER),
            Self::Flux { config } => config.is_none(),
            Self::Root(_) => true,
        }
    }

    /// Returns whether both are known to be different clusters. A URL and a name may identify the same cluster.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| {
            one.is_some() && other.is_some() && one != other
        };
        match (self, other) {
            (
                Self::Argo { server, name },
                Self::Argo {
                    server: other_server,
                    name: other_name,
                },
            ) => differ(server, other_server) || differ(name, other_name),
            (Self::Flux { config }, Self::Flux { config: other }) => config != other,
            (Self::Root(file), Self::Root(other)) => file != other,
            (Self::Root(_), other) | (other, Self::Root(_)) => !other.is_own(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_not_a_remote_cluster() {
        let root = Cluster::Root("bootstrap/eu1.yaml".into());
        let argo = |server: Option<&str>, name: Option<&str>| Cluster::Argo {
            server: server.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        let flux = |config: Option<&str>| Cluster::Flux {
            config: config.map(str::to_owned),
        };
        for (other, differs) in [
            (argo(Some("https://remote"), None), true),
            (argo(Some(ARGO_SERVER), None), false),
            (argo(None, Some("remote")), true),
            (flux(Some("remote")), true),
            (flux(None), false),
            (Cluster::Root("bootstrap/us1.yaml".into()), true),
        ] {
            assert_eq!(root.differs_from(&other), differs, "{other:?}");
            assert_eq!(other.differs_from(&root), differs, "{other:?}");
        }
    }
}
