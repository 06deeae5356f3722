//! An analysis of a folder, from which requests are answered.

use std::path::PathBuf;
use std::sync::Arc;

use gen_lsp_types::{Location, Range, Uri};
use meshprobe_engine::engine::{Outcome, WorkloadReport};
use meshprobe_tree::filesystem::without_dots;
use meshprobe_tree::source::{SourceFile, SourceSet, shown_path};
use meshprobe_yaml::Span;

use crate::buffers::Buffers;
use crate::client::Supports;
use crate::encoding::{Lines, path_of};
use crate::loader::Plan;

/// An analysis of a folder. A request is a function from this type to its answer.
pub(super) struct Analysis {
    /// The folder of the workspace, which displayed paths are relative to.
    pub(super) folder: PathBuf,
    /// The files.
    pub(super) set: SourceSet,
    /// The files to read, and the settings of the check.
    pub(super) plan: Plan,
    /// The findings, those that are suppressed, and what is not judged.
    pub(super) outcome: Outcome,
    /// The predictions of the workloads that are reported.
    pub(super) workloads: Vec<WorkloadReport>,
    /// The open documents that were analysed.
    pub(super) buffers: Arc<Buffers>,
    /// What the client supports.
    pub(super) supports: Supports,
}

impl Analysis {
    /// Returns the file of a document. Returns `None` if it was not read, or if another text was analysed than the one
    /// that the client shows: positions then do not apply.
    pub(super) fn file(&self, uri: &Uri) -> Option<&SourceFile> {
        let path = path_of(uri)?;
        let file = self.set.file(&shown_path(&path, &self.folder))?;
        self.is_shown(uri, file).then_some(file)
    }

    /// Returns whether positions in the analysed text of a file apply to the text that the client shows.
    pub(super) fn is_shown(&self, uri: &Uri, file: &SourceFile) -> bool {
        let path = path_of(uri);
        let buffer = path.and_then(|path| self.buffers.get(&path));
        buffer.is_none_or(|buffer| *buffer.text == *file.text)
    }

    /// Returns the lines of a file.
    pub(super) fn lines<'t>(&self, file: &'t SourceFile) -> Lines<'t> {
        Lines::new(&file.text, self.supports.encoding)
    }

    /// Returns the URI of a file; `None` for rendered manifests, which are not on disk.
    pub(super) fn uri(&self, file: &SourceFile) -> Option<Uri> {
        let path = file.location.as_deref().filter(|_| !file.rendered)?;
        Some(self.buffers.uri(&without_dots(path)))
    }

    /// Returns the location of a span in the file shown as `path`; the start of the file if the client shows another text
    /// than the one that was analysed.
    pub(super) fn location(&self, path: &str, span: Span) -> Option<Location> {
        let file = self.set.file(path)?;
        let uri = self.uri(file)?;
        let range = match self.is_shown(&uri, file) {
            true => self.range(file, span),
            false => Range::default(),
        };
        Some(Location { uri, range })
    }

    /// Returns the range of a span in a file.
    pub(super) fn range(&self, file: &SourceFile, span: Span) -> Range {
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
