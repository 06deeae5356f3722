//! A file with its text and documents.
//!
//! Map from rendered objects to the files that users edit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use meshprobe_yaml::{LineIndex, NodeRef, Position, Span};

use super::document::{Document, Fault};
use super::objects::Objects;
use super::rendered::RenderedChart;

/// Purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The file is checked, reported and rewritten.
    Target,
    /// The file is read only for facts, because the user or a file names it.
    Context,
    /// The file is read only for facts, because it is in the same repository as a checked file.
    Repository,
}

/// File of a run, or standard input.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as shown to the user: relative to the working directory, with `/`.
    pub path: Arc<str>,
    /// Its path on disk; `None` for standard input.
    pub location: Option<PathBuf>,
    /// The path from which related files are searched: its location, or the path that the user gives for
    /// standard input.
    pub disk_path: Option<PathBuf>,
    /// Its resolved path; `None` if it was not resolved.
    pub(in crate::source) real: Option<PathBuf>,
    /// For a linked kustomization: the path of the link in its resolved folder; `None` for any other file.
    pub(in crate::source) link: Option<PathBuf>,
    /// The root of its repository as shown to the user, with `/` at the end; empty for the working
    /// directory; `None` if it is not known.
    pub repository: Option<Arc<str>>,
    /// The working directory of the run; `None` if no file was read from disk.
    pub directory: Option<Arc<Path>>,
    /// Whether it is a template of a Helm chart, even if it parses as YAML.
    pub chart_template: bool,
    /// Whether a tool produced it for this run: then there is no file to edit.
    pub rendered: bool,
    /// The chart that it is the output of, and the objects that deploy the chart.
    pub rendered_chart: Option<Arc<RenderedChart>>,
    /// The purpose for which it is read.
    pub role: Role,
    /// Whether the user named it, and not only its folder.
    pub explicit: bool,
    /// The whole text; if there is a fault, the part that could be read.
    pub text: Arc<str>,
    /// The documents in order, including empty ones.
    pub documents: Vec<Document>,
    /// The reason why the text is missing or incomplete.
    pub fault: Option<Fault>,
    lines: OnceLock<LineIndex>,
    /// The origins of rendered objects.
    origins: Option<Arc<dyn OriginIndex>>,
    objects: OnceLock<Objects>,
}

impl SourceFile {
    /// Returns the content of a kustomization file.
    #[must_use]
    pub fn root(&self) -> Option<NodeRef<'_>> {
        let tree = self.documents.iter().find_map(Document::tree)?;
        tree.root()
    }

    /// Returns the resolved path of a file that was read from disk; `None` for other files.
    #[must_use]
    pub fn resolved_location(&self) -> Option<&Path> {
        let on_disk = self.location.is_some();
        self.real.as_deref().filter(|_| on_disk)
    }

    /// Creates a file whose text is not split into documents yet.
    pub(in crate::source) fn unparsed(path: Arc<str>, text: Arc<str>, explicit: bool) -> Self {
        Self {
            path,
            location: None,
            disk_path: None,
            real: None,
            link: None,
            repository: None,
            directory: None,
            chart_template: false,
            rendered: false,
            rendered_chart: None,
            role: Role::Target,
            explicit,
            text,
            documents: Vec::new(),
            fault: None,
            lines: OnceLock::new(),
            origins: None,
            objects: OnceLock::new(),
        }
    }

    /// Returns this file with another text, and the documents of the old text.
    pub(in crate::source) fn replace_text(&self, text: Arc<str>) -> Self {
        Self {
            text,
            lines: OnceLock::new(),
            objects: OnceLock::new(),
            ..self.clone()
        }
    }

    pub(in crate::source) fn set_patch(&mut self, patch: bool) {
        for document in &mut self.documents {
            document.patch = patch;
        }
    }

    /// Returns the objects of all documents.
    pub(in crate::source) fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| Objects::of(&self.documents))
    }

    /// Sets the origins of rendered objects.
    pub(in crate::source) fn set_origins(&mut self, origins: impl OriginIndex + 'static) {
        self.origins = Some(Arc::new(origins));
    }

    /// Returns whether an object records an origin that was found.
    pub(in crate::source) const fn has_origins(&self) -> bool {
        self.origins.is_some()
    }

    /// Returns the source of the text at `span`, if this is a rendered manifest that records it.
    #[must_use]
    pub fn source_of(&self, span: Span) -> Option<Source> {
        let origins = self.origins.as_deref()?;
        origins.source_of(&self.documents, self.objects(), span)
    }

    /// Returns the index of the lines.
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// Returns line and column of a byte.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        self.lines().position(&self.text, offset)
    }

    /// Returns the line, from 1, on which the span starts.
    #[must_use]
    pub fn line_of(&self, span: Span) -> usize {
        self.position(span.start).line
    }
}

/// Source of a part of a rendered manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file as shown to the user; if it was not found, its name in the output of the renderer.
    pub path: Arc<str>,
    /// The start and the end of the part in the file, if they are known.
    pub place: Option<(Position, Position)>,
}

/// Map from the objects of a rendered file to the files that users edit.
pub(in crate::source) trait OriginIndex: fmt::Debug + Send + Sync {
    /// Returns the source of the text at `span`, if it is recorded. `documents` and `objects` are those of the rendered
    /// file.
    fn source_of(&self, documents: &[Document], objects: &Objects, span: Span) -> Option<Source>;
}
