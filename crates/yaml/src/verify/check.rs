//! Verifies an edit: the second parser must read the original with the intended changes.

use std::sync::Arc;

use serde_yaml::Value as Yaml;

use super::agreement;
use super::compare::{check_expansion, compare, own_value};
use super::referee::{referee_value, with_unique_anchors};
use crate::change::Change;
use crate::comment::without_byte_order_mark;
use crate::parse::parse;
use crate::span::Span;
use crate::tree::Tree;

/// Verifies that `after`, the edited text of a document, equals `before` with `changes` applied.
///
/// # Errors
/// A message for the user: which of the two texts cannot be read, or the first field that differs.
pub fn verify(before: &str, changes: &[Change], after: &str) -> Result<(), String> {
    let tree = parsed(before).map_err(|reason| format!("the document {reason}"))?;
    check(&tree, changes, after)
}

/// Verifies an edit as [`verify`] does, for a parsed document. In addition, both parsers must read the original
/// document alike.
pub(crate) fn check_edit(before: &Tree, changes: &[Change], after: &str) -> Result<(), String> {
    let readings = Readings::of(before).map_err(|reason| format!("the document {reason}"))?;
    if let Some(difference) = agreement::difference(before, &readings.second_reading) {
        return Err(format!("the document has two readings: {difference}"));
    }
    check_from(readings, changes, after)
}

fn check(before: &Tree, changes: &[Change], after: &str) -> Result<(), String> {
    let readings = Readings::of(before).map_err(|reason| format!("the document {reason}"))?;
    check_from(readings, changes, after)
}

fn check_from(before: Readings, changes: &[Change], after: &str) -> Result<(), String> {
    let in_edited = |reason: String| format!("the edited document {reason}");
    let tree = parsed(after).map_err(in_edited)?;
    let after = Readings::of(&tree).map_err(in_edited)?;
    compare(before.own, changes, &after.own, None)?;
    compare(
        before.second_reading,
        changes,
        &after.second_reading,
        tree.root(),
    )
}

/// The values that the two parsers read from a document.
struct Readings {
    own: Yaml,
    second_reading: Yaml,
}

impl Readings {
    fn of(tree: &Tree) -> Result<Self, String> {
        check_expansion(tree)?;
        Ok(Self {
            own: own_value(tree)?,
            second_reading: referee_value(&with_unique_anchors(tree))?,
        })
    }
}

fn parsed(text: &str) -> Result<Tree, String> {
    let text: Arc<str> = Arc::from(without_byte_order_mark(text));
    let segment = Span::new(0, str::len(&text));
    match parse(&text, segment) {
        Ok(Some(tree)) => Ok(tree),
        Ok(None) => Err("is empty".to_owned()),
        Err(error) => Err(format!("is not YAML: {}", error.message)),
    }
}
