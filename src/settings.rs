//! Resolved settings: plain data, after defaults, configuration file and flags are laid over
//! each other.

mod facts;
mod file;
mod ignore;
mod layer;
mod scope;
mod scope_set;
mod suggest;

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Severity;
pub use crate::mesh::istio::mtls::MtlsMode;
pub use crate::mesh::{Mesh, Version};

pub use facts::FACT_KEYS;
pub use file::{API_VERSION, KIND, Problem, read, schema};
pub use ignore::Ignore;
pub use layer::{Action, Emit, Layer};
pub use scope::Scope;
pub use scope_set::ScopeSet;
pub use suggest::{nearest, not_one_of};

/// The mesh to judge by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MeshKind {
    /// Decided from the tree, pod by pod.
    #[default]
    Auto,
    /// This one for every pod.
    One(Mesh),
    /// Istio; pods whose Namespace is not in the tree are taken for ambient ones.
    Ambient,
    /// No mesh at all.
    None,
}

/// What may be said of the mesh, as it is documented.
const MESHES: &[&str] = &[
    "auto", "istio", "ambient", "osm", "kuma", "consul", "linkerd", "app-mesh", "cilium", "none",
];

impl MeshKind {
    /// Reads `auto`, `none`, `ambient` or the name of a mesh.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut meshes = Mesh::ALL.into_iter();
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "ambient" => Ok(Self::Ambient),
            // As its own tools write it.
            "appmesh" => Ok(Self::One(Mesh::AppMesh)),
            _ => meshes
                .find(|mesh| mesh.as_str() == text)
                .map(Self::One)
                .ok_or_else(|| not_one_of("mesh", text, MESHES)),
        }
    }
}

/// What to take for granted where no Namespace of the tree decides about injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InjectionAssumption {
    /// Injected where the workload or its namespace shows signs of the mesh.
    #[default]
    Evidence,
    /// Injected.
    All,
    /// Not injected.
    None,
}

/// Facts given by `--assume` (fills a gap) or `--override` (wins over the tree).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `injection`.
    pub injection: Option<InjectionAssumption>,
    /// `mtls`: the mesh-wide mode.
    pub mtls: Option<MtlsMode>,
    /// `rewrite`: the mesh default of the probe rewrite.
    pub rewrite: Option<bool>,
    /// `revision`: names that a control plane answers to.
    pub revisions: Vec<String>,
    /// `root-namespace`.
    pub root_namespace: Option<String>,
    /// `status-port`: the port of the agent.
    pub status_port: Option<u16>,
    /// `native-sidecars`.
    pub native_sidecars: Option<bool>,
    /// `node-version`: the oldest release of Kubernetes among the nodes.
    pub node_version: Option<Version>,
    /// `cni`.
    pub cni: Option<bool>,
    /// `cni-enforces-node-traffic`: a NetworkPolicy holds for the node's own packets too.
    pub cni_enforces_node_traffic: Option<bool>,
    /// `ambient`.
    pub ambient: Option<bool>,
}

/// How a rewrite carries the prober env.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// In the annotation `proxy.istio.io/config`, with the opt-out.
    #[default]
    Annotation,
    /// In a partial `istio-proxy` container, with the opt-out.
    Container,
    /// In a partial `istio-proxy` container, without the opt-out: the injected pod equals the injected original.
    ContainerOnly,
}

impl Form {
    /// All forms, in the order in which they are documented.
    pub const ALL: [Self; 3] = [Self::Annotation, Self::Container, Self::ContainerOnly];

    /// Returns the name in settings and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Annotation => "annotation",
            Self::Container => "container",
            Self::ContainerOnly => "container-only",
        }
    }
}

/// When findings make the run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailOn {
    /// At this severity and above.
    Severity(Severity),
    /// Never.
    Never,
}

impl Default for FailOn {
    fn default() -> Self {
        Self::Severity(Severity::Warning)
    }
}

/// What configuration says about one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleLevel {
    /// Reported with this severity.
    Severity(Severity),
    /// Not reported.
    Ignore,
}

/// Everything the model needs to know beside the manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `--mesh`.
    pub mesh: MeshKind,
    /// `--mesh-version`.
    pub mesh_version: Option<Version>,
    /// `--assume`.
    pub assume: Facts,
    /// `--override`.
    pub overrides: Facts,
    /// `scopes`: facts that hold for some files only; later ones win.
    pub scopes: Vec<Scope>,
    /// `--namespace`: of objects that name none.
    pub namespace: Option<String>,
    /// `--form`.
    pub form: Form,
    /// `--preview`: rewrite what the webhook would rewrite itself, to be looked at.
    pub preview: bool,
    /// `--allow`: names of guards that may be passed.
    pub allow: BTreeSet<String>,
    /// `--fail-on`.
    pub fail_on: FailOn,
    /// Levels per rule id.
    pub rules: BTreeMap<String, RuleLevel>,
    /// `--select`: the rules to run; `None` for all. What keeps a file from being read is told
    /// all the same.
    pub select: Option<BTreeSet<String>>,
    /// `--min-severity`: findings below are left out.
    pub min_severity: Option<Severity>,
    /// `--require-rewritten`: what the mesh would rewrite is to be rewritten ahead.
    pub require_rewritten: bool,
    /// `ignore`: findings that the user has silenced.
    pub ignore: Vec<Ignore>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mesh_is_documented_and_read() {
        assert!(MESHES.iter().all(|text| MeshKind::read(text).is_ok()));
        let named = Mesh::ALL.map(Mesh::as_str);
        assert!(named.iter().all(|name| MESHES.contains(name)));
        assert!(MeshKind::read("Istio").is_err());
    }
}
