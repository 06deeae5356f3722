//! The charts of a run, and the charts that contain others in their folder `charts`.

use std::ffi::OsStr;
use std::path::Path;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::mesh::istio::install::has_only_istio_charts;
use meshprobe_predict::context::Context;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::NodeRef;

use super::chart_path::{charts, folder_of};

/// The charts of a run. Folders are as shown to the user.
#[derive(Debug, Default)]
pub(in crate::engine) struct ChartTree<'t> {
    /// The charts that can be installed, and the folders that contain them on disk.
    folders: HashMap<&'t Path, &'t str>,
    places: HashMap<&'t str, &'t Path>,
    libraries: HashSet<&'t str>,
    /// The `Chart.yaml` files of charts that run pods, or depend on charts that do.
    definitions: Vec<(&'t str, &'t SourceFile)>,
}

impl<'t> ChartTree<'t> {
    /// Reads the `Chart.yaml` files of a run.
    pub(in crate::engine) fn new(context: &Context<'t>) -> Self {
        let mut tree = Self::default();
        for chart in charts(context) {
            let folder = folder_of(chart);
            let Some(file) = context.sources.file(chart.path) else {
                continue;
            };
            let place = file.resolved_location().or(file.location.as_deref());
            let place = place.and_then(Path::parent);
            if let Some(place) = place {
                tree.places.insert(folder, place);
            }
            if chart.root.get("type").and_then(NodeRef::text) == Some("library") {
                tree.libraries.insert(folder);
                continue;
            }
            if let Some(place) = place {
                tree.folders.insert(place, folder);
            }
            // Without templates of its own, a chart that installs Istio is only read for facts.
            if chart.root.is_mapping() && !has_only_istio_charts(chart) {
                tree.definitions.push((folder, file));
            }
        }
        tree
    }

    /// Iterates over the folders and the `Chart.yaml` files of charts that can be installed, except those that only
    /// install Istio.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (&'t str, &'t SourceFile)> {
        self.definitions.iter().copied()
    }

    /// Returns the outermost chart that contains the chart in `folder` in its folder `charts`; `folder` if none does.
    /// helm renders a chart with all charts that it contains.
    pub(in crate::engine) fn outermost<'f>(&self, folder: &'f str) -> &'f str
    where
        't: 'f,
    {
        let place = self.places.get(folder).copied();
        place
            .into_iter()
            .flat_map(Path::ancestors)
            .filter(|inner| inner.file_name() == Some(OsStr::new("charts")))
            .filter_map(|inner| self.folders.get(inner.parent()?).copied())
            .last()
            .unwrap_or(folder)
    }

    /// Returns whether the chart in `folder` only contains definitions for other charts.
    pub(super) fn is_library(&self, folder: &str) -> bool {
        self.libraries.contains(folder)
    }
}
