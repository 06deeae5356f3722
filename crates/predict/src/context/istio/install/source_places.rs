//! Where the sources of Flux and Argo CD are, for the charts that install a mesh.

use meshprobe_deploy::gitops::configs::ConfigReference;
use meshprobe_deploy::gitops::named_source::SourceName;
use meshprobe_deploy::gitops::repositories::SourcePlace as Place;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::install::{ConfigValue, SourcePlace, SourcePlaces};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::NodeRef;

use crate::context::inventory::Inventory;

/// The repositories of a run.
#[derive(Debug)]
pub(super) struct RunRepositories<'r, 't> {
    pub(super) sources: &'r SourceSet,
    pub(super) inventory: &'r Inventory<'t>,
}

impl SourcePlaces for RunRepositories<'_, '_> {
    fn place(&self, object: &Object<'_>, source: NodeRef<'_>) -> SourcePlace {
        let git = source.get("git").and_then(NodeRef::text);
        let name = match git {
            _ if object.group() == "argoproj.io" => SourceName::of_argo(source),
            Some(url) => SourceName::Url(url),
            None => SourceName::of_reference(object, source.get("sourceRef")),
        };
        let repositories = &self.inventory.repositories;
        let place = repositories.place(self.sources, object, &name, false);
        match place {
            Place::Here => SourcePlace::Here,
            Place::InRun(root) => SourcePlace::Below(root),
            Place::Elsewhere { .. } => SourcePlace::Elsewhere,
        }
    }

    fn config_value(
        &self,
        object: &Object<'_>,
        (kind, name): (&str, &str),
        key: &str,
    ) -> Result<Option<ConfigValue>, String> {
        let namespace = object.deployed_namespace();
        let wanted = ConfigReference {
            kind,
            name,
            namespace,
        };
        self.inventory
            .config_value(self.sources, (wanted, key), object)
    }

    fn joined(&self, folder: &str, entry: &str) -> String {
        self.sources.joined(folder, entry)
    }
}
