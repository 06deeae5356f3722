//! Converts labels to lines and columns of the files that people edit.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_tree::source::{Fault, SourceSet};
use meshprobe_yaml::Position;
use serde::Serialize;

/// The line and column of the start and end of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PositionRange {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

/// Returns the position of a label in the file that was read; `None` if the file has no text.
pub(crate) fn position_range(set: &SourceSet, label: &Label) -> Option<PositionRange> {
    let file = set.file(&label.path)?;
    if file.fault.as_ref().is_some_and(Fault::is_without_text) {
        return None;
    }
    Some(PositionRange {
        start: file.position(label.span.start),
        end: file.position(label.span.end.max(label.span.start)),
    })
}

/// The location of a label in the source file, which people edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    /// The source file.
    pub(crate) path: Arc<str>,
    /// The position in the source file, if it is known.
    pub(crate) place: Option<PositionRange>,
    /// The rendered file and the position in it, if the label is in a rendered file.
    pub(crate) rendered: Option<(Arc<str>, Option<PositionRange>)>,
}

/// Returns the location of a label in the source file.
pub(crate) fn source_location(set: &SourceSet, label: &Label) -> SourceLocation {
    let read = position_range(set, label);
    match set.source_of(&label.path, label.span) {
        Some(source) => SourceLocation {
            path: source.path,
            place: source
                .place
                .map(|(start, end)| PositionRange { start, end }),
            rendered: Some((Arc::clone(&label.path), read)),
        },
        None => SourceLocation {
            path: Arc::clone(&label.path),
            place: read,
            rendered: None,
        },
    }
}

impl SourceLocation {
    /// Returns the line in the source file, if it is known.
    pub(crate) fn line(&self) -> Option<usize> {
        self.place.map(|place| place.start.line)
    }

    /// Returns path, line and column, as far as known.
    pub(crate) fn shown(&self) -> String {
        with_place(&self.path, self.place)
    }

    /// Returns path, line and column in the rendered file; `None` if the label is not in a rendered file.
    pub(crate) fn shown_rendered(&self) -> Option<String> {
        let (path, place) = self.rendered.as_ref()?;
        Some(with_place(path, *place))
    }
}

fn with_place(path: &str, place: Option<PositionRange>) -> String {
    match place {
        Some(PositionRange { start, .. }) => format!("{path}:{}:{}", start.line, start.column),
        None => path.to_owned(),
    }
}

/// The line of a rendered file, if a tool has generated it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RenderedEntry {
    path: String,
    line: Option<usize>,
}

impl RenderedEntry {
    pub(crate) fn of(location: &SourceLocation) -> Option<Self> {
        let (path, place) = location.rendered.as_ref()?;
        Some(Self {
            path: path.to_string(),
            line: place.map(|place| place.start.line),
        })
    }
}
