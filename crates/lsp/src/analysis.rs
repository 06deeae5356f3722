//! An analysis of a folder, from which requests are answered.

use std::path::Path;

use gen_lsp_types::{Location, Range, Uri};
use meshprobe_tree::filesystem::without_dots;
use meshprobe_tree::source::{SourceFile, SourceSet, shown_path};
use meshprobe_yaml::Span;

use super::buffers::Buffers;
use super::client::Supports;
use super::draft::{Draft, ShownFile};
use super::encoding::{Lines, path_of};
use super::loader::Plan;
use meshprobe_engine::engine::{LiveFacts, Outcome};

/// An analysis of a folder. A request is a function from this type to its answer.
#[derive(Clone, Copy)]
pub(super) struct Analysis<'s, 't> {
    /// The folder of the workspace, which displayed paths are relative to.
    pub(super) folder: &'s Path,
    /// The files.
    pub(super) set: &'t SourceSet,
    /// The files to read, and the settings of the check.
    pub(super) plan: &'s Plan,
    /// The findings, those that are suppressed, and what is not judged.
    pub(super) outcome: &'s Outcome,
    /// The facts and the predictions of all workloads; `None` if meshprobe panicked on a file.
    pub(super) facts: Option<LiveFacts<'s, 't>>,
    /// The open documents that were analysed.
    pub(super) buffers: &'s Buffers,
    /// What the client supports.
    pub(super) supports: Supports,
}

impl<'s, 't> Analysis<'s, 't> {
    /// Returns the file of a document. Returns `None` if it was not read, or if another text was analysed than the one
    /// that the client shows: positions then do not apply.
    pub(super) fn file(&self, uri: &Uri) -> Option<&'t SourceFile> {
        let path = path_of(uri)?;
        let file = self.set.file(&shown_path(&path, self.folder))?;
        let buffer = self.buffers.get(&path);
        let is_shown = buffer.is_none_or(|buffer| **buffer.shown_text() == *file.text);
        is_shown.then_some(file)
    }

    /// Returns the file of a document, for requests that change nothing: while the document is not valid YAML, its last
    /// valid text was analysed, and positions are moved to the text that the client shows.
    pub(super) fn shown(&self, uri: &Uri) -> Option<ShownFile<'s, 't>> {
        let path = path_of(uri)?;
        let file = self.set.file(&shown_path(&path, self.folder))?;
        let encoding = self.supports.encoding;
        match self.buffers.get(&path) {
            Some(buffer) if *buffer.text != *file.text => None,
            Some(buffer) => Some(ShownFile::new(file, buffer.draft.as_ref(), encoding)),
            None => Some(ShownFile::new(file, None, encoding)),
        }
    }

    /// Returns the text of a file that is not valid YAML yet, if the client shows it instead of the one that was analysed.
    pub(super) fn draft(&self, file: &SourceFile) -> Option<&'s Draft> {
        if !self.buffers.has_drafts() {
            return None;
        }
        let path = file.location.as_deref().filter(|_| !file.rendered)?;
        self.buffers.draft(&without_dots(path))
    }

    /// Returns the lines of a file.
    pub(super) fn lines(&self, file: &'t SourceFile) -> Lines<'t> {
        Lines::new(&file.text, self.supports.encoding)
    }

    /// Returns the URI of a file; `None` for rendered manifests, which are not on disk.
    pub(super) fn uri(&self, file: &SourceFile) -> Option<Uri> {
        let path = file.location.as_deref().filter(|_| !file.rendered)?;
        Some(self.buffers.uri(&without_dots(path)))
    }

    /// Returns the location of a span in the file shown as `path`.
    pub(super) fn location(&self, path: &str, span: Span) -> Option<Location> {
        let file = self.set.file(path)?;
        Some(Location {
            uri: self.uri(file)?,
            range: self.range(file, span),
        })
    }

    /// Returns the range of a span in a file; `None` if the text that the client shows differs there from the one that
    /// was analysed.
    pub(super) fn unchanged_range(&self, file: &'t SourceFile, span: Span) -> Option<Range> {
        match self.draft(file) {
            Some(draft) => ShownFile::new(file, Some(draft), self.supports.encoding).range(span),
            None => Some(self.range(file, span)),
        }
    }

    /// Returns the range of a span in a file. In a document that is not valid YAML yet, it covers the lines that differ
    /// from the text that was analysed, as far as the span includes some of them.
    pub(super) fn range(&self, file: &'t SourceFile, span: Span) -> Range {
        if let Some(draft) = self.draft(file) {
            return Lines::new(&draft.text, self.supports.encoding).range(draft.shown_span(span));
        }
        // The index of the file, which is built once, does not know the line break `\r`.
        if memchr::memchr(b'\r', file.text.as_bytes()).is_some() {
            return self.lines(file).range(span);
        }
        let position = |offset: usize| {
            let number = file.position(offset).line;
            let start = file
                .lines()
                .line(&file.text, number)
                .map_or(0, |line| line.start);
            let mut position = Lines::new(
                file.text.get(start..offset).unwrap_or_default(),
                self.supports.encoding,
            )
            .position(usize::MAX);
            position.line = u32::try_from(number - 1).unwrap_or(u32::MAX);
            position
        };
        Range {
            start: position(span.start),
            end: position(span.end),
        }
    }

    /// Returns the version of a document; `None` if it is not open.
    pub(super) fn version(&self, uri: &Uri) -> Option<i32> {
        Some(self.buffers.get(&path_of(uri)?)?.version)
    }
}
