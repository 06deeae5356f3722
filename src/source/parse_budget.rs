//! What parsed files may hold in memory, and what each of them is estimated to hold.
//!
//! A dense document such as `[a,a,a]` takes up to 40 times its size. What is counted is what a run keeps for a file, so
//! ordinary files of any number fit.

use memchr::{memchr_iter, memmem};

use super::document::Document;
use super::file::SourceFile;
use super::memory_budget::MemoryBudget;
use super::split::segments;

/// What files may hold beyond [`MemoryBudget::FLOOR`], for each file.
const PER_FILE: usize = 16 << 10;
/// A text that is larger must fit several times over before it is parsed: bytes.
const LARGE: usize = 4 << 20;
/// How many times its size a large text may take while it is parsed: its values are copied, and the second parser reads it.
const COPIES: usize = 4;
/// What is kept of a document beside its nodes.
const DOCUMENT: usize = 512;
/// A node while it is parsed: the node itself, and its number in two lists.
const NODE: usize = 40;
/// The start of a line.
const LINE: usize = 8;
/// What is predicted and reported about a pod, and about a probe of it.
const POD: usize = 4 << 10;
const PROBE: usize = 2 << 10;

/// Returns the budget of a run that reads `files` files.
#[must_use]
pub fn parse_budget(max_parsed: Option<usize>, files: usize) -> MemoryBudget {
    let ordinary = MemoryBudget::FLOOR.saturating_add(files.saturating_mul(PER_FILE));
    MemoryBudget::new(max_parsed.unwrap_or(ordinary))
}

/// Returns whether a text of `length` bytes can be parsed with what `budget` has left.
pub(super) fn can_parse(length: usize, budget: &MemoryBudget) -> bool {
    length <= LARGE || length.saturating_mul(COPIES) <= budget.left()
}

/// Returns the documents of a file; `None` where `budget` has no room for them. Nothing is held then.
pub(super) fn parsed(file: &SourceFile, budget: &MemoryBudget) -> Option<Vec<Document>> {
    let text = file.text.as_bytes();
    let mut held = Held { budget, bytes: 0 };
    let lines = memchr_iter(b'\n', text).count();
    held.take(text.len() + lines * LINE)?;
    let marks = memmem::find_iter(text, b"\n---").count();
    held.take((marks + 1) * DOCUMENT)?;
    held.take(keys(text, b"ontainers") * POD + keys(text, b"Probe") * PROBE)?;
    let mut documents = Vec::new();
    for (index, segment) in segments(&file.text).into_iter().enumerate() {
        let document = Document::read(file, index, segment, budget.left() / NODE);
        if document.is_over_limit() {
            budget.refuse();
            return None;
        }
        held.take(document.any_tree().map_or(0, |tree| tree.memory()))?;
        documents.push(document);
    }
    held.keep();
    Some(documents)
}

/// Returns how many keys end like this.
fn keys(text: &[u8], end: &[u8]) -> usize {
    let is_key = |at: &usize| {
        let behind = text.get(at + end.len()..).unwrap_or_default();
        matches!(behind, [b':', ..] | [b'"' | b'\'', b':', ..])
    };
    memmem::find_iter(text, end).filter(is_key).count()
}

/// What a file holds so far; given back unless it is kept.
struct Held<'b> {
    budget: &'b MemoryBudget,
    bytes: usize,
}

impl Held<'_> {
    fn take(&mut self, bytes: usize) -> Option<()> {
        let fits = self.budget.hold(bytes);
        if fits {
            self.bytes += bytes;
        }
        fits.then_some(())
    }

    const fn keep(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}
