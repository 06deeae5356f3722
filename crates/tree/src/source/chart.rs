//! Recognition of files of Helm charts.

use std::ffi::OsStr;
use std::path::Path;

use crate::filesystem::FileSystem;

/// The name of the output of `helm template`, which is displayed in the folder of its chart.
pub const HELM_OUTPUT: &str = "(helm template)";

/// The end of the reason why a chart is not rendered if helm is not installed.
pub const HELM_NOT_FOUND: &str = "`helm` is not on the PATH";

/// The start of the names of all outputs of `helm template`.
pub(in crate::source) const HELM_OUTPUT_PREFIX: &str = "(helm template";

/// Returns the name of the output of `helm template` for a release.
#[must_use]
pub fn helm_output_of(release: &str) -> String {
    format!("{HELM_OUTPUT_PREFIX} {release})")
}

/// Returns the folder of the chart of an output of `helm template`, as displayed; `None` for another file.
#[must_use]
pub fn chart_of_output(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    name.starts_with(HELM_OUTPUT_PREFIX).then_some(folder)
}

/// Returns the start of the path of an output of `helm template`, which is the same for all outputs of a release: they only
/// differ in a number.
#[must_use]
pub fn release_of_output(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(0, |(folder, _)| folder.len());
    let number = path.get(name..).and_then(|name| name.find(", "));
    let end = number.map_or_else(|| path.trim_end_matches(')').len(), |at| name + at);
    path.get(..end).unwrap_or(path)
}

/// Returns the folder of the chart of a template, as displayed; `None` if the path does not contain it.
#[must_use]
pub fn chart_folder(path: &str) -> Option<&str> {
    match path.find("/templates/").and_then(|at| path.get(..at)) {
        Some(chart) => Some(chart),
        None if path.starts_with("templates/") => Some("."),
        None => None,
    }
}

impl FileSystem {
    /// Returns whether a file is below the `templates` folder of a chart, whose `Chart.yaml` is next to that folder.
    pub(in crate::source) fn is_in_chart(&self, path: &Path) -> bool {
        path.ancestors()
            .skip(1)
            .filter(|above| above.file_name() == Some(OsStr::new("templates")))
            .filter_map(Path::parent)
            .any(|chart| self.is_file(&chart.join("Chart.yaml")))
    }
}

#[cfg(test)]
mod tests {
    use super::{chart_folder, chart_of_output, release_of_output};

    #[test]
    fn the_chart_directory_is_derived_from_the_path() {
        assert_eq!(
            chart_folder("charts/web/templates/a.yaml"),
            Some("charts/web")
        );
        assert_eq!(chart_folder("templates/a.yaml"), Some("."));
        assert_eq!(chart_folder("a.yaml"), None);
    }

    #[test]
    fn outputs_are_displayed_in_the_folder_of_their_chart() {
        let output = "charts/web/(helm template web, 2)";
        assert_eq!(chart_of_output(output), Some("charts/web"));
        let of_release = "charts/web/(helm template web";
        assert_eq!(release_of_output(output), of_release);
        assert_eq!(release_of_output(&format!("{of_release})")), of_release);
        assert_eq!(release_of_output("(helm template)"), "(helm template");
        assert_eq!(chart_of_output("(helm template)"), Some("."));
        assert_eq!(chart_of_output("charts/web/templates/a.yaml"), None);
    }
}
