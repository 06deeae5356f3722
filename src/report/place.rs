//! Lines and columns of labels.

use std::sync::Arc;

use crate::finding::Label;
use crate::source::{Fault, SourceSet};
use crate::yaml::Position;

/// Where a label starts and ends, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// Returns the place of a label in the file that was read; `None` where it could not be read.
pub(super) fn place(set: &SourceSet, label: &Label) -> Option<Place> {
    let file = set.file(&label.path)?;
    let unread = Fault::is_without_text;
    if file.fault.as_ref().is_some_and(unread) {
        return None;
    }
    Some(Place {
        start: file.position(label.span.start),
        end: file.position(label.span.end.max(label.span.start)),
    })
}

/// Where a label is told to be: in the file that a person edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// The file.
    pub(super) path: Arc<str>,
    /// The place there, where it is known.
    pub(super) place: Option<Place>,
    /// The file that was read and the place there, where that is a rendered one.
    pub(super) rendered: Option<(Arc<str>, Option<Place>)>,
}

/// Returns the file to edit, and the place there where it is known.
pub(super) fn told(set: &SourceSet, label: &Label) -> Told {
    let read = place(set, label);
    match set.source_of(&label.path, label.span) {
        Some(source) => Told {
            path: source.path,
            place: source.place.map(|(start, end)| Place { start, end }),
            rendered: Some((Arc::clone(&label.path), read)),
        },
        None => Told {
            path: Arc::clone(&label.path),
            place: read,
            rendered: None,
        },
    }
}

impl Told {
    /// Returns path, line and column, as far as they are known.
    pub(super) fn shown(&self) -> String {
        with_place(&self.path, self.place)
    }

    /// Returns path, line and column in the rendered file, if that is what was read.
    pub(super) fn shown_rendered(&self) -> Option<String> {
        let (path, place) = self.rendered.as_ref()?;
        Some(with_place(path, *place))
    }
}

fn with_place(path: &str, place: Option<Place>) -> String {
    match place {
        Some(Place { start, .. }) => format!("{path}:{}:{}", start.line, start.column),
        None => path.to_owned(),
    }
}
