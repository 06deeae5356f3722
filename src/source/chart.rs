//! Recognition of files of Helm charts.

use std::ffi::OsStr;
use std::path::Path;

/// Returns whether a file is below the `templates` folder of a chart, whose `Chart.yaml` is next to
/// that folder.
pub(super) fn is_in_chart(path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|above| above.file_name() == Some(OsStr::new("templates")))
        .filter_map(Path::parent)
        .any(|chart| chart.join("Chart.yaml").is_file())
}
