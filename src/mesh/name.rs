//! The meshes that are known by name.

/// A service mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mesh {
    /// Istio.
    Istio,
    /// Open Service Mesh.
    Osm,
    /// Kuma, and Kong Mesh on top of it.
    Kuma,
    /// Consul service mesh.
    Consul,
    /// Linkerd.
    Linkerd,
    /// AWS App Mesh.
    AppMesh,
    /// Cilium with mutual authentication.
    Cilium,
}

impl Mesh {
    /// All meshes; where two have equal claims on a pod the first one is taken.
    pub const ALL: [Self; 7] = [
        Self::Istio,
        Self::Osm,
        Self::Kuma,
        Self::Consul,
        Self::Linkerd,
        Self::AppMesh,
        Self::Cilium,
    ];

    /// Returns the word used in settings and in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Istio => "istio",
            Self::Osm => "osm",
            Self::Kuma => "kuma",
            Self::Consul => "consul",
            Self::Linkerd => "linkerd",
            Self::AppMesh => "app-mesh",
            Self::Cilium => "cilium",
        }
    }

    /// Returns the name for sentences.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Istio => "Istio",
            Self::Osm => "OSM",
            Self::Kuma => "Kuma",
            Self::Consul => "Consul",
            Self::Linkerd => "Linkerd",
            Self::AppMesh => "App Mesh",
            Self::Cilium => "Cilium",
        }
    }

    /// Returns the options that name the mesh and its release.
    #[must_use]
    pub const fn settle_release(self) -> &'static str {
        match self {
            Self::Istio => "--mesh-version 1.N",
            Self::Osm => "--mesh osm --mesh-version 1.N",
            Self::Kuma => "--mesh kuma --mesh-version 2.N",
            Self::Consul => "--mesh consul --mesh-version N.N",
            Self::Linkerd => "--mesh linkerd --mesh-version N.N",
            Self::AppMesh => "--mesh app-mesh --mesh-version N.N",
            Self::Cilium => "--mesh cilium --mesh-version N.N",
        }
    }
}
