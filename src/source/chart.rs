//! Helm charts, as far as their files can be told from manifests.

use std::ffi::OsStr;
use std::path::Path;

/// Tells whether a file lies below the `templates` folder of a chart, whose `Chart.yaml` lies
/// beside that folder.
pub(super) fn is_in_chart(path: &Path) -> bool {
    path.ancestors()
        .skip(1)
        .filter(|above| above.file_name() == Some(OsStr::new("templates")))
        .filter_map(Path::parent)
        .any(|chart| chart.join("Chart.yaml").is_file())
}
