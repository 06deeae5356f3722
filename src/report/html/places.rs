//! The places and the lines that a report shows.

use meshprobe_mesh::finding::Label;
use meshprobe_tree::source::SourceSet;

use crate::report::report_root::ReportRoot;
use crate::report::source_location::{line_region, source_location, source_path};

/// The maximum number of characters of a line that is shown.
const LONGEST_LINE: usize = 160;

/// The files of a report, and the folder that their paths are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// All files.
    pub(super) set: &'a SourceSet,
    /// The folder; `None` for the working directory.
    pub(super) root: Option<&'a ReportRoot>,
}

impl Places<'_> {
    /// Returns the path of the source file of a label, and the line if it is known.
    pub(super) fn place(&self, label: &Label) -> String {
        let path = source_path(self.set, label);
        let path = self
            .root
            .map_or_else(|| path.to_string(), |root| root.path(self.set, &path));
        match line_region(self.set, label) {
            Some(region) => format!("{path}:{}", region.line),
            None => path,
        }
    }

    /// Returns the line of a label without indentation; a long one is cut. `None` if the file has no text.
    pub(super) fn line(&self, label: &Label) -> Option<String> {
        let location = source_location(self.set, label);
        let number = location.place?.start.line;
        let file = self.set.file(&location.path)?;
        let span = file.lines().line(&file.text, number)?;
        let line = file.text.get(span.start..span.end)?.trim();
        let mut shown: String = line.chars().take(LONGEST_LINE).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        (!shown.is_empty()).then_some(shown)
    }
}
