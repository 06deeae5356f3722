//! Where the sources of Flux and Argo CD are, for the charts that install a mesh.

use crate::gitops::named_source::SourceName;
use crate::gitops::repositories::{Repositories, SourcePlace as Place};
use crate::kube::Object;
use crate::mesh::istio::install::{SourcePlace, SourcePlaces};
use crate::source::SourceSet;
use crate::yaml::NodeRef;

/// The repositories of a run.
#[derive(Debug)]
pub(super) struct RunRepositories<'r, 't> {
    pub(super) sources: &'r SourceSet,
    pub(super) repositories: &'r Repositories<'t>,
}

impl SourcePlaces for RunRepositories<'_, '_> {
    fn place(&self, object: &Object<'_>, source: NodeRef<'_>) -> SourcePlace {
        let git = source.get("git").and_then(NodeRef::text);
        let name = match git {
            _ if object.group() == "argoproj.io" => SourceName::of_argo(source),
            Some(url) => SourceName::Url(url),
            None => SourceName::of_reference(object, source.get("sourceRef")),
        };
        let place = self.repositories.place(self.sources, object, &name, false);
        match place {
            Place::Here => SourcePlace::Here,
            Place::InRun(root) => SourcePlace::Below(root),
            Place::Elsewhere { .. } => SourcePlace::Elsewhere,
        }
    }
}
