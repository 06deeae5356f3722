//! Lines and columns of labels.

use crate::finding::Label;
use crate::source::{Fault, SourceSet};
use crate::yaml::Position;

/// Where a label starts and ends, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// Returns the place of a label; `None` where the file could not be read.
pub(super) fn place(set: &SourceSet, label: &Label) -> Option<Place> {
    let file = set.file(&label.path)?;
    if matches!(file.fault, Some(Fault::Unreadable(_) | Fault::Internal)) {
        return None;
    }
    Some(Place {
        start: file.position(label.span.start),
        end: file.position(label.span.end.max(label.span.start)),
    })
}
