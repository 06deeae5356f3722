//! The sources that objects of Flux and Argo CD deploy folders from.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::NodeRef;

/// How an object names the repository of a folder.
#[derive(Clone, Copy, Debug)]
pub enum SourceName<'t> {
    /// `sourceRef` of an object of Flux.
    Flux {
        kind: &'t str,
        name: &'t str,
        namespace: Option<&'t str>,
    },
    /// `repoURL` of Argo CD.
    Url(&'t str),
}

/// A source of a deploying object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedSource<'t> {
    /// The settings: the `spec` of a Flux Kustomization, or a source of an Application.
    pub(crate) node: NodeRef<'t>,
    pub(crate) name: SourceName<'t>,
}

impl<'t> SourceName<'t> {
    /// Reads the `sourceRef` of `object`.
    pub fn of_reference(object: &Object<'t>, reference: Option<NodeRef<'t>>) -> Self {
        let text = |key: &str| reference?.get(key).and_then(NodeRef::text);
        Self::Flux {
            kind: text("kind").unwrap_or("GitRepository"),
            name: text("name").unwrap_or_default(),
            namespace: text("namespace").or_else(|| object.namespace()),
        }
    }

    /// Reads the `repoURL` of a source of Argo CD.
    pub fn of_argo(source: NodeRef<'t>) -> Self {
        let url = source.get("repoURL").and_then(NodeRef::text);
        Self::Url(url.unwrap_or_default())
    }

    /// Returns the text that names it.
    pub(super) const fn text(&self) -> &'t str {
        match self {
            Self::Flux { name, .. } => name,
            Self::Url(url) => url,
        }
    }

    /// Returns whether it may be a Git repository.
    pub(super) fn may_be_git(&self) -> bool {
        match self {
            Self::Flux { kind, .. } => *kind == "GitRepository",
            Self::Url(url) => !url.starts_with("oci://"),
        }
    }
}

impl<'t> NamedSource<'t> {
    /// Returns the path of the folder, if the source has one.
    pub(crate) fn path(&self) -> Option<NodeRef<'t>> {
        self.node.get("path")
    }
}

/// Returns the sources of a Flux Kustomization, or of an Application.
pub(crate) fn named_sources<'t>(object: &Object<'t>) -> Vec<NamedSource<'t>> {
    // Most objects are of other kinds.
    if !matches!(object.kind, "Kustomization" | "Application") {
        return Vec::new();
    }
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    match (object.group(), object.kind) {
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => vec![NamedSource {
            node: spec,
            name: SourceName::of_reference(object, spec.get("sourceRef")),
        }],
        ("argoproj.io", "Application") => argo_sources(spec)
            .map(|node| NamedSource {
                node,
                name: SourceName::of_argo(node),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Iterates over the sources in the `spec` of an Application. Argo CD renders the dry source of a hydrator, and commits
/// the result to the branch that it deploys.
pub(super) fn argo_sources<'t>(spec: NodeRef<'t>) -> impl Iterator<Item = NodeRef<'t>> {
    let several = spec
        .get("sources")
        .into_iter()
        .flat_map(|list| list.items());
    let hydrator = spec.get("sourceHydrator");
    let dry = hydrator.and_then(|hydrator| hydrator.get("drySource"));
    spec.get("source").into_iter().chain(several).chain(dry)
}
