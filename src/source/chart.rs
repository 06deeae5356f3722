//! Recognition of files of Helm charts.

use std::ffi::OsStr;
use std::path::Path;

/// The name of the output of `helm template`, which is displayed in the folder of its chart.
pub const HELM_OUTPUT: &str = "(helm template)";

/// The start of the names of all outputs of `helm template`.
pub(in crate::source) const HELM_OUTPUT_PREFIX: &str = "(helm template";

/// Returns the name of the output of `helm template` for a release.
#[must_use]
pub fn helm_output_of(release: &str) -> String {
    format!("{HELM_OUTPUT_PREFIX} {release})")
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

/// Returns whether a file is below the `templates` folder of a chart, whose `Chart.yaml` is next to
/// that folder.
pub(super) fn is_in_chart(path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|above| above.file_name() == Some(OsStr::new("templates")))
        .filter_map(Path::parent)
        .any(|chart| chart.join("Chart.yaml").is_file())
}

#[cfg(test)]
mod tests {
    use super::chart_folder;

    #[test]
    fn the_chart_directory_is_derived_from_the_path() {
        assert_eq!(
            chart_folder("charts/web/templates/a.yaml"),
            Some("charts/web")
        );
        assert_eq!(chart_folder("templates/a.yaml"), Some("."));
        assert_eq!(chart_folder("a.yaml"), None);
    }
}
