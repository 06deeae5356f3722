//! One file with its text, and the set of all of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::yaml::{LineIndex, Position, Span};

use super::document::{Document, mentions_manifest};
use super::hidden::HiddenFiles;
use super::kustomization::is_kustomization;
use super::links::Links;
use super::memory_budget::MemoryBudget;
use super::origin::{Objects, Origins};
use super::parse_budget::parsed;

/// What a file is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Judged, reported, rewritten.
    Target,
    /// Read for facts only.
    Context,
}

/// Why a file has no, or not all of its, text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It could not be read; the reason in words.
    Unreadable(String),
    /// It is a symbolic link to a path that does not exist.
    DanglingLink,
    /// Parsed, it would take more memory than all files of the run together may take.
    TooLarge {
        /// The size of the file in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
        /// It has the marks of a Kubernetes manifest.
        kubernetes: bool,
    },
    /// It is not UTF-8 from the end of `text` on.
    NotUtf8 {
        /// It has the marks of a Kubernetes manifest all the same.
        kubernetes: bool,
    },
    /// meshprobe panicked while it read the file: the location and the message of the panic.
    Panicked(String),
    /// The renderer that was to make it failed.
    NotRendered {
        /// The message of the renderer.
        reason: String,
        /// The file that it was asked to render, as shown to the user.
        asked: Arc<str>,
    },
}

impl Fault {
    /// Tells whether nothing at all of the file could be read.
    #[must_use]
    pub const fn is_without_text(&self) -> bool {
        !matches!(self, Self::NotUtf8 { .. })
    }
}

/// A file, or standard input.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As shown to the user: relative to the working directory, with `/`.
    pub path: Arc<str>,
    /// Where it lies; `None` for standard input.
    pub location: Option<PathBuf>,
    /// Where it is taken to lie when looking around: its location, or what the user says about
    /// standard input.
    pub lies_at: Option<PathBuf>,
    /// The one spelling of where it lies, links resolved; `None` where that was never asked.
    pub(super) real: Option<PathBuf>,
    /// The place of a linked kustomization, its folder resolved; `None` for any other file.
    pub(super) link: Option<PathBuf>,
    /// The root of its repository as paths are shown, with `/` at its end; empty for the working
    /// directory; `None` where it is not known.
    pub repository: Option<Arc<str>>,
    /// The working directory of the run; `None` where nothing was read from a disk.
    pub directory: Option<Arc<Path>>,
    /// A template of a Helm chart, whether or not it parses as YAML.
    pub chart_template: bool,
    /// A tool has made it for this run: there is no file to edit.
    pub rendered: bool,
    /// What it is read for.
    pub role: Role,
    /// The user named it; it was not met while walking.
    pub explicit: bool,
    /// The whole text; what could be read of it where there is a fault.
    pub text: Arc<str>,
    /// The documents in order, empty ones included.
    pub documents: Vec<Document>,
    /// Why there is no, or not all of the, text.
    pub fault: Option<Fault>,
    /// An ignore file: the tracked manifests that it hides.
    pub hides: Vec<HiddenFiles>,
    lines: OnceLock<LineIndex>,
    /// Where rendered objects come from.
    origins: Arc<Origins>,
    objects: OnceLock<Objects>,
}

impl SourceFile {
    /// Returns a file with its text split and parsed.
    #[must_use]
    pub fn new(path: Arc<str>, text: Arc<str>) -> Self {
        let explicit = true;
        let mut file = Self::unparsed(path, text, explicit);
        file.parse();
        file
    }

    /// Returns the resolved path of the file on disk, as it was read; `None` for what came from
    /// elsewhere.
    #[must_use]
    pub fn resolved_location(&self) -> Option<&Path> {
        let on_disk = self.location.is_some();
        self.real.as_deref().filter(|_| on_disk)
    }

    pub(super) fn unparsed(path: Arc<str>, text: Arc<str>, explicit: bool) -> Self {
        Self {
            path,
            location: None,
            lies_at: None,
            real: None,
            link: None,
            repository: None,
            directory: None,
            chart_template: false,
            rendered: false,
            role: Role::Target,
            explicit,
            text,
            documents: Vec::new(),
            fault: None,
            hides: Vec::new(),
            lines: OnceLock::new(),
            origins: Arc::default(),
            objects: OnceLock::new(),
        }
    }

    pub(super) fn parse(&mut self) {
        self.parse_within(&MemoryBudget::unlimited());
    }

    /// Splits and parses the text; it is a fault of the file if `budget` has no room for it.
    pub(super) fn parse_within(&mut self, budget: &MemoryBudget) {
        let Some(documents) = parsed(self, budget) else {
            self.documents = Vec::new();
            self.fault = Some(self.too_large(self.text.as_bytes(), budget));
            self.text = Arc::from("");
            return;
        };
        self.documents = documents;
    }

    /// Returns the fault of the file if it has a text for which `budget` has no room.
    pub(super) fn too_large(&self, text: &[u8], budget: &MemoryBudget) -> Fault {
        Fault::TooLarge {
            size: text.len(),
            limit: budget.limit(),
            kubernetes: mentions_manifest(text) || is_kustomization(&self.path),
        }
    }

    /// Returns this file with another text that holds the same objects; which documents are patches,
    /// and where objects come from, is kept.
    #[must_use]
    pub fn with_text(&self, text: Arc<str>) -> Self {
        let mut file = Self {
            text,
            lines: OnceLock::new(),
            objects: OnceLock::new(),
            ..self.clone()
        };
        let patch = self.documents.iter().any(|document| document.patch);
        file.parse();
        file.set_patch(patch);
        file
    }

    pub(super) fn set_patch(&mut self, patch: bool) {
        for document in &mut self.documents {
            document.patch = patch;
        }
    }

    pub(super) fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Returns the objects of all documents.
    pub(super) fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| Objects::of(self))
    }

    pub(super) fn set_origins(&mut self, origins: Origins) {
        self.origins = origins.into();
    }

    /// Returns the starts of the lines.
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// Returns line and column of a byte.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        self.lines().position(&self.text, offset)
    }

    /// Returns the line, from 1, that the span starts on.
    #[must_use]
    pub fn line_of(&self, span: Span) -> usize {
        self.position(span.start).line
    }
}

/// All files of a run.
#[derive(Clone, Debug, Default)]
pub struct SourceSet {
    /// Sorted by path, each path once.
    pub files: Vec<SourceFile>,
    /// What renderings of kustomizations may hold in memory: bytes; `None` for what suits the files.
    pub max_rendered: Option<usize>,
    /// Symbolic links that lead to files of the set.
    pub links: Links,
    /// Kustomizations and deploying objects that git tracks and that ignore files hide; only for a rewrite.
    pub hidden_overlays: Arc<[SourceFile]>,
}

impl SourceSet {
    /// Returns the set of these files, sorted.
    #[must_use]
    pub fn new(mut files: Vec<SourceFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            files,
            max_rendered: None,
            links: Links::default(),
            hidden_overlays: Arc::default(),
        }
    }

    /// Returns the set of these files, which are sorted, with all else that is known of the run.
    #[must_use]
    pub fn with_files(&self, files: Vec<SourceFile>) -> Self {
        Self {
            files,
            max_rendered: self.max_rendered,
            links: self.links.clone(),
            hidden_overlays: Arc::clone(&self.hidden_overlays),
        }
    }

    /// Returns the set of one file with this text.
    #[must_use]
    pub fn from_text(path: &str, text: &str) -> Self {
        Self::new(vec![SourceFile::new(path.into(), text.into())])
    }

    /// Returns the file shown as `path`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        let at = self.index(path)?;
        self.files.get(at)
    }

    /// Returns the file shown as `path`, to be changed.
    pub fn file_mut(&mut self, path: &str) -> Option<&mut SourceFile> {
        let at = self.index(path)?;
        self.files.get_mut(at)
    }

    fn index(&self, path: &str) -> Option<usize> {
        let found = self.files.binary_search_by(|file| (*file.path).cmp(path));
        found.ok()
    }

    /// Returns a document by the path of its file and its number there.
    #[must_use]
    pub fn document(&self, path: &str, index: usize) -> Option<&Document> {
        self.file(path)?.documents.get(index)
    }

    /// Returns the whole text that came from standard input.
    #[must_use]
    pub fn from_stdin(&self) -> Option<&str> {
        self.targets()
            .find(|file| file.location.is_none() && file.fault.is_none())
            .map(|file| &*file.text)
    }

    /// Iterates over the files that are judged.
    pub fn targets(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.role == Role::Target)
    }
}
