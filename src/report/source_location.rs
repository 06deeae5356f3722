//! Converts labels to files, lines and columns.

use std::sync::Arc;

use meshprobe_mesh::finding::Label;
use meshprobe_tree::source::{Fault, SourceSet};
use meshprobe_yaml::Position;

/// The line and column of the start and end of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PositionRange {
    pub(super) start: Position,
    pub(super) end: Position,
}

/// Returns the position of a label in the file that was read; `None` if the file has no text.
pub(super) fn position_range(set: &SourceSet, label: &Label) -> Option<PositionRange> {
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
pub(super) struct SourceLocation {
    /// The source file.
    pub(super) path: Arc<str>,
    /// The position in the source file, if it is known.
    pub(super) place: Option<PositionRange>,
    /// The rendered file and the position in it, if the label is in a rendered file.
    pub(super) rendered: Option<(Arc<str>, Option<PositionRange>)>,
}

/// Returns the location of a label in the source file.
pub(super) fn source_location(set: &SourceSet, label: &Label) -> SourceLocation {
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
    pub(super) fn line(&self) -> Option<usize> {
        self.place.map(|place| place.start.line)
    }

    /// Returns path, line and column, as far as known.
    pub(super) fn shown(&self) -> String {
        with_place(&self.path, self.place)
    }

    /// Returns path, line and column in the rendered file; `None` if the label is not in a rendered file.
    pub(super) fn shown_rendered(&self) -> Option<String> {
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

/// Returns the source file of a label.
pub(super) fn source_path(set: &SourceSet, label: &Label) -> Arc<str> {
    source_location(set, label).path
}

/// A part of one line. GitHub shows a finding in a pull request only if every line of its region is in the diff
/// (docs.github.com, "SARIF support for code scanning").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRegion {
    /// The line, from 1.
    pub(super) line: usize,
    /// The first column, from 1, in code points.
    pub(super) column: usize,
    /// The column after the last code point.
    pub(super) end_column: usize,
}

impl LineRegion {
    /// The region for a file without text.
    pub(super) const START: Self = Self {
        line: 1,
        column: 1,
        end_column: 1,
    };
}

/// Returns the first line of a label in the source file; `None` if the line is not known.
pub(super) fn line_region(set: &SourceSet, label: &Label) -> Option<LineRegion> {
    let location = source_location(set, label);
    let PositionRange { start, end } = location.place?;
    let end_column = if end.line == start.line {
        end.column
    } else {
        // A template is not in the set, so the end of its line is not known.
        let line_end = set.file(&location.path).and_then(|file| {
            let line = file.lines().line(&file.text, start.line)?;
            Some(file.position(line.end).column)
        });
        line_end.unwrap_or(start.column)
    };
    Some(LineRegion {
        line: start.line,
        column: start.column,
        end_column: end_column.max(start.column),
    })
}
