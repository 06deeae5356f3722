//! Plans and verifies edits.

use super::plan::plan;
use super::verify_edits::{verify_as_written, verify_edits};
use crate::change::Change;
use crate::text_edit::{Edit, EditError};
use crate::tree::Tree;

/// Plans the edits of a document of a file as [`plan`] does, and verifies them with [`verify_edits`].
///
/// # Errors
/// As [`plan`] and [`verify_edits`].
pub fn apply(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    verify_edits(tree, changes, &edits)?;
    Ok(edits)
}

/// Plans and verifies edits as [`apply`] does, for YAML text within a value. Unlike for a file without a final line
/// break, kubectl does not add one to such a text.
///
/// # Errors
/// As [`apply`].
pub fn apply_embedded(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    verify_as_written(tree, changes, &edits)?;
    Ok(edits)
}
