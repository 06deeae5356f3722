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

/// Returns the file to edit.
pub(super) fn told_path(set: &SourceSet, label: &Label) -> Arc<str> {
    told(set, label).path
}

/// A part of one line: GitHub shows a finding in a pull request only where every line of its
/// region is in the diff (docs.github.com, "SARIF support for code scanning").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// From 1.
    pub(super) line: usize,
    /// From 1, in code points.
    pub(super) column: usize,
    /// Behind the last code point.
    pub(super) end_column: usize,
}

impl Region {
    /// Stands for a file that has no text.
    pub(super) const START: Self = Self {
        line: 1,
        column: 1,
        end_column: 1,
    };
}

/// Returns the first line of a label, in the file to edit; `None` where no line of that is known.
pub(super) fn region(set: &SourceSet, label: &Label) -> Option<Region> {
    let told = told(set, label);
    let Place { start, end } = told.place?;
    let end_column = if end.line == start.line {
        end.column
    } else {
        // A template is no file of the set: its line is shown from where the place starts.
        let line_end = set.file(&told.path).and_then(|file| {
            let line = file.lines().line(&file.text, start.line)?;
            Some(file.position(line.end).column)
        });
        line_end.unwrap_or(start.column)
    };
    Some(Region {
        line: start.line,
        column: start.column,
        end_column: end_column.max(start.column),
    })
}
