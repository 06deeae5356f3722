//! Splits and parses the text of files within the memory limit of a run.

use std::sync::Arc;

use memchr::{memchr_iter, memmem};

use crate::source::classify::{mentions_manifest, read_document};
use crate::source::kustomization_name::is_kustomization;
use crate::source::memory_budget::MemoryBudget;
use crate::source::model::document::Document;
use crate::source::model::fault::Fault;
use crate::source::model::file::SourceFile;
use crate::source::split::segments;

impl SourceFile {
    /// Creates a file, and splits and parses its text.
    #[must_use]
    pub fn new(path: Arc<str>, text: Arc<str>) -> Self {
        let explicit = true;
        let mut file = Self::unparsed(path, text, explicit);
        file.parse();
        file
    }

    pub(in crate::source) fn parse(&mut self) {
        self.parse_within(&MemoryBudget::unlimited());
    }

    /// Splits and parses the text. Sets the fault of the file if `budget` has no room for it.
    pub(in crate::source) fn parse_within(&mut self, budget: &MemoryBudget) {
        let Some(documents) = parsed(self, budget) else {
            self.documents = Vec::new();
            self.fault = Some(self.too_large(self.text.as_bytes(), budget));
            self.text = Arc::from("");
            return;
        };
        self.documents = documents;
    }

    /// Returns the fault for a text that `budget` has no room for.
    pub(in crate::source) fn too_large(&self, text: &[u8], budget: &MemoryBudget) -> Fault {
        Fault::TooLarge {
            size: text.len(),
            limit: budget.limit(),
            kubernetes: mentions_manifest(text) || is_kustomization(&self.path),
        }
    }

    /// Returns this file with another text that contains the same objects. Keeps which documents are patches, and the
    /// origins of objects.
    #[must_use]
    pub fn with_text(&self, text: Arc<str>) -> Self {
        let mut file = self.replace_text(text);
        let patch = self.documents.iter().any(|document| document.patch);
        file.parse();
        file.set_patch(patch);
        file
    }
}

/// Factor by which a large text may grow while it is parsed: its values are copied, and the second parser reads it.
pub(in crate::source) const COPIES: usize = 4;

/// Bytes of a document in addition to its nodes.
const DOCUMENT: usize = 512;

/// Bytes of a node while it is parsed: the node itself, and its number in two lists.
const NODE: usize = 40;

/// Bytes for the start of a line.
const LINE: usize = 8;

/// Bytes of the predictions and findings for a pod, and for a probe.
const POD: usize = 4 << 10;

const PROBE: usize = 2 << 10;

/// Parses the documents of a file. Returns `None` and reserves nothing if `budget` has no room for them.
pub(in crate::source) fn parsed(file: &SourceFile, budget: &MemoryBudget) -> Option<Vec<Document>> {
    let text = file.text.as_bytes();
    let mut reservation = Reservation { budget, bytes: 0 };
    let lines = memchr_iter(b'\n', text).count();
    reservation.take(text.len() + lines * LINE)?;
    let marks = memmem::find_iter(text, b"\n---").count();
    reservation.take((marks + 1) * DOCUMENT)?;
    reservation.take(count_keys(text, b"ontainers") * POD + count_keys(text, b"Probe") * PROBE)?;
    let mut documents = Vec::new();
    for (index, segment) in segments(&file.text).into_iter().enumerate() {
        let document = read_document(file, index, segment, budget.left() / NODE);
        if document.is_over_limit() {
            budget.record_refusal();
            return None;
        }
        reservation.take(document.any_tree().map_or(0, |tree| tree.memory()))?;
        documents.push(document);
    }
    reservation.keep();
    Some(documents)
}

/// Returns the number of keys with this ending.
fn count_keys(text: &[u8], end: &[u8]) -> usize {
    let is_key = |at: &usize| {
        let behind = text.get(at + end.len()..).unwrap_or_default();
        matches!(behind, [b':', ..] | [b'"' | b'\'', b':', ..])
    };
    memmem::find_iter(text, end).filter(is_key).count()
}

/// Bytes that a file has reserved so far; released on drop unless [`Reservation::keep`] is called.
struct Reservation<'b> {
    budget: &'b MemoryBudget,
    bytes: usize,
}

impl Reservation<'_> {
    fn take(&mut self, bytes: usize) -> Option<()> {
        let fits = self.budget.reserve(bytes);
        if fits {
            self.bytes += bytes;
        }
        fits.then_some(())
    }

    const fn keep(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}
