//! All diagnostics of an analysis.

use super::by_file::ByFile;
use super::{causes, findings};
use crate::lsp::analysis::Analysis;

/// Returns the diagnostics of all files, at the probes and at the lines that cause the findings.
pub(in crate::lsp) fn of_analysis(analysis: &Analysis<'_, '_>) -> ByFile {
    let mut found = ByFile::new();
    findings::add(analysis, &mut found);
    causes::add(analysis, &mut found);
    found
}
