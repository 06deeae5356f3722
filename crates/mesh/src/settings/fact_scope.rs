//! Which pods read a fact.

use crate::mesh::Mesh;

use super::MeshKind;

/// The pods that read a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactScope {
    /// Pods of every mesh.
    AnyPod,
    /// Pods with a sidecar of any mesh.
    Sidecar,
    /// Pods of Istio, whether they are injected or not.
    PodOfIstio,
    /// Pods that are in Istio's mesh.
    SidecarOfIstio,
    /// Pods that are in this mesh, whose release is stated.
    Release(Mesh),
}

impl FactScope {
    /// Returns the scope of a key of `--assume`, or of `mesh-version`, for a value of `--mesh`.
    #[must_use]
    pub fn of(key: &str, kind: MeshKind) -> Self {
        match key {
            "injection" | "node-version" => Self::AnyPod,
            "native-sidecars" => Self::Sidecar,
            "ambient" | "dataplane" | "revision" => Self::PodOfIstio,
            "mesh-version" => Self::Release(match kind {
                MeshKind::One(mesh) => mesh,
                _ => Mesh::ISTIO,
            }),
            _ => Self::SidecarOfIstio,
        }
    }

    /// Returns whether pods can read the fact if an option or the configuration sets the mesh.
    #[must_use]
    pub fn is_read_by(self, kind: MeshKind) -> bool {
        match kind {
            MeshKind::None => self == Self::AnyPod,
            MeshKind::One(mesh) if mesh != Mesh::ISTIO => {
                !matches!(self, Self::PodOfIstio | Self::SidecarOfIstio)
            }
            MeshKind::One(_) | MeshKind::Ambient | MeshKind::Auto => true,
        }
    }
}
